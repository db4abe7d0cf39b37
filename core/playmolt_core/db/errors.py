"""What the database room raises."""


class LogUnavailable(ConnectionError):
    """The database did not answer. Whether an append was stored is unknown: read again before answering anybody."""


class NotMigrated(LogUnavailable):
    """The database lacks what this release's migrations bring."""


class ReadOnly(LogUnavailable):
    """The database takes no writes: a standby, after a failover perhaps. What was asked of it is not stored."""

"""Errors of the database."""


class LogUnavailable(ConnectionError):
    """The database did not answer. Whether an append was stored is unknown: read again before you reply to a caller."""


class NotMigrated(LogUnavailable):
    """The database lacks migrations of this release."""


class PasswordRefused(LogUnavailable):
    """The password of this login is wrong, or its file cannot be read."""


class ReadOnly(LogUnavailable):
    """The database accepts no writes: possibly a standby after a failover. Nothing was stored."""

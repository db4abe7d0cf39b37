"""What the database room raises."""


class LogUnavailable(ConnectionError):
    """The database did not answer. Whether an append was stored is unknown: read again before answering anybody."""

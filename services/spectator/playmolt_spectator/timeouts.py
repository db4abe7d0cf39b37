"""The spectator's intervals and timeouts, in seconds."""

import msgspec
from playmolt_schemas import limits


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    heartbeat: float = limits.HEARTBEAT_SECONDS
    stall: float = limits.READER_STALL_SECONDS
    """A watcher that reads nothing for this long is dropped."""
    connect: float = 5
    """Opening a feed that takes longer is answered with 503."""
    retry_first: float = 0.1
    retry_last: float = 5
    """Retries of backfills back off from the first to the last pause."""
    check: float = 30
    """Interval for checking silent games at the engine: a lost route in a NATS cluster loses messages unnoticed."""
    lobby: float = 15
    """Interval for comparing the lobby with the engines' lists."""
    linger: float = 30
    """A finished watcher has this long to read the last frame."""
    drain: float = 5
    """At shutdown, watchers have this long to disconnect."""

"""Every interval and bound of time of the spectator, in seconds, in one value that tests can shrink."""

import msgspec
from playmolt_schemas import limits


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    heartbeat: float = limits.HEARTBEAT_SECONDS
    stall: float = limits.READER_STALL_SECONDS
    """A watcher that takes nothing for this long is dropped."""
    connect: float = 5
    """Whether a game exists is found out within this time, or the answer is 503."""
    retry_first: float = 0.1
    retry_last: float = 5
    """The pauses between failed backfills double from the first to the last."""
    check: float = 30
    """A silent game's engine is asked this often: a route lost inside a NATS cluster loses messages unseen."""
    lobby: float = 15
    """The lobby's list is compared with the engines' this often."""
    linger: float = 30
    """A watcher that was told to go has this long to take the last frame."""
    drain: float = 5
    """On stopping, watchers have this long to go."""

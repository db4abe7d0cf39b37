"""A stream in memory: a cache of the log, never more."""

from datetime import UTC, datetime
from types import EllipsisType
from typing import Any

from playmolt_schemas.records import ZERO_HASH

from playmolt_core.game.decider import Decider
from playmolt_core.game.snapshot import Snapshot
from playmolt_core.log.folding import fold
from playmolt_core.log.port import StoredFacts
from playmolt_core.vault.stream_key import StreamKey

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CachedStream:
    """A stream's head as decided (`head`) and as committed (`committed`); readers only ever see the latter."""

    __slots__ = ("committed", "decider", "due", "head", "key", "seen", "since", "stream", "uncommitted")

    def __init__(
        self,
        decider: Decider[Any],
        stream: str,
        snapshot: Snapshot,
        seen: set[int],
        key: StreamKey | None = None,
        since: int = 0,
    ) -> None:
        self.decider = decider
        self.stream = stream
        self.head = snapshot
        self.committed = snapshot
        self.seen = seen
        """Ids, as numbers, of the commands whose outcome is remembered; the outcome itself stays in the log."""
        self.since = since
        """The version it had when it was read from a snapshot, else 0: of commands up to there only the log knows."""
        self.due: datetime | EllipsisType | None = ...
        """When the stream's earliest effect is due as its row says, at `head`; ... while nobody looked."""
        self.uncommitted = 0
        """Groups that hold changes of this stream and are not committed yet."""
        self.key = key
        """What its records are sealed under."""


def number_of(command_id: str) -> int:
    """A command id (32 hex digits) as the number an entry keeps: half the memory of the text."""
    return int(command_id, 16)


def fresh_stream(decider: Decider[Any], stream: str, key: StreamKey | None = None) -> CachedStream:
    """The entry of a stream that nothing is stored of; `key` is what the log gave to seal it with."""
    state = decider.initial(stream)
    return CachedStream(decider, stream, Snapshot(state, 0, ZERO_HASH, EPOCH, decider.summary(state)), set(), key)


def read_stream(decider: Decider[Any], stream: str, stored: StoredFacts) -> CachedStream:
    """Fold a stored stream, read from its first record on."""
    state = fold(decider, stream, stored)
    head = stored.head
    seen = {number_of(command_id) for command_id in stored.command_ids}
    snapshot = Snapshot(state, head.version, head.hash, head.at, decider.summary(state))
    return CachedStream(decider, stream, snapshot, seen, stored.key)

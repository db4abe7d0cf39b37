"""Streams in memory: a cache of the log."""

from datetime import UTC, datetime
from types import EllipsisType
from typing import Generic

from playmolt_schemas.records import ZERO_HASH

from playmolt_core.game.decider import Decider, S
from playmolt_core.game.fold import Snapshot
from playmolt_core.log.folding import fold
from playmolt_core.log.port import StoredFacts
from playmolt_core.vault.stream_key import StreamKey

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CachedStream(Generic[S]):
    """A stream with its decided head (`head`) and its committed head (`committed`). Readers see only the latter."""

    __slots__ = ("committed", "decider", "due", "head", "key", "seen", "since", "stream", "uncommitted")

    def __init__(
        self,
        decider: Decider[S],
        stream: str,
        snapshot: Snapshot[S],
        seen: set[int],
        key: StreamKey | None = None,
        since: int = 0,
    ) -> None:
        self.decider = decider
        self.stream = stream
        self.head = snapshot
        self.committed = snapshot
        self.seen = seen
        """Ids, as numbers, of commands whose outcome is in the log."""
        self.since = since
        """The version of the snapshot that it was read from, else 0; `seen` lacks the commands before it."""
        self.due: datetime | EllipsisType | None = ...
        """When the stream's earliest effect is due according to its row, at `head`; ... if not known yet."""
        self.uncommitted = 0
        """The number of uncommitted groups with changes of this stream."""
        self.key = key
        """The key that seals its records."""


def number_of(command_id: str) -> int:
    """A command id (32 hex digits) as a number, which takes half the memory of the text."""
    return int(command_id, 16)


def fresh_stream(decider: Decider[S], stream: str, key: StreamKey | None = None) -> CachedStream[S]:
    """The entry of a new stream; `key` is the key from the log that seals it."""
    state = decider.initial(stream)
    return CachedStream(decider, stream, Snapshot(state, 0, ZERO_HASH, EPOCH, decider.summary(state)), set(), key)


def read_stream(decider: Decider[S], stream: str, stored: StoredFacts) -> CachedStream[S]:
    """Fold a stored stream from its first record."""
    state = fold(decider, stream, stored)
    head = stored.head
    seen = {number_of(command_id) for command_id in stored.command_ids}
    snapshot = Snapshot(state, head.version, head.hash, head.at, decider.summary(state))
    return CachedStream(decider, stream, snapshot, seen, stored.key)

"""Whether the present rules still read every stored game as it was played."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from playmolt_core.engine.messages import message
from playmolt_core.game.decider import PUBLIC, Decider, read_event
from playmolt_core.game.erasures import SessionErased
from playmolt_core.game.fold import time_of
from playmolt_core.log.opened_log import is_sealed
from playmolt_core.log.port import EventLog, LogEntry
from playmolt_core.log.reading import chunks
from playmolt_core.log.verify import closes
from playmolt_core.vault.stream_key import StreamKey, hash_of_state
from playmolt_schemas.records import Metadata, OpenedRecord, Record
from playmolt_schemas.shards import shard_of

_read_metadata = msgspec.json.Decoder(Metadata).decode


class FoldDifference(msgspec.Struct, frozen=True):
    """The first event of a stream that the present rules take otherwise than the rules it was played with."""

    stream: str
    version: int
    problem: str


class FoldReport(msgspec.Struct, frozen=True):
    """How much was folded, and each stream that differs."""

    streams: int
    events: int
    differences: list[FoldDifference]
    erased: int = 0
    """Of so many sessions a record says that they were erased: nothing of them can be folded."""


class Folds:
    """The states of the streams that are not over yet; a stream that has differed once is not looked at again.

    `told` is whether the records come with what goes out for them, which is compared then.
    """

    def __init__(
        self,
        deciders: Mapping[str, Decider[Any]],
        *,
        told: bool = True,
        key_of: Callable[[str], StreamKey | None] = lambda _: None,
    ) -> None:
        self._deciders = deciders
        self._key_of = key_of
        self._told = told
        self._states: dict[str, Any] = {}
        self._seen: set[str] = set()
        self.differences: dict[str, FoldDifference] = {}
        self.erased = 0

    @property
    def streams(self) -> int:
        return len(self._seen)

    def take(self, entry: LogEntry, public: bytes | None = None) -> None:
        """Fold the next record of its stream and compare; what is left of an archived stream cannot be folded.

        `public` is what spectators were told of it.
        """
        record = entry.record
        if record.version > 1 and record.stream not in self._seen:
            return
        self._seen.add(record.stream)
        self.erased += record.type == SessionErased.type
        if record.stream in self.differences or is_sealed(record):
            return
        try:
            problem = self._folded(record, public)
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            problem = f"the rules cannot read it: {type(error).__name__}: {error}"
        if problem:
            self.differences[record.stream] = FoldDifference(record.stream, record.version, problem)
        if problem or entry.closes:
            self._states.pop(record.stream, None)

    def _folded(self, record: Record, public: bytes | None) -> str:
        decider = self._deciders[record.stream.split("-", 1)[0]]
        before = self._states[record.stream] if record.version > 1 else decider.initial(record.stream)
        event = read_event(decider, record.type, record.schema_version, record.data)
        at = time_of(record)
        state = self._states[record.stream] = decider.evolve(before, event, at)
        expected = _read_metadata(record.metadata).state_hash
        key = self._key_of(record.stream)
        known = key is not None or not (isinstance(record, OpenedRecord) and record.sealed)
        if expected and known and hash_of_state(state, key) != expected:
            return "the state differs from the one it was played with"
        if self._told and decider.game not in ("lobby", "erasure"):
            told = message(decider, record.stream, record.version, record.at, state, event, PUBLIC)
            if told != public:
                return "spectators would be told something else"
        return ""


async def check(log: EventLog, deciders: Mapping[str, Decider[Any]], progress: Callable[[int], None]) -> FoldReport:
    """Fold the whole log; `progress` is told after each chunk how many events were folded.

    Memory holds only unfinished games.
    """
    folds, events = Folds(deciders, key_of=log.key_of), 0
    async for chunk in chunks(log):
        shown = await _shown(log, chunk)
        for entry in chunk:
            folds.take(entry, shown.get(entry.record.position))
        events += len(chunk)
        progress(events)
    return FoldReport(folds.streams, events, list(folds.differences.values()), folds.erased)


async def _shown(log: EventLog, chunk: Sequence[LogEntry]) -> dict[int, bytes | None]:
    """By position, what spectators were told of records of one shard."""
    first = chunk[0].record
    outgoing = await log.outgoing(first.position - 1, len(chunk), shard_of(first.stream, log.shards))
    return {out.position: out.public for out in outgoing}


def fold_records(records: Iterable[Record], deciders: Mapping[str, Decider[Any]]) -> FoldReport:
    """Fold streams out of a file, each in its order; it holds no public messages to compare."""
    folds, events = Folds(deciders, told=False), 0
    for record in records:
        folds.take(LogEntry(record=record, closes=closes(deciders, record)))
        events += 1
    return FoldReport(folds.streams, events, list(folds.differences.values()), folds.erased)

"""Checks whether the current rules fold every stored game to the same states and messages."""

from collections.abc import Callable, Iterable, Mapping

import msgspec
from playmolt_core.game.decider import Decider, read_event
from playmolt_core.game.erasures import SessionErased
from playmolt_core.game.fold import time_of
from playmolt_core.game.withholding import is_partial
from playmolt_core.log.port import LogEntry, ShardReader
from playmolt_core.log.reading import chunks
from playmolt_core.log.sealing import is_sealed
from playmolt_core.log.verify import closes
from playmolt_core.vault.stream_key import StreamKey, hash_of_state
from playmolt_schemas.records import Metadata, OpenedRecord, Record

_read_metadata = msgspec.json.Decoder(Metadata).decode


class FoldDifference(msgspec.Struct, frozen=True):
    """The first event of a stream that folds differently under the current rules."""

    stream: str
    version: int
    problem: str


class FoldReport(msgspec.Struct, frozen=True):
    """Totals of a check, and the streams that differ."""

    streams: int
    events: int
    differences: list[FoldDifference]
    erased: int = 0
    """Sessions with an erasure record; they cannot be folded."""
    withheld: int = 0
    """Streams of a public copy in which something is withheld: from there on they fold, but to no state to compare."""


class Folds:
    """The states of unfinished streams. A stream is skipped after its first difference."""

    def __init__(self, deciders: Mapping[str, Decider]) -> None:
        self._deciders = deciders
        self._states: dict[str, object] = {}
        self._seen: set[str] = set()
        self._partial: set[str] = set()
        """Streams in which something is withheld: their states differ from those that were played."""
        self.differences: dict[str, FoldDifference] = {}
        self.erased = 0

    @property
    def streams(self) -> int:
        return len(self._seen)

    @property
    def withheld(self) -> int:
        return len(self._partial)

    def take(self, entry: LogEntry) -> None:
        """Fold the next record of its stream and compare; remains of an archived stream are skipped."""
        record = entry.record
        if record.version > 1 and record.stream not in self._seen:
            return
        self._seen.add(record.stream)
        self.erased += record.type == SessionErased.type
        if record.stream in self.differences or is_sealed(record):
            return
        try:
            problem = self._folded(record, entry.key)
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            problem = f"the rules cannot read it: {type(error).__name__}: {error}"
        if problem:
            self.differences[record.stream] = FoldDifference(record.stream, record.version, problem)
        if problem or entry.closes:
            self._states.pop(record.stream, None)

    def _folded(self, record: Record, key: StreamKey | None) -> str:
        decider = self._deciders[record.stream.split("-", 1)[0]]
        before = self._states[record.stream] if record.version > 1 else decider.initial(record.stream)
        event = read_event(decider, record.type, record.schema_version, record.data)
        at = time_of(record)
        state = self._states[record.stream] = decider.evolve(before, event, at)
        expected = _read_metadata(record.metadata).state_hash
        if is_partial(record):
            self._partial.add(record.stream)
        sealed = key is None and isinstance(record, OpenedRecord) and record.sealed
        known = not sealed and record.stream not in self._partial
        if expected and known and hash_of_state(state, key) != expected:
            return "the state differs from the stored state hash"
        return ""


async def check(log: ShardReader, deciders: Mapping[str, Decider], progress: Callable[[int], None]) -> FoldReport:
    """Fold the whole log; calls `progress` with the number of folded events after each chunk.

    Keeps only unfinished games in memory.
    """
    folds, events = Folds(deciders), 0
    async for chunk in chunks(log):
        for entry in chunk:
            folds.take(entry)
        events += len(chunk)
        progress(events)
    return FoldReport(folds.streams, events, list(folds.differences.values()), folds.erased, folds.withheld)


def fold_records(records: Iterable[Record], deciders: Mapping[str, Decider]) -> FoldReport:
    """Fold the streams of a file."""
    folds, events = Folds(deciders), 0
    for record in records:
        folds.take(LogEntry(record=record, closes=closes(deciders, record)))
        events += 1
    return FoldReport(folds.streams, events, list(folds.differences.values()), folds.erased, folds.withheld)

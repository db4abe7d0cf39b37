"""Whether the log is whole (positions, versions, hash chains) and folds to the states it was played with."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from playmolt_schemas.records import ZERO_HASH, Metadata, Record

from playmolt_core.decider import Decider
from playmolt_core.fold import state_hash, step
from playmolt_core.log.chain import recomputed
from playmolt_core.log.port import EventLog, PublicRecord
from playmolt_core.log.reading import CHUNK, chunks

Verdict = Literal["EXACT", "UNVERIFIED", "DIVERGED"]
_metadata_of = msgspec.json.Decoder(Metadata).decode


class Break(msgspec.Struct, frozen=True):
    """Where a stream stops being what was played; `stream` is "" for a fault of the log as a whole."""

    stream: str
    version: int
    problem: str


class Verification(msgspec.Struct, frozen=True):
    """Counts of streams by verdict, and every stream's first break.

    exact: every state hash of the stream agrees, and it has one. unverified: it has none, or no rules are known for its
    type. diverged: it has a break.
    """

    streams: int
    events: int
    exact: int
    unverified: int
    diverged: int
    breaks: list[Break]


class _Progress:
    """A stream that is being followed. Once broken it is followed no more."""

    __slots__ = ("agreed", "broken", "hash", "state", "version")

    def __init__(self, state: Any) -> None:
        self.version = 0
        self.hash = ZERO_HASH
        self.state = state
        self.agreed = False
        self.broken = False

    def verdict(self) -> Verdict:
        if self.broken:
            return "DIVERGED"
        return "EXACT" if self.agreed else "UNVERIFIED"


class Verifier:
    """Takes records in position order. It holds the states of running streams only."""

    def __init__(self, deciders: Mapping[str, Decider[Any]]) -> None:
        self._deciders = deciders
        self._running: dict[str, _Progress] = {}
        self._verdicts: dict[Verdict, int] = {"EXACT": 0, "UNVERIFIED": 0, "DIVERGED": 0}
        self._position = 0
        self._events = 0
        self._breaks: list[Break] = []

    def take(self, entry: PublicRecord) -> None:
        """Check the next record."""
        record = entry.record
        if record.position != self._position + 1:
            self._breaks.append(Break("", 0, f"position {record.position} follows {self._position}"))
        self._position = record.position
        self._events += 1
        progress = self._running.get(record.stream)
        if progress is None:
            progress = self._running[record.stream] = _Progress(self._initial(record.stream))
        if not progress.broken and (problem := self._problem(record, progress)):
            progress.broken = True
            progress.state = None
            self._breaks.append(Break(record.stream, record.version, problem))
        if entry.closes:
            self._verdicts[self._running.pop(record.stream).verdict()] += 1

    def _decider(self, stream: str) -> Decider[Any] | None:
        return self._deciders.get(stream.partition("-")[0])

    def _initial(self, stream: str) -> Any:
        decider = self._decider(stream)
        return decider.initial(stream) if decider else None

    def _problem(self, record: Record, progress: _Progress) -> str:
        return self._chain_problem(record, progress) or self._fold_problem(record, progress)

    def _chain_problem(self, record: Record, progress: _Progress) -> str:
        if record.version != progress.version + 1:
            return f"version {record.version} follows {progress.version}"
        if record.prev_hash != progress.hash:
            return "prev_hash is not the hash of the record before"
        if recomputed(record) != record.hash:
            return "the hash does not fit the record: it was changed after it was stored"
        progress.version, progress.hash = record.version, record.hash
        return ""

    def _fold_problem(self, record: Record, progress: _Progress) -> str:
        decider = self._decider(record.stream)
        if decider is None:
            return ""
        try:
            progress.state = step(decider, progress.state, record)
            expected = _metadata_of(record.metadata).state_hash
        except Exception as error:  # whatever the rules raise on a stored event is what is looked for
            return f"the rules cannot fold it: {type(error).__name__}: {error}"
        if not expected:
            return ""
        progress.agreed = True
        return "" if state_hash(progress.state) == expected else "the state differs from the one it was played with"

    def finish(self, position: int) -> Verification:
        """Give the result; `position` is where the log says that it ends."""
        if position != self._position:
            self._breaks.append(Break("", 0, f"the log ends at position {self._position} and says {position}"))
        verdicts = dict(self._verdicts)
        for progress in self._running.values():
            verdicts[progress.verdict()] += 1
        return Verification(
            streams=sum(verdicts.values()),
            events=self._events,
            exact=verdicts["EXACT"],
            unverified=verdicts["UNVERIFIED"],
            diverged=verdicts["DIVERGED"],
            breaks=self._breaks,
        )


async def verify(
    log: EventLog,
    deciders: Mapping[str, Decider[Any]],
    *,
    chunk: int = CHUNK,
    progress: Callable[[int], None] | None = None,
) -> Verification:
    """Verify everything committed until now; `deciders` maps a stream's prefix to its rules.

    `progress` is told the position after each chunk. Raises LogUnavailable.
    """
    verifier = Verifier(deciders)
    end = await log.position()
    async for entries in chunks(log, size=chunk):
        for entry in entries:
            verifier.take(entry)
        end = max(end, entries[-1].record.position)
        if progress:
            progress(entries[-1].record.position)
    return verifier.finish(end)

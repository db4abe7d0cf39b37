"""Verifies the log: positions, versions and hash chains are complete, and it folds to the states that were played."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.sharedctypes import SynchronizedArray
from typing import Final, Literal

import msgspec
from msgspec.structs import replace
from playmolt_schemas.identifiers import game_of, is_sealed_type
from playmolt_schemas.records import ZERO_HASH, OpenedRecord, Record
from playmolt_schemas.shards import shard_of
from playmolt_schemas.stored.event import Event

from playmolt_core.game.decider import Decider, read_event
from playmolt_core.game.fold import time_of
from playmolt_core.game.withholding import is_partial, readable
from playmolt_core.log.chain import recomputed
from playmolt_core.log.erasing import ErasedHeads
from playmolt_core.log.port import (
    ARCHIVED,
    ERASED,
    GAME_END,
    WHOLE,
    Archived,
    LastRecord,
    LogReader,
    Part,
    StoredRecord,
)
from playmolt_core.log.postgres import ArchivedStream, Gap, Register
from playmolt_core.log.reading import CHUNK, parts_of, position_of, stream_of
from playmolt_core.log.sealing import is_sealed
from playmolt_core.log.stored_rows import entry_of
from playmolt_core.vault.stream_key import StreamKey, hash_of_state
from playmolt_core.vault.vault import Erased

_POSITIONS: Final = 50_000
"""Positions read at a time."""
Verdict = Literal["EXACT", "UNVERIFIED", "DIVERGED", "ERASED"]


class _Hashed(msgspec.Struct, frozen=True, gc=False):
    """The members of `Metadata` that matter here: to read the others takes as long again."""

    command_id: str
    state_hash: str | msgspec.UnsetType = msgspec.UNSET


_metadata_of = msgspec.json.Decoder(_Hashed).decode


class Break(msgspec.Struct, frozen=True):
    """The first wrong event of a stream; `stream` is "" for a fault of the log, with the shard if there are several."""

    stream: str
    version: int
    problem: str
    shard: int | msgspec.UnsetType = msgspec.UNSET


class VerifiedShard(msgspec.Struct, frozen=True):
    """The end of a shard, and the number of its verified records."""

    shard: int
    head: int
    events: int


class Verification(msgspec.Struct, frozen=True):
    """Counts of streams by verdict, and every stream's first break.

    exact: the stream has state hashes, and all agree. unverified: it has none, or no rules are known for its type.
    diverged: it has a break. erased: sessions that cannot be read any more, with complete chains and ends as in the
    records of their erasures. archived: streams whose records were archived, not counted in `streams`. lost: records
    that anchors know, from before the log was set back according to an anchor.
    """

    streams: int
    events: int
    exact: int
    unverified: int
    diverged: int
    breaks: list[Break]
    archived: int = 0
    lost: int = 0
    erased: int = 0
    withheld: int | msgspec.UnsetType = msgspec.UNSET
    """Only for a copy with records whose hashes are taken as given, because the operator hid something in them."""
    shards: list[VerifiedShard] | msgspec.UnsetType = msgspec.UNSET
    """Only for a log with several shards."""


class VerifiedStream(msgspec.Struct, frozen=True):
    """The end of a verified stream, and its verdict."""

    stream: str
    version: int
    verdict: Verdict


class _Progress:
    """A stream that is being verified, up to its first break."""

    __slots__ = ("agreed", "broken", "decider", "hash", "partial", "sealable", "state", "stream", "version")

    def __init__(self, stream: str, decider: Decider | None) -> None:
        self.stream = stream
        self.decider = decider
        self.sealable = is_sealed_type(stream)
        self.state: object = decider.initial(stream) if decider else None
        self.version = 0
        self.hash = ZERO_HASH
        self.agreed = False
        self.broken = False
        self.partial = False
        """Whether something was withheld, so that states differ from those that were played."""

    def verdict(self) -> Verdict:
        if self.broken:
            return "DIVERGED"
        return "EXACT" if self.agreed else "UNVERIFIED"


class Verifier:
    """Takes the records of each stream in order. It holds only the states of unfinished streams.

    `hashes_required`: a record without a required state hash is a break. Of a stream that stays sealed, only the chain
    is checked.
    """

    def __init__(
        self,
        deciders: Mapping[str, Decider],
        *,
        hashes_required: bool = False,
    ) -> None:
        self._deciders = deciders
        self._hashes_required = hashes_required
        self._running: dict[str, _Progress] = {}
        self._verdicts: dict[Verdict, int] = {"EXACT": 0, "UNVERIFIED": 0, "DIVERGED": 0, "ERASED": 0}
        self._events = 0
        self._withheld = 0
        self._breaks: list[Break] = []
        self._not_archived: set[str] = set()
        self._ended: list[VerifiedStream] = []
        self._erased: Mapping[str, tuple[int, str]] = {}
        self.archived: Mapping[str, ArchivedStream] = {}
        """The archived ones among the streams of the next records."""

    def follows(self, stream: str) -> bool:
        return stream in self._running

    def expect_erased(self, ends: Mapping[str, tuple[int, str]]) -> None:
        """Set the expected ends of erased sessions, from the records of their erasures."""
        self._erased = ends

    def take(self, record: Record, *, closes: bool, key: StreamKey | None = None) -> None:
        """Check the next record; `closes`: its stream ends here. `key`: of a stream whose records are opened."""
        stream = record.stream
        self._events += 1
        if stream in self.archived:
            self._take_archived(record, self.archived[stream])
            return
        progress = self._running.get(stream) or self._begin(stream)
        if not progress.broken and (problem := self._problem(record, progress, key)):
            self._break(record, progress, problem)
        if closes:
            self._end(stream)

    def take_stored(self, record: StoredRecord) -> None:
        """As `take`, for a record that is not sealed."""
        stream = record.stream
        if stream in self.archived:
            self.take(entry_of(record).record, closes=record.closes)
            return
        self._events += 1
        progress = self._running.get(stream) or self._begin(stream)
        if not progress.broken and (problem := self._stored_problem(record, progress)):
            self._break(record, progress, problem)
        if record.closes:
            self._end(stream)

    def _begin(self, stream: str) -> _Progress:
        progress = self._running[stream] = _Progress(stream, self._decider(stream))
        return progress

    def _break(self, record: Record | StoredRecord, progress: _Progress, problem: str) -> None:
        progress.broken = True
        progress.state = None
        self._breaks.append(Break(record.stream, record.version, problem))

    def _end(self, stream: str) -> None:
        progress = self._running.pop(stream)
        self._count(self._ended_as(stream, progress))

    def _count(self, end: VerifiedStream) -> None:
        self._verdicts[end.verdict] += 1
        self._ended.append(end)

    def _ended_as(self, stream: str, progress: _Progress) -> VerifiedStream:
        if stream not in self._erased:
            return VerifiedStream(stream, progress.version, progress.verdict())
        if not progress.broken and (progress.version, progress.hash) != self._erased[stream]:
            progress.broken = True
            problem = f"it was erased at event {self._erased[stream][0]}, but does not end there"
            self._breaks.append(Break(stream, progress.version, problem))
        return VerifiedStream(stream, progress.version, "DIVERGED" if progress.broken else "ERASED")

    def ended(self, *, rest: bool = False) -> Sequence[VerifiedStream]:
        """The streams that ended since the last call; with `rest` also the unfinished ones."""
        for stream in list(self._running) if rest else ():
            self._end(stream)
        ended, self._ended = self._ended, []
        return ended

    def spoil(self, end: VerifiedStream, problem: str) -> None:
        """Note a wrong end of a stream, unless the stream is broken already."""
        if end.verdict != "DIVERGED":
            self._verdicts[end.verdict] -= 1
            self._verdicts["DIVERGED"] += 1
            self._breaks.append(Break(end.stream, end.version, problem))

    def _take_archived(self, record: Record, archived: ArchivedStream) -> None:
        problem = _archived_problem(record, archived)
        if problem and record.stream not in self._not_archived:
            self._not_archived.add(record.stream)
            self._breaks.append(Break(record.stream, record.version, problem))

    def compare_keys(self, erased: ErasedHeads) -> None:
        """Compare the records of erasures with the missing keys, if the login has access to the vault."""
        for stream, emptied in (erased.emptied or {}).items():
            if emptied and stream not in erased.ends:
                self._breaks.append(Break(stream, 0, "its key is missing, but no record says that it was erased"))
        for stream, (version, _) in erased.ends.items():
            if erased.emptied is not None and not erased.emptied.get(stream, False):
                self._breaks.append(Break(stream, version, "a record says that it was erased, but its key exists"))

    def fault(self, problem: str, shard: int | msgspec.UnsetType = msgspec.UNSET) -> None:
        self._breaks.append(Break("", 0, problem, shard))

    def _decider(self, stream: str) -> Decider | None:
        return self._deciders.get(game_of(stream))

    def _stored_problem(self, record: StoredRecord, progress: _Progress) -> str:
        version, digest, decider = record.version, record.hash, progress.decider
        if version != progress.version + 1 or record.prev_hash != progress.hash:
            return _misplaced(record, progress)
        if recomputed(record) != digest:
            return _CHANGED
        progress.version, progress.hash = version, digest
        if decider is None:
            return ""
        try:
            event = read_event(decider, record.type, record.schema_version, record.data)
            progress.state = decider.evolve(progress.state, event, record.time)
            expected = record.state_hash
            if expected is msgspec.UNSET:
                expected = _metadata_of(record.metadata).state_hash
        except Exception as error:  # any error of the rules on a stored event is a break
            return _unfoldable(error)
        if expected is None and not self._hashes_required:
            return ""
        return self._state_problem(expected or "", event, decider, progress, None)

    def _problem(self, record: Record, progress: _Progress, key: StreamKey | None) -> str:
        if problem := self._chain_problem(record, progress):
            return problem
        decider = progress.decider
        if decider is None:
            return ""
        try:
            if progress.sealable and is_sealed(record):
                return "" if key is None else "its key does not open it"
            event = read_event(decider, record.type, record.schema_version, readable(record).data)
            progress.state = decider.evolve(progress.state, event, time_of(record))
            expected = _metadata_of(record.metadata).state_hash or ""
        except Exception as error:  # any error of the rules on a stored event is a break
            return _unfoldable(error)
        if expected and key is None and isinstance(record, OpenedRecord) and record.sealed:
            return ""  # the record's own key opens it, and no state hash can be checked
        return self._state_problem(expected, event, decider, progress, key)

    def _chain_problem(self, record: Record, progress: _Progress) -> str:
        if record.version != progress.version + 1 or record.prev_hash != progress.hash:
            return _misplaced(record, progress)
        if is_partial(record):
            self._withheld += 1
            progress.partial = True
        elif recomputed(record) != record.hash:
            return _CHANGED
        progress.version, progress.hash = record.version, record.hash
        return ""

    def _state_problem(
        self, expected: str, event: Event, decider: Decider, progress: _Progress, key: StreamKey | None
    ) -> str:
        if not expected:
            due = self._hashes_required and decider.hashes_state(progress.version, closes=event.closes)
            return "the state hash is missing" if due else ""
        if progress.partial:
            return ""
        progress.agreed = True
        same = hash_of_state(progress.state, key) == expected
        return "" if same else "the state differs from the one that was played"

    def finish(self, archived: int = 0) -> Verification:
        self.ended(rest=True)
        verdicts = self._verdicts
        return Verification(
            streams=sum(verdicts.values()),
            events=self._events,
            exact=verdicts["EXACT"],
            unverified=verdicts["UNVERIFIED"],
            diverged=verdicts["DIVERGED"],
            breaks=self._breaks,
            archived=archived,
            erased=verdicts["ERASED"],
            withheld=self._withheld or msgspec.UNSET,
        )


_CHANGED: Final = "the hash does not match the record: it was changed after it was stored"


def _misplaced(record: Record | StoredRecord, progress: _Progress) -> str:
    if record.version != progress.version + 1:
        return f"version {record.version} follows {progress.version}"
    return "prev_hash is not the hash of the previous record"


def _unfoldable(error: Exception) -> str:
    return f"the rules cannot fold it: {type(error).__name__}: {error}"


def _archived_problem(record: Record, archived: ArchivedStream) -> str:
    """The problem of a remaining record of an archived stream: only its last one, the result, may remain."""
    if record.type != GAME_END:
        return f"the register lists it as archived in {archived.file}, but it still exists"
    if (record.version, record.hash) != (archived.version, archived.hash):
        return f"it differs from the end of its archived stream: event {archived.version}, hash {archived.hash}"
    if recomputed(record) != record.hash:
        return _CHANGED
    return ""


def closes(deciders: Mapping[str, Decider], record: Record) -> bool:
    """Whether a stream ends with this record, by these rules."""
    event = _event(deciders, record)
    return event is not None and event.closes


def rests(deciders: Mapping[str, Decider], record: Record | LastRecord) -> bool:
    """Whether a stream is over if this record is its last, by these rules."""
    event = _event(deciders, record)
    return event is not None and (event.closes or event.rests)


def _event(deciders: Mapping[str, Decider], record: Record | LastRecord) -> type[Event] | None:
    decider = deciders.get(game_of(record.stream))
    return decider.events.get((record.type, record.schema_version)) if decider else None


async def verify(
    log: LogReader,
    deciders: Mapping[str, Decider],
    *,
    register: Register | None = None,
    erased: ErasedHeads | None = None,
    chunk: int = CHUNK,
    progress: Callable[[int], None] | None = None,
    streams: Awaitable[Verification] | None = None,
) -> Verification:
    """Verify everything committed so far; `deciders` maps a stream's prefix to its rules.

    `erased`: the known erasures. Without a register of archived streams, a missing record is a break. `progress`
    receives the number of processed positions after each chunk. `streams`: the result for the streams, if not from
    `verify_streams`. Raises LogUnavailable.
    """
    ends = erased.ends if erased else {}
    if streams is None:
        streams = verify_streams(log, deciders, register=register, erased=ends, chunk=chunk, progress=progress)
    verifier = Verifier(deciders)
    verifier.expect_erased(ends)
    if erased:
        verifier.compare_keys(erased)
    shards, found = await asyncio.gather(_verify_positions(log, verifier, register), streams)
    whole = together([verifier.finish((await register.totals()).streams if register else 0), found])
    return replace(whole, shards=shards) if log.shards > 1 else whole


def together(found: Iterable[Verification]) -> Verification:
    """The sum of several verifications without a common stream."""
    total = Verification(streams=0, events=0, exact=0, unverified=0, diverged=0, breaks=[])
    for each in found:
        total = replace(
            total,
            streams=total.streams + each.streams,
            events=total.events + each.events,
            exact=total.exact + each.exact,
            unverified=total.unverified + each.unverified,
            diverged=total.diverged + each.diverged,
            archived=total.archived + each.archived,
            erased=total.erased + each.erased,
            withheld=(total.withheld or 0) + (each.withheld or 0) or msgspec.UNSET,
            breaks=total.breaks + each.breaks,
        )
    return total


async def verify_streams(
    log: LogReader,
    deciders: Mapping[str, Decider],
    *,
    register: Register | None,
    erased: Mapping[str, tuple[int, str]],
    part: Part = WHOLE,
    chunk: int = CHUNK,
    progress: Callable[[int], None] | None = None,
) -> Verification:
    """Verify one part of the streams, from first to last record. Raises LogUnavailable."""
    verifier, before = Verifier(deciders), 0
    verifier.expect_erased(erased)
    shards = log.shards
    for shard in range(shards):
        seen = 0
        async for entries in parts_of(log, shard, part, size=chunk):
            if register:
                streams = {stream_of(entry) for entry in entries}
                verifier.archived = await register.of([each for each in streams if not verifier.follows(each)])
            for entry in entries:
                if shards > 1 and (home := shard_of(stream := stream_of(entry), shards)) != shard:
                    problem = f"position {position_of(entry)} is of {stream}, which belongs to shard {home}"
                    verifier.fault(problem, shard)
                if isinstance(entry, StoredRecord):
                    verifier.take_stored(entry)
                else:
                    verifier.take(entry.record, closes=entry.closes, key=entry.key)
            await _compare_ends(log, verifier, verifier.ended())
            seen = position_of(entries[-1])
            if progress:
                progress(before + seen)
        before += seen
    await _compare_ends(log, verifier, verifier.ended(rest=True))
    return verifier.finish()


_LACKS: Final = "the partition {} is missing: create it as in the database that this is a copy of, and copy its records"


async def _verify_positions(log: LogReader, verifier: Verifier, register: Register | None) -> list[VerifiedShard]:
    """Verify that each shard's positions have no gap and end at the shard's position."""
    shards = list[VerifiedShard]()
    for shard in range(log.shards):
        seen, events, end = 0, 0, await log.position(shard)
        faults = list[str]()
        while seen < end and (positions := await log.forward_positions(seen, min(_POSITIONS, end - seen), shard)):
            for first, last in await _unaccounted(register, _gaps(seen, positions), shard):
                faults.append(f"position {last + 1} follows {first - 1}")
            seen, events = positions[-1], events + len(positions)
        if seen < end and await _unaccounted(register, [(seen + 1, end)], shard):
            faults.append(f"the log ends at position {seen}, but its counter is at {end}")
        if faults:  # without a table, its records look like missing ones
            faults = [_LACKS.format(name) for name in await log.missing_partitions(shard)] or faults
        for fault in faults:
            verifier.fault(fault, _named(log, shard))
        beyond = await log.forward_positions(end, 1, shard)
        if beyond and beyond[0] > (says := await log.position(shard)):
            verifier.fault(f"position {beyond[0]} exists, but the log's counter is at {says}", _named(log, shard))
        shards.append(VerifiedShard(shard, end, events))
    return shards


def _named(log: LogReader, shard: int) -> int | msgspec.UnsetType:
    return shard if log.shards > 1 else msgspec.UNSET


async def _unaccounted(register: Register | None, gaps: Sequence[Gap], shard: int) -> Sequence[Gap]:
    return await register.unaccounted(gaps, shard) if register else gaps


async def _compare_ends(log: LogReader, verifier: Verifier, ends: Sequence[VerifiedStream]) -> None:
    """Compare the ends of records with the versions of their streams: a missing tail leaves no gap."""
    for place in range(0, len(ends), CHUNK):
        some = ends[place : place + CHUNK]
        versions = await log.versions(end.stream for end in some)
        for end in some:
            said = versions.get(end.stream, 0)
            if said not in (end.version, ARCHIVED, ERASED) and not await _went_on(log, end, said):
                verifier.spoil(end, f"its records end here, but its stream is at version {said}")


async def _went_on(log: LogReader, end: VerifiedStream, said: int) -> bool:
    """Whether records were appended to a stream after the log was read."""
    if said < end.version:
        return False
    try:
        stored = await log.load(end.stream, end.version)
    except (Archived, Erased):
        return True
    return stored is not None and len(stored.records) > 0


def _gaps(seen: int, found: Sequence[int]) -> list[Gap]:
    return [(before + 1, after - 1) for before, after in pairwise([seen, *found]) if after > before + 1]


VerifyPart = Callable[[Part, Callable[[int], None]], Verification]
"""Verifies a part of the streams and reports how many positions it has processed."""

_PROGRESS_SECONDS: Final = 0.2
_seen: "SynchronizedArray[int]"
"""The progress of each part, shared by all processes."""


def _begin(seen: "SynchronizedArray[int]") -> None:
    global _seen  # noqa: PLW0603 -- a worker process keeps its state here
    _seen = seen


def _verified(verify: VerifyPart, part: Part) -> Verification:
    return verify(part, lambda position: _seen.__setitem__(part.number, position))


async def verified_by(processes: int, verify: VerifyPart, progress: Callable[[int], None]) -> Verification:
    """The sum of all parts; `verify` is called once in each of the new processes."""
    # Forked, since a new interpreter would import the rules of all games again, which takes as long as 50,000 records.
    # A child runs a loop of its own and uses no connection of this process.
    context, loop = get_context("fork"), asyncio.get_running_loop()
    seen = context.Array("q", processes)
    with ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(seen,)) as pool:
        parts = [Part(number, processes) for number in range(processes)]
        waiting = [loop.run_in_executor(pool, _verified, verify, part) for part in parts]
        while (await asyncio.wait(waiting, timeout=_PROGRESS_SECONDS))[1]:
            progress(min(seen[:]))
        return together([one.result() for one in waiting])

"""Whether the log is whole (positions, versions, hash chains) and folds to the states it was played with."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.sharedctypes import SynchronizedArray
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace
from playmolt_schemas.records import ZERO_HASH, Metadata, OpenedRecord, Record
from playmolt_schemas.shards import shard_of

from playmolt_core.game.decider import Decider, Event, read_event
from playmolt_core.game.fold import carries_state_hash, time_of
from playmolt_core.log.chain import recomputed
from playmolt_core.log.erasing import ErasedHeads
from playmolt_core.log.opened_log import is_sealed
from playmolt_core.log.port import ARCHIVED, ERASED, GAME_END, WHOLE, Archived, EventLog, LastRecord, Part
from playmolt_core.log.postgres import ArchivedStream, Gap, Register
from playmolt_core.log.reading import CHUNK, chunks_of
from playmolt_core.vault.stream_key import StreamKey, hash_of_state
from playmolt_core.vault.vault import Erased

_POSITIONS: Final = 50_000
"""How many are read at a time."""
Verdict = Literal["EXACT", "UNVERIFIED", "DIVERGED", "ERASED"]
_metadata_of = msgspec.json.Decoder(Metadata).decode


class Break(msgspec.Struct, frozen=True):
    """Where a stream stops being what was played; `stream` is "" for a fault of the log as a whole, which names the
    shard where there are several."""

    stream: str
    version: int
    problem: str
    shard: int | msgspec.UnsetType = msgspec.UNSET


class VerifiedShard(msgspec.Struct, frozen=True):
    """Where a shard ends, and how many of its records were checked."""

    shard: int
    head: int
    events: int


class Verification(msgspec.Struct, frozen=True):
    """Counts of streams by verdict, and every stream's first break.

    exact: every state hash of the stream agrees, and it has one. unverified: it has none, or no rules are known for its
    type. diverged: it has a break. erased: sessions that nobody can read any more, their chains whole and their ends
    those that the records of their erasures name. archived: those whose records were taken out, none of `streams`.
    lost: records that anchors know of, from before the log was set back as one of them says.
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
    shards: list[VerifiedShard] | msgspec.UnsetType = msgspec.UNSET
    """Of a log that has several."""


class VerifiedStream(msgspec.Struct, frozen=True):
    """Where the records of a stream end that was followed, and what was found of it."""

    stream: str
    version: int
    verdict: Verdict


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
    """Takes the records of each stream in their order. It holds the states of running streams only.

    `hashes_required`: a record without the state hash that it must carry is a break. `key_of`: of a sealed stream whose
    records come opened. Of one that stays sealed the chain alone is checked.
    """

    def __init__(
        self,
        deciders: Mapping[str, Decider[Any]],
        *,
        hashes_required: bool = False,
        key_of: Callable[[str], StreamKey | None] = lambda _: None,
    ) -> None:
        self._deciders = deciders
        self._key_of = key_of
        self._hashes_required = hashes_required
        self._running: dict[str, _Progress] = {}
        self._verdicts: dict[Verdict, int] = {"EXACT": 0, "UNVERIFIED": 0, "DIVERGED": 0, "ERASED": 0}
        self._events = 0
        self._breaks: list[Break] = []
        self._not_archived: set[str] = set()
        self._ended: list[VerifiedStream] = []
        self._erased: Mapping[str, tuple[int, str]] = {}
        self.gone: Mapping[str, ArchivedStream] = {}
        """The archived ones among the streams that the next records may begin."""

    def follows(self, stream: str) -> bool:
        return stream in self._running

    def expect_erased(self, ends: Mapping[str, tuple[int, str]]) -> None:
        """Where the records of erased sessions have to end, by the records of their erasures."""
        self._erased = ends

    def take(self, record: Record, *, closes: bool) -> None:
        """Check the next record; `closes`: its stream ends here."""
        self._events += 1
        if record.stream in self.gone:
            self._take_archived(record, self.gone[record.stream])
            return
        progress = self._running.get(record.stream)
        if progress is None:
            progress = self._running[record.stream] = self._begun(record.stream)
        if not progress.broken and (problem := self._problem(record, progress)):
            progress.broken = True
            progress.state = None
            self._breaks.append(Break(record.stream, record.version, problem))
        if closes:
            self._end(record.stream)

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
            told = f"it was erased at event {self._erased[stream][0]}, and does not end there as that record says"
            self._breaks.append(Break(stream, progress.version, told))
        return VerifiedStream(stream, progress.version, "DIVERGED" if progress.broken else "ERASED")

    def ended(self, *, rest: bool = False) -> Sequence[VerifiedStream]:
        """The streams that ended since this was asked last; with `rest` those that have not ended, too."""
        for stream in list(self._running) if rest else ():
            self._end(stream)
        ended, self._ended = self._ended, []
        return ended

    def spoil(self, end: VerifiedStream, problem: str) -> None:
        """Note that a stream should have ended otherwise; of one that is broken already nothing more is said."""
        if end.verdict != "DIVERGED":
            self._verdicts[end.verdict] -= 1
            self._verdicts["DIVERGED"] += 1
            self._breaks.append(Break(end.stream, end.version, problem))

    def _take_archived(self, record: Record, gone: ArchivedStream) -> None:
        problem = _archived_problem(record, gone)
        if problem and record.stream not in self._not_archived:
            self._not_archived.add(record.stream)
            self._breaks.append(Break(record.stream, record.version, problem))

    def compare_keys(self, erased: ErasedHeads) -> None:
        """Compare the records of erasures with the keys that are gone, where the vault may be looked into."""
        for stream, gone in (erased.emptied or {}).items():
            if gone and stream not in erased.ends:
                self._breaks.append(Break(stream, 0, "its key is gone, and no record says that it was erased"))
        for stream, (version, _) in erased.ends.items():
            if erased.emptied is not None and not erased.emptied.get(stream, False):
                self._breaks.append(Break(stream, version, "a record says that it was erased, and its key is there"))

    def fault(self, problem: str, shard: int | msgspec.UnsetType = msgspec.UNSET) -> None:
        self._breaks.append(Break("", 0, problem, shard))

    def _decider(self, stream: str) -> Decider[Any] | None:
        return self._deciders.get(stream.partition("-")[0])

    def _begun(self, stream: str) -> _Progress:
        decider = self._decider(stream)
        return _Progress(decider.initial(stream) if decider else None)

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
        if decider is None or is_sealed(record):
            return "" if decider is None or self._key_of(record.stream) is None else "its key does not open it"
        try:
            event, at = read_event(decider, record.type, record.schema_version, record.data), time_of(record)
            progress.state = decider.evolve(progress.state, event, at)
            expected = _metadata_of(record.metadata).state_hash
        except Exception as error:  # whatever the rules raise on a stored event is what is looked for
            return f"the rules cannot fold it: {type(error).__name__}: {error}"
        if not expected:
            due = self._hashes_required and carries_state_hash(decider.game, record.version, closes=event.closes)
            return "it must carry the hash of the state, and has none" if due else ""
        key = self._key_of(record.stream)
        if key is None and isinstance(record, OpenedRecord) and record.sealed:
            return ""  # the record's own key opens it, and nothing else
        progress.agreed = True
        same = hash_of_state(progress.state, key) == expected
        return "" if same else "the state differs from the one it was played with"

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
        )


def _archived_problem(record: Record, gone: ArchivedStream) -> str:
    """What is left of an archived stream is its result, which is the record that the stream ended with."""
    if record.type != GAME_END:
        return f"the register says that it was archived into {gone.file}, and it is still here"
    if (record.version, record.hash) != (gone.version, gone.hash):
        return f"it is not what its archived stream ended with: event {gone.version}, hash {gone.hash}"
    if recomputed(record) != record.hash:
        return "the hash does not fit the record: it was changed after it was stored"
    return ""


def closes(deciders: Mapping[str, Decider[Any]], record: Record) -> bool:
    """Whether a stream ends with this record, by the rules at hand."""
    event = _event(deciders, record)
    return event is not None and event.closes


def rests(deciders: Mapping[str, Decider[Any]], record: Record | LastRecord) -> bool:
    """Whether a stream is over as long as this record is its last, by the rules at hand."""
    event = _event(deciders, record)
    return event is not None and (event.closes or event.rests)


def _event(deciders: Mapping[str, Decider[Any]], record: Record | LastRecord) -> type[Event] | None:
    decider = deciders.get(record.stream.partition("-")[0])
    return decider.events.get((record.type, record.schema_version)) if decider else None


async def verify(
    log: EventLog,
    deciders: Mapping[str, Decider[Any]],
    *,
    register: Register | None = None,
    erased: ErasedHeads | None = None,
    chunk: int = CHUNK,
    progress: Callable[[int], None] | None = None,
    streams: Awaitable[Verification] | None = None,
) -> Verification:
    """Verify everything committed until now; `deciders` maps a stream's prefix to its rules.

    `erased`: what is known of erased sessions. Without a register of archived streams nothing may be missing.
    `progress` is told after each chunk how many positions it has come through. `streams`: what the streams come to,
    where others than `verify_streams` see to that. Raises LogUnavailable.
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
    """What several verifications come to that have no stream in common."""
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
            breaks=total.breaks + each.breaks,
        )
    return total


async def verify_streams(
    log: EventLog,
    deciders: Mapping[str, Decider[Any]],
    *,
    register: Register | None,
    erased: Mapping[str, tuple[int, str]],
    part: Part = WHOLE,
    chunk: int = CHUNK,
    progress: Callable[[int], None] | None = None,
) -> Verification:
    """Verify one part of the streams, from their first records to where they end. Raises LogUnavailable."""
    verifier, before = Verifier(deciders, key_of=log.key_of), 0
    verifier.expect_erased(erased)
    for shard in range(log.shards):
        seen = 0
        async for entries in chunks_of(log, shard, size=chunk, part=part):
            if register:
                begun = {entry.record.stream for entry in entries if not verifier.follows(entry.record.stream)}
                verifier.gone = await register.of(begun)
            for entry in entries:
                if (home := shard_of(entry.record.stream, log.shards)) != shard:
                    told = f"position {entry.record.position} is of {entry.record.stream}, which lies in shard {home}"
                    verifier.fault(told, _named(log, shard))
                verifier.take(entry.record, closes=entry.closes)
            await _compare_ends(log, verifier, verifier.ended())
            seen = entries[-1].record.position
            if progress:
                progress(before + seen)
        before += seen
    await _compare_ends(log, verifier, verifier.ended(rest=True))
    return verifier.finish()


async def _verify_positions(log: EventLog, verifier: Verifier, register: Register | None) -> list[VerifiedShard]:
    """Whether each shard's positions are without a hole, and end where the shard says."""
    shards = list[VerifiedShard]()
    for shard in range(log.shards):
        seen, events, end = 0, 0, await log.position(shard)
        while seen < end and (positions := await log.forward_positions(seen, min(_POSITIONS, end - seen), shard)):
            for first, last in await _unaccounted(register, _gaps(seen, positions), shard):
                verifier.fault(f"position {last + 1} follows {first - 1}", _named(log, shard))
            seen, events = positions[-1], events + len(positions)
        if seen < end and await _unaccounted(register, [(seen + 1, end)], shard):
            verifier.fault(f"the log ends at position {seen} and says {end}", _named(log, shard))
        beyond = await log.forward_positions(end, 1, shard)
        if beyond and beyond[0] > (says := await log.position(shard)):
            told = f"there is a position {beyond[0]}, and the log says that it ends at {says}"
            verifier.fault(told, _named(log, shard))
        shards.append(VerifiedShard(shard, end, events))
    return shards


def _named(log: EventLog, shard: int) -> int | msgspec.UnsetType:
    return shard if log.shards > 1 else msgspec.UNSET


async def _unaccounted(register: Register | None, gaps: Sequence[Gap], shard: int) -> Sequence[Gap]:
    return await register.unaccounted(gaps, shard) if register else gaps


async def _compare_ends(log: EventLog, verifier: Verifier, ends: Sequence[VerifiedStream]) -> None:
    """Compare where records end with what their streams say: a tail that was cut off leaves no gap."""
    for place in range(0, len(ends), CHUNK):
        some = ends[place : place + CHUNK]
        versions = await log.versions(end.stream for end in some)
        for end in some:
            said = versions.get(end.stream, 0)
            if said not in (end.version, ARCHIVED, ERASED) and not await _went_on(log, end, said):
                verifier.spoil(end, f"its records end here, and the stream says {said}")


async def _went_on(log: EventLog, end: VerifiedStream, said: int) -> bool:
    """Whether a stream has records that were appended after the log was read."""
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
"""Verifies a part of the streams, and tells how many positions it has come through."""

_PROGRESS_SECONDS: Final = 0.2
_seen: "SynchronizedArray[int]"
"""In each process the same: how far each part is."""


def _begin(seen: "SynchronizedArray[int]") -> None:
    global _seen  # noqa: PLW0603 -- a process is given work by name, and keeps what it knows here
    _seen = seen


def _verified(verify: VerifyPart, part: Part) -> Verification:
    return verify(part, lambda position: _seen.__setitem__(part.number, position))


async def verified_by(processes: int, verify: VerifyPart, progress: Callable[[int], None]) -> Verification:
    """What all parts come to; `verify` is called once in each of so many new processes."""
    # Not forked: a loop and its threads are running here.
    context, loop = get_context("spawn"), asyncio.get_running_loop()
    seen = context.Array("q", processes)
    with ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(seen,)) as pool:
        parts = [Part(number, processes) for number in range(processes)]
        waiting = [loop.run_in_executor(pool, _verified, verify, part) for part in parts]
        while (await asyncio.wait(waiting, timeout=_PROGRESS_SECONDS))[1]:
            progress(min(seen[:]))
        return together([one.result() for one in waiting])

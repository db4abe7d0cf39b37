"""Whether the log is whole (positions, versions, hash chains) and folds to the states it was played with."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from msgspec.structs import replace
from playmolt_schemas.identifiers import SEALED_TYPES
from playmolt_schemas.records import ZERO_HASH, Metadata, OpenedRecord, Record
from playmolt_schemas.shards import shard_of

from playmolt_core.game.decider import Decider, Event, read_event
from playmolt_core.game.fold import carries_state_hash, time_of
from playmolt_core.log.chain import recomputed
from playmolt_core.log.erasing import ErasedHeads
from playmolt_core.log.opened_log import is_sealed
from playmolt_core.log.port import ARCHIVED, ERASED, GAME_END, Archived, EventLog, LastRecord, LogEntry
from playmolt_core.log.reading import CHUNK, chunks_of
from playmolt_core.log.register import Gap, Gone, Register
from playmolt_core.vault.stream_key import StreamKey, hash_of_state
from playmolt_core.vault.vault import Erased

if TYPE_CHECKING:
    from asyncio import Future

    from playmolt_core.log.following import Followers

_UNDER_WAY: Final = 3
"""Chunks that others follow while the next are read."""
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


class Ended(msgspec.Struct, frozen=True):
    """Where the records of a stream end that was followed, and what was found of it."""

    stream: str
    version: int
    verdict: Verdict


class Taken(msgspec.Struct, frozen=True):
    """What records came to that another verifier took: how many they were, which streams ended, what was broken."""

    events: int
    ended: Sequence[Ended]
    breaks: Sequence[Break]


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
        self._not_gone: set[str] = set()
        self._ended: list[Ended] = []
        self._erased: Mapping[str, tuple[int, str]] = {}
        self._elsewhere: set[str] = set()
        """The streams that others follow."""
        self.gone: Mapping[str, Gone] = {}
        """The archived ones among the streams that the next records may begin."""

    def tell_erased(self, ends: Mapping[str, tuple[int, str]]) -> None:
        """Where the records of erased sessions have to end, by the records of their erasures."""
        self._erased = ends

    def follows(self, stream: str) -> bool:
        return stream in self._running or stream in self._elsewhere

    def hands_on(self, stream: str) -> bool:
        """Whether another verifier, which knows no keys and no register, may follow a stream; from now on it does."""
        if stream.partition("-")[0] in SEALED_TYPES or stream in self.gone or stream in self._running:
            return False
        self._elsewhere.add(stream)
        return True

    def hand_over(self, *, rest: bool = False) -> Taken:
        """What was taken since this was asked last; with `rest` the streams end that have not."""
        ended = self.ended(rest=rest)
        taken = Taken(self._events, ended, self._breaks)
        self._events, self._breaks = 0, []
        return taken

    def absorb(self, taken: Taken) -> None:
        """Count what another verifier took."""
        self._events += taken.events
        self._breaks += taken.breaks
        for end in taken.ended:
            self._elsewhere.discard(end.stream)
            self._count(end)

    def take(self, record: Record, *, closes: bool) -> None:
        """Check the next record; `closes`: its stream ends here."""
        self._events += 1
        if record.stream in self.gone:
            self._take_left(record, self.gone[record.stream])
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

    def _count(self, end: Ended) -> None:
        self._verdicts[end.verdict] += 1
        self._ended.append(end)

    def _ended_as(self, stream: str, progress: _Progress) -> Ended:
        if stream not in self._erased:
            return Ended(stream, progress.version, progress.verdict())
        if not progress.broken and (progress.version, progress.hash) != self._erased[stream]:
            progress.broken = True
            told = f"it was erased at event {self._erased[stream][0]}, and does not end there as that record says"
            self._breaks.append(Break(stream, progress.version, told))
        return Ended(stream, progress.version, "DIVERGED" if progress.broken else "ERASED")

    def ended(self, *, rest: bool = False) -> Sequence[Ended]:
        """The streams that ended since this was asked last; with `rest` those that have not ended, too."""
        for stream in list(self._running) if rest else ():
            self._end(stream)
        ended, self._ended = self._ended, []
        return ended

    def spoil(self, end: Ended, problem: str) -> None:
        """Note that a stream should have ended otherwise; of one that is broken already nothing more is said."""
        if end.verdict != "DIVERGED":
            self._verdicts[end.verdict] -= 1
            self._verdicts["DIVERGED"] += 1
            self._breaks.append(Break(end.stream, end.version, problem))

    def _take_left(self, record: Record, gone: Gone) -> None:
        problem = _left_problem(record, gone)
        if problem and record.stream not in self._not_gone:
            self._not_gone.add(record.stream)
            self._breaks.append(Break(record.stream, record.version, problem))

    def take_keys(self, erased: ErasedHeads) -> None:
        """Compare the records of erasures with the keys that are gone, where the vault may be looked into."""
        for stream, gone in (erased.emptied or {}).items():
            if gone and stream not in erased.ends:
                self._breaks.append(Break(stream, 0, "its key is gone, and no record says that it was erased"))
        for stream, (version, _) in erased.ends.items():
            if erased.emptied is not None and not erased.emptied.get(stream, False):
                self._breaks.append(Break(stream, version, "a record says that it was erased, and its key is there"))

    def count_left(self, streams: Iterable[tuple[str, int, str]]) -> None:
        """Count the sessions that left the log when they were erased, which say so in the register."""
        for stream, version, last in streams:
            if self._erased.get(stream) == (version, last):
                self._verdicts["ERASED"] += 1
            else:
                self._verdicts["DIVERGED"] += 1
                told = "the register says that it was erased, and no record says so of this end"
                self._breaks.append(Break(stream, version, told))

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


def _left_problem(record: Record, gone: Gone) -> str:
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
    followers: "Followers | None" = None,
) -> Verification:
    """Verify everything committed until now; `deciders` maps a stream's prefix to its rules, in the `followers`, too.

    `erased`: what is known of erased sessions. Without a register of archived streams nothing may be missing.
    `progress` is told after each chunk how many positions it has come through.
    Raises LogUnavailable.
    """
    verifier = Verifier(deciders, key_of=log.key_of)
    if erased:
        verifier.tell_erased(erased.ends)
        verifier.take_keys(erased)
    shards, before = list[VerifiedShard](), 0
    for shard in range(log.shards):
        walk = _Walk(log, verifier, register, shard, chunk, followers)
        async for seen in walk.steps():
            if progress:
                progress(before + seen)
        before += walk.end
        shards.append(VerifiedShard(shard, walk.end, walk.events))
    for taken in await followers.finish() if followers else ():
        verifier.absorb(taken)
    await _compare_ends(log, verifier, verifier.ended(rest=True))
    verifier.count_left(await register.erased() if register else ())
    found = verifier.finish((await register.totals()).streams if register else 0)
    return replace(found, shards=shards) if log.shards > 1 else found


class _Walk:
    """Takes a verifier through one shard, from its first position to where it ends."""

    def __init__(self, log: EventLog, verifier: Verifier, register: Register | None, shard: int, chunk: int,
        followers: "Followers | None",
    ) -> None:  # fmt: skip
        self._followers = followers
        self._under_way: deque[Future[list[Taken]]] = deque()
        self._log = log
        self._verifier = verifier
        self._register = register
        self._shard = shard
        self._chunk = chunk
        self.end = self.events = 0

    async def steps(self) -> AsyncIterator[int]:
        """Give the position after each chunk."""
        seen, self.end = 0, await self._log.position(self._shard)
        async for entries in chunks_of(self._log, self._shard, size=self._chunk):
            await self._take(seen, entries)
            seen = entries[-1].record.position
            yield seen
        await self._absorb(0)
        if seen < self.end and await self._missing([(seen + 1, self.end)]):
            self._fault(f"the log ends at position {seen} and says {self.end}")
        beyond = await self._log.forward(self.end, 1, self._shard)
        if beyond and beyond[0].record.position > (says := await self._log.position(self._shard)):
            self._fault(f"there is a position {beyond[0].record.position}, and the log says that it ends at {says}")

    async def _take(self, seen: int, entries: Sequence[LogEntry]) -> None:
        for first, last in await self._missing(_gaps(seen, entries)):
            self._fault(f"position {last + 1} follows {first - 1}")
        if self._register:
            begun = {entry.record.stream for entry in entries if not self._verifier.follows(entry.record.stream)}
            self._verifier.gone = await self._register.of(begun)
        handed: list[LogEntry] = []
        for entry in entries:
            if (home := shard_of(entry.record.stream, self._log.shards)) != self._shard:
                self._fault(f"position {entry.record.position} is of {entry.record.stream}, which lies in shard {home}")
            if self._followers and self._verifier.hands_on(entry.record.stream):
                handed.append(entry)
            else:
                self._verifier.take(entry.record, closes=entry.closes)
        if self._followers and handed:
            self._under_way.append(self._followers.follow(handed))
        self.events += len(entries)
        await self._absorb(_UNDER_WAY)
        await _compare_ends(self._log, self._verifier, self._verifier.ended())

    async def _absorb(self, at_most: int) -> None:
        """Wait until no more chunks than these are followed by others."""
        while len(self._under_way) > at_most:
            for taken in await self._under_way.popleft():
                self._verifier.absorb(taken)

    async def _missing(self, gaps: Sequence[Gap]) -> Sequence[Gap]:
        return await self._register.unaccounted(gaps, self._shard) if self._register else gaps

    def _fault(self, problem: str) -> None:
        self._verifier.fault(problem, self._shard if self._log.shards > 1 else msgspec.UNSET)


async def _compare_ends(log: EventLog, verifier: Verifier, ends: Sequence[Ended]) -> None:
    """Compare where records end with what their streams say: a tail that was cut off leaves no gap."""
    for place in range(0, len(ends), CHUNK):
        some = ends[place : place + CHUNK]
        versions = await log.versions(end.stream for end in some)
        for end in some:
            said = versions.get(end.stream, 0)
            if said not in (end.version, ARCHIVED, ERASED) and not await _went_on(log, end, said):
                verifier.spoil(end, f"its records end here, and the stream says {said}")


async def _went_on(log: EventLog, end: Ended, said: int) -> bool:
    """Whether a stream has records that were appended after the log was read."""
    if said < end.version:
        return False
    try:
        stored = await log.load(end.stream, end.version)
    except (Archived, Erased):
        return True
    return stored is not None and len(stored.records) > 0


def _gaps(seen: int, entries: Sequence[LogEntry]) -> list[Gap]:
    positions = [seen, *(entry.record.position for entry in entries)]
    return [(before + 1, after - 1) for before, after in pairwise(positions) if after > before + 1]

"""What the reads of one game share: streams, history, viewers, and the size of answers."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Generic

import msgspec
from playmolt_schemas import codes
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.envelopes import Call
from playmolt_schemas.identifiers import SESSION_TYPES
from playmolt_schemas.limits import BUS_REPLY_BYTES, PAGE_DEFAULT, PAGE_MAX
from playmolt_schemas.stored.event import Event

from playmolt_core.effects.leased_effect import Submit
from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.pending_call import NO_GAME, closed_to
from playmolt_core.game.decider import PUBLIC, Decider, Refused, S, Viewer
from playmolt_core.game.fold import Snapshot
from playmolt_core.game.withholding import Withheld
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import Archived, GameReader, StoredFacts, StreamReader

_KEPT = 128


class Moment(msgspec.Struct, Generic[S], frozen=True):
    """An event as it is shown, its time, and the state after it, which is folded from shown events."""

    event: Event
    at: datetime
    state: S


class _History(msgspec.Struct, Generic[S], frozen=True):
    """The moments of a game, and what was withheld when they were folded."""

    moments: tuple[Moment[S], ...] = ()
    texts: Mapping[int, Collection[str]] = {}


class Histories(Generic[S]):
    """Cached histories of recently requested games, extended from the log on demand."""

    def __init__(
        self,
        decider: Decider[S],
        event_log: StreamReader,
        read_last: Callable[[str], StoredFacts | None],
        withheld: Withheld,
    ) -> None:
        self._read_last = read_last
        self._decider = decider
        self._log = event_log
        self._withheld = withheld
        self._kept: OrderedDict[str, _History[S]] = OrderedDict()

    async def of(self, stream: str, version: int) -> tuple[Moment[S], ...]:
        """The moments from 1 to at least `version` (index = version - 1). Raises LogUnavailable."""
        kept, texts = self._kept.get(stream, _History[S]()), self._withheld.texts(stream)
        moments = kept.moments if kept.texts == texts else ()
        if len(moments) < version:
            stored = None if moments else self._read_last(stream)
            if stored is None or stored.head.version < version:
                stored = await self._log.facts(stream, after=len(moments))
            moments = self._extended(stream, moments, stored) if stored else moments
            self._kept[stream] = _History(moments, texts)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        if stream in self._kept:
            self._kept.move_to_end(stream)
        return moments

    def _extended(self, stream: str, moments: tuple[Moment[S], ...], stored: StoredFacts) -> tuple[Moment[S], ...]:
        state = moments[-1].state if moments else self._decider.initial(stream)
        more = []
        for version, (stored_event, at) in enumerate(facts_of(self._decider, stored), len(moments) + 1):
            event = self._withheld.shown(stream, version, stored_event)
            state = self._decider.evolve(state, event, at)
            more.append(Moment(event, at, state))
        return (*moments, *more)


Reply = tuple[int, bytes] | tuple[int, bytes, str, int]
"""(status, body, content type, total length). The type is empty for JSON; the length is set for partial bodies only."""

NO_SESSION = Refused(Code.NOT_FOUND, codes.NO_SESSION)


class Page(msgspec.Struct, frozen=True):
    """Body of `events`, `feed` and `log`, and of `relay.log`."""

    after: int = 0
    limit: int = PAGE_DEFAULT

    @property
    def most(self) -> int:
        return min(self.limit, PAGE_MAX)


def refusal(refused: Refused) -> Reply:
    return refused.code.status, problem_bytes(refused.code, refused.detail, refused.errors)


def fitting(items: Iterable[bytes]) -> list[bytes]:
    """The items that fit into one answer on the bus; at least one."""
    taken: list[bytes] = []
    size = 0
    for item in items:
        size += len(item) + 1
        if taken and size > BUS_REPLY_BYTES:
            break
        taken.append(item)
    return taken


class Sources(Generic[S]):
    """The committed streams of one game, their log and their history."""

    def __init__(
        self, decider: Decider[S], event_log: GameReader, streams: CommittedReads[S], submit: Submit | None = None
    ) -> None:
        self._submit = submit
        self.decider = decider
        self.log = event_log
        self.streams = streams
        self.withheld = streams.withholding.withheld
        self.histories = Histories(decider, event_log, streams.read_last, self.withheld)
        self.private = decider.game in SESSION_TYPES
        """Whether each stream belongs to one owner."""
        self.unknown = NO_SESSION if self.private else NO_GAME

    def viewer(self, snapshot: Snapshot[S], agent: str) -> Viewer:
        return Viewer(agent) if agent and agent in self.decider.participants(snapshot.state) else PUBLIC

    async def shown(self, call: Call) -> Snapshot[S] | None:
        """The game of a call; None if the caller may not see it. Raises LogUnavailable, Archived."""
        snapshot = await self.streams.snapshot(call.target)
        if snapshot is None or closed_to(self.decider, snapshot, call):
            return None
        return await self.after_sign(call, call.target, snapshot)

    async def after_sign(self, call: Call, stream: str, snapshot: Snapshot[S]) -> Snapshot[S]:
        """A game after the sign of presence that the call is. Best effort: without it the call is answered as well."""
        if self._submit is None or not call.present or not call.agent:
            return snapshot
        command = self.decider.sign_of(snapshot.state, call.agent)
        if command is None:
            return snapshot
        await self._submit(stream, command, digest(["sign", stream, call.agent, snapshot.version])[:32])
        return await self.streams.snapshot(stream) or snapshot

    async def displayed(self, stream: str, snapshot: Snapshot[S]) -> S:
        """The state of a snapshot as it is shown: without hidden texts. Raises LogUnavailable, Archived."""
        if not self.withheld.texts(stream):
            return snapshot.state
        return (await self.histories.of(stream, snapshot.version))[snapshot.version - 1].state

    async def unless_archived(self, stream: str) -> Snapshot[S] | None:
        """Raises Erased and LogUnavailable."""
        try:
            return await self.streams.snapshot(stream)
        except Archived:
            return None

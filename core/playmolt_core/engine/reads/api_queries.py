"""Answers of `query`: a game's own route that reads, or that polls the result of a command."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic

import msgspec
from playmolt_schemas.api import ErasedSession
from playmolt_schemas.limits import BUS_REPLY_BYTES

from playmolt_core.engine.pending_call import NO_GAME, PendingCall, api_request, body_of, offset_of
from playmolt_core.engine.reads.sources import Reply, Sources, refusal
from playmolt_core.engine.session_erasure import SessionErasure
from playmolt_core.game.api import ApiReply, ApiRequest, GameApi
from playmolt_core.game.decider import Refused, S
from playmolt_core.vault.vault import Erased

_KEPT = 8
SESSIONS = 100
"""The longest list of sessions."""

_PAGES = 40
"""The most pages of a list that are looked through for sessions that are not left out."""


class Without(msgspec.Struct, frozen=True):
    """The caller's own sessions are listed, but not these."""

    streams: frozenset[str]


Fetch = Callable[[Any, ApiRequest], Awaitable[ApiReply | Refused | Without | None]]
"""Fetches the answer of a route for a state. Of a list alone: `Without`, or None for all sessions of the caller."""


class ApiQueries(Generic[S]):
    """Answers the routes of one game. `fetches` handles routes with external answers, after the API authorized them."""

    def __init__(
        self,
        sources: Sources[S],
        api: GameApi[S] | None,
        fetches: Mapping[str, Fetch] | None,
        erasure: SessionErasure[S] | None = None,
    ) -> None:
        self._sources = sources
        self._api = api
        self._fetches = fetches or {}
        self._erasure = erasure
        self._making: OrderedDict[tuple[object, ...], asyncio.Task[ApiReply | Refused]] = OrderedDict()

    async def query(self, pending: PendingCall) -> Reply:
        """Answer a query; a long body is sent in parts."""
        api, request = self._api, api_request(pending)
        if api is None:
            return refusal(NO_GAME)
        found = await self._answered(api, request)
        if isinstance(found, Refused):
            return refusal(found)
        body = body_of(found)
        if not found.content_type and not request.operator:
            body = self._sources.withheld.named(body)
        if len(body) <= BUS_REPLY_BYTES:
            return found.status, body, found.content_type, 0
        offset = offset_of(pending)
        return found.status, body[offset : offset + BUS_REPLY_BYTES], found.content_type, len(body)

    async def _answered(self, api: GameApi[S], request: ApiRequest) -> ApiReply | Refused:
        if request.route in api.unbound:
            return await self._fetched(None, request)
        if request.route in api.lists:
            return await self._listed(api, request)
        snapshot = await self._sources.unless_archived(request.stream)
        if snapshot is None:
            # The API words it, so that a session of someone else looks like a missing one.
            return self.unknown(api, request)
        if hidden := self._sources.withheld.texts(request.stream):
            request = msgspec.structs.replace(request, hidden=tuple(sorted(hidden)))
        if request.route in self._fetches:
            may = api.answer(snapshot.state, request)
            return may if isinstance(may, Refused) else await self._fetched(snapshot.state, request)
        state = await self._sources.displayed(request.stream, snapshot)
        if request.route in api.slow:
            return await self._made(api, state, snapshot.version, request)
        return api.answer(state, request)

    async def _listed(self, api: GameApi[S], request: ApiRequest) -> ApiReply | Refused:
        fetch = self._fetches.get(request.route)
        listed = await fetch(None, request) if fetch else None
        if listed is None or isinstance(listed, Without):
            left_out = listed.streams if listed else frozenset[str]()
            return _newest(api, await self._sessions_of(request, left_out), request)
        return listed

    async def _fetched(self, state: S | None, request: ApiRequest) -> ApiReply | Refused:
        found = await self._fetches[request.route](state, request)
        if found is None or isinstance(found, Without):
            raise LookupError(f"{request.route} was not answered")
        return found

    def unknown(self, api: GameApi[S], request: ApiRequest) -> ApiReply | Refused:
        """The answer about a session that does not exist."""
        return api.answer(self._sources.decider.initial(request.stream), request)

    async def _made(self, api: GameApi[S], state: S, version: int, request: ApiRequest) -> ApiReply | Refused:
        """Compute an answer in a thread; it is cached for repeated calls and for calls that fetch its other parts."""
        key = (
            request.stream,
            version,
            request.route,
            request.agent_id,
            request.operator,
            repr(request.query),
            repr(request.params),
            request.hidden,
        )
        if key not in self._making:
            self._making[key] = asyncio.create_task(asyncio.to_thread(_encoded, api, state, request))
            while len(self._making) > _KEPT:
                self._making.popitem(last=False)
        making = self._making[key]
        try:
            # Shielded: if the caller gives up and retries, the result is ready or in progress.
            return await asyncio.shield(making)
        except Exception:
            self._making.pop(key, None)
            raise

    async def _sessions_of(self, request: ApiRequest, left_out: frozenset[str]) -> list[S | ErasedSession]:
        owner = None if request.operator else request.agent_id
        game, log = self._sources.decider.game, self._sources.log
        listed: list[str] = []
        before = None
        for _ in range(_PAGES):
            found = await log.games(game, phase=None, before=before, limit=SESSIONS, opened_by=owner)
            listed += [each.stream for each in found if each.stream not in left_out]
            if len(found) < SESSIONS or len(listed) >= SESSIONS:
                break
            before = (found[-1].created_at, found[-1].stream)
        rows = [await self._row(stream) for stream in listed[:SESSIONS]]
        return [row for row in rows if row is not None]

    async def _row(self, stream: str) -> S | ErasedSession | None:
        try:
            snapshot = await self._sources.unless_archived(stream)
        except Erased:
            return await self._erasure.row(stream) if self._erasure else None
        return snapshot.state if snapshot else None


def _encoded(api: GameApi[S], state: S, request: ApiRequest) -> ApiReply | Refused:
    made = api.answer(state, request)
    return made if isinstance(made, Refused) else msgspec.structs.replace(made, body=body_of(made))


def _newest(api: GameApi[S], states: list[S | ErasedSession], request: ApiRequest) -> ApiReply | Refused:
    """The newest sessions that fit into one message; parts of a list computed twice could differ."""
    while True:
        reply = api.many(states, request)
        if isinstance(reply, Refused) or len(states) < 2 or len(body_of(reply)) <= BUS_REPLY_BYTES:
            return reply
        states = states[: len(states) // 2]

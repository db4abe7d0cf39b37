"""Answers that change nothing: states, events, feeds, lists, logs (docs/engine-operations.md)."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from playmolt_schemas.api import ActionOffer, GameLine, Turn
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.identifiers import RUN_TYPES, SESSION_TYPES, lobby_of, rfc3339
from playmolt_schemas.limits import BUS_REPLY_BYTES, PAGE_DEFAULT, PAGE_MAX

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.api_requests import BadBody, api_request, offset_of
from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.history import Histories
from playmolt_core.engine.messages import message
from playmolt_core.engine.pending_call import ARCHIVED_GAME, PendingCall, refuse_busy
from playmolt_core.engine.planning import body_of
from playmolt_core.game.api import ApiReply, ApiRequest, GameApi
from playmolt_core.game.decider import PUBLIC, Decider, Refused, Viewer
from playmolt_core.game.snapshot import Snapshot
from playmolt_core.log.port import Archived, EventLog
from playmolt_core.ops.telemetry import log, where

_log = log("reads")
_encode = msgspec.json.encode
_NO_GAME = "There is no such game; see GET /api/games for those there are."
_UNDER_WAY = 5_000
_PARTS = 8
_SESSIONS = 100

Reply = tuple[int, bytes] | tuple[int, bytes, str, int]
"""Status and body; then the type of what is no JSON, and the length of what is sent in parts."""
_NO_SESSION = "You have no such session. Its list is at the path without an id."


Fetch = Callable[[Any, ApiRequest], Awaitable[ApiReply | Refused]]
"""Fetches the answer of a route for a state."""


class StateAt(msgspec.Struct, frozen=True):
    """Body of `state`."""

    at: int | None = None
    seat: str | None = None


class Page(msgspec.Struct, frozen=True):
    """Body of `events`, `feed`, `log` and `forward`."""

    after: int = 0
    limit: int = PAGE_DEFAULT


class List(msgspec.Struct, frozen=True):
    """Body of `games`."""

    phase: str | None = None
    before: tuple[str, str] | None = None
    limit: int = PAGE_DEFAULT
    open: bool = False
    idle_seconds: int | None = None


def _refusal(code: Code, detail: str) -> Reply:
    return code.status, problem_bytes(code, detail)


def _fitting(items: Iterable[bytes]) -> list[bytes]:
    """Take what fits into one answer on the bus; at least one item."""
    taken: list[bytes] = []
    size = 0
    for item in items:
        size += len(item) + 1
        if taken and size > BUS_REPLY_BYTES:
            break
        taken.append(item)
    return taken


class Reads:
    """The reading half of an engine."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        fresh: CommittedReads,
        api: GameApi[Any] | None = None,
        fetches: Mapping[str, Fetch] | None = None,
    ) -> None:
        self._fetches = fetches or {}
        self._api = api
        self._private = decider.game in SESSION_TYPES
        self._parts: OrderedDict[tuple[Any, ...], asyncio.Task[ApiReply | Refused]] = OrderedDict()
        self._decider = decider
        self._log = event_log
        self._fresh = fresh
        self._histories = Histories(decider, event_log)
        self._tasks: set[asyncio.Task[None]] = set()
        self._handlers: dict[str, Callable[[PendingCall], Awaitable[Reply]]] = {
            "state": self._state,
            "events": self._events,
            "feed": self._feed,
            "turn": self._turn,
            "games": self._games,
            "log": self._game_log,
            "forward": self._forward,
            "operator": self._operator,
            "ask": self._ask,
        }

    def take(self, work: PendingCall) -> None:
        """Answer a call, later; bounded in number and, by the caller's deadline, in time."""
        if len(self._tasks) >= _UNDER_WAY:
            refuse_busy(work)
            return
        task = asyncio.create_task(self._answer(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, work: PendingCall) -> None:
        left = work.call.deadline_ms / 1000 - time.time() if work.call.deadline_ms else 10.0
        try:
            async with asyncio.timeout(max(left, 0)):
                reply = await self._handlers[work.call.op](work)
        except (LogUnavailable, TimeoutError):
            refuse_busy(work)
        except Archived:
            work.refuse(Code.NOT_FOUND, _NO_SESSION if self._private else ARCHIVED_GAME)
        except (msgspec.MsgspecError, BadBody) as error:
            work.refuse(Code.INVALID_REQUEST, f"The body does not fit: {error}.")
        except Exception as error:  # a stored event that does not fold or a bug: this call fails, the engine goes on
            kind, frames = type(error).__name__, where(error)
            _log.error("read_failed", op=work.call.op, target=work.call.target, error=kind, traceback=frames)
            refuse_busy(work)
        else:
            work.answer(*reply)

    def _viewer(self, snapshot: Snapshot, agent: str) -> Viewer:
        return Viewer(agent) if agent and agent in self._decider.participants(snapshot.state) else PUBLIC

    async def _state(self, work: PendingCall) -> Reply:
        request = msgspec.json.decode(work.call.body, type=StateAt)
        snapshot = await self._fresh.snapshot(work.call.target)
        if snapshot is None:
            return _refusal(Code.NOT_FOUND, _NO_GAME)
        state, viewer = snapshot.state, self._viewer(snapshot, work.call.agent)
        if request.at is not None or request.seat is not None:
            viewer = PUBLIC
        if request.seat is not None:
            if not snapshot.summary.over:
                return _refusal(Code.NOT_FINISHED, "A seat's view can be read when the game is over.")
            if request.seat not in self._decider.participants(state):
                return _refusal(Code.NOT_FOUND, "Nobody with this id sits in the game; `participants` lists who does.")
            viewer = Viewer(request.seat)
        if request.at is not None:
            if not 1 <= request.at <= snapshot.version:
                return _refusal(Code.NOT_FOUND, f"`at` must be between 1 and {snapshot.version}, the game's version.")
            state = (await self._histories.of(work.call.target, request.at))[request.at - 1].state
        return 200, _encode(self._decider.view(state, viewer))

    async def _events(self, work: PendingCall) -> Reply:
        request = msgspec.json.decode(work.call.body, type=Page)
        if await self._fresh.snapshot(work.call.target) is None:
            return _refusal(Code.NOT_FOUND, _NO_GAME)
        messages = _fitting(await self._log.public(work.call.target, request.after, min(request.limit, PAGE_MAX)))
        return 200, b'{"events":[%b],"next_after":%d}' % (b",".join(messages), request.after + len(messages))

    async def _feed(self, work: PendingCall) -> Reply:
        request = msgspec.json.decode(work.call.body, type=Page)
        stream = work.call.target
        snapshot = await self._fresh.snapshot(stream)
        if snapshot is None:
            return _refusal(Code.NOT_FOUND, _NO_SESSION if self._private else _NO_GAME)
        viewer = self._viewer(snapshot, work.call.agent)
        if self._private and viewer == PUBLIC:
            return _refusal(Code.NOT_FOUND, _NO_SESSION)
        limit = min(request.limit, PAGE_MAX)
        if request.after >= snapshot.version:
            messages: list[bytes] = []
        elif viewer == PUBLIC:
            messages = _fitting(await self._log.public(stream, request.after, limit))
        else:
            moments = await self._histories.of(stream, snapshot.version)
            last = min(len(moments), request.after + limit)
            messages = _fitting(
                message(self._decider, stream, version, rfc3339(moment.at), moment.state, moment.event, viewer)
                for version, moment in enumerate(moments[request.after : last], request.after + 1)
            )
        over = b"true" if snapshot.summary.over else b"false"
        body = b'{"messages":[%b],"version":%d,"closed":%b}' % (b",".join(messages), snapshot.version, over)
        return 200, body

    async def _unless_archived(self, stream: str) -> Snapshot | None:
        try:
            return await self._fresh.snapshot(stream)
        except Archived:
            return None

    async def _seated(self, agent: str) -> tuple[str, Snapshot] | None:
        """The unfinished game an agent sits in, and where it stands."""
        lobby = await self._fresh.snapshot(lobby_of(self._decider.game))
        stream = lobby.state.seat_of(agent) if lobby else None
        snapshot = await self._unless_archived(stream) if stream else None
        if stream is None or snapshot is None or snapshot.summary.over:
            return None
        return stream, snapshot

    async def _turn(self, work: PendingCall) -> Reply:
        agent = work.call.agent
        seated = await self._seated(agent)
        if seated is None:
            return 200, b'{"turn":null,"games":[]}'
        stream, snapshot = seated
        offers = self._decider.allowed_actions(snapshot.state, agent)
        turn = None
        if offers:
            view = msgspec.to_builtins(self._decider.view(snapshot.state, Viewer(agent)))
            actions = [ActionOffer(offer.type, dict(offer.schema)) for offer in offers]
            turn = Turn(stream, self._decider.game, view, actions)
        return 200, _encode({"turn": turn, "games": [{"game_id": stream, "version": snapshot.version}]})

    async def _games(self, work: PendingCall) -> Reply:
        request = msgspec.json.decode(work.call.body, type=List)
        idle = None if request.idle_seconds is None else datetime.now(UTC) - timedelta(seconds=request.idle_seconds)
        before = (datetime.fromisoformat(request.before[0]), request.before[1]) if request.before else None
        found = await self._log.games(
            self._decider.game,
            phase=request.phase,
            before=before,
            limit=min(request.limit, PAGE_MAX),
            idle_since=idle,
            running=request.open,
        )
        lines = []
        for game in found:
            summary = game.summary
            line = GameLine(
                game.stream,
                self._decider.game,
                summary.phase,
                summary.round,
                summary.seated,
                summary.needed,
                rfc3339(game.created_at),
            )
            extra = {"over": summary.over, "updated_at": rfc3339(game.updated_at), "version": game.version}
            lines.append(msgspec.to_builtins(line) | extra)
        return 200, _encode({"games": lines})

    async def _game_log(self, work: PendingCall) -> Reply:
        request = msgspec.json.decode(work.call.body, type=Page)
        snapshot = await self._fresh.snapshot(work.call.target)
        if snapshot is None:
            return _refusal(Code.NOT_FOUND, _NO_GAME)
        viewer = self._viewer(snapshot, work.call.agent)
        if self._private and viewer == PUBLIC and not work.call.operator:
            return _refusal(Code.NOT_FOUND, _NO_SESSION)
        if not work.call.operator and self._decider.game in RUN_TYPES:
            return _refusal(Code.OPERATOR_ONLY, "The log of a run is the operator's; /events is open to everybody.")
        if not (work.call.operator or snapshot.summary.over):
            open_now = "" if self._private else "; /events is open all the time"
            return _refusal(Code.LOG_NOT_FINISHED, f"The log opens when it is over{open_now}.")
        stored = await self._log.load(work.call.target, after=request.after)
        records = [] if stored is None else stored.records[: min(request.limit, PAGE_MAX)]
        taken = _fitting(map(_encode, records))
        next_after = request.after + len(taken)
        more = b"true" if next_after < snapshot.version else b"false"
        return 200, b'{"records":[%b],"next_after":%d,"more":%b}' % (b",".join(taken), next_after, more)

    async def _forward(self, work: PendingCall) -> Reply:
        if not work.call.operator:
            return _refusal(Code.OPERATOR_ONLY, "Only the operator reads the whole log.")
        request = msgspec.json.decode(work.call.body, type=Page)
        rows = await self._log.forward(request.after, min(request.limit, PAGE_MAX))
        taken = _fitting(_encode(row.record) for row in rows)
        return 200, b'{"records":[%b],"next_after":%d}' % (b",".join(taken), request.after + len(taken))

    async def _operator(self, work: PendingCall) -> Reply:
        if not work.call.operator:
            return _refusal(Code.OPERATOR_ONLY, "Only the operator sees this.")
        stream = work.call.target
        snapshot = await self._fresh.snapshot(stream)
        if snapshot is None:
            return _refusal(Code.NOT_FOUND, _NO_GAME)
        summary = snapshot.summary
        first = (await self._histories.of(stream, 1))[0]
        people = self._decider.participants(snapshot.state)
        body = {
            "game_id": stream,
            "gameType": self._decider.game,
            "version": snapshot.version,
            "phase": summary.phase,
            "round": summary.round,
            "seated": summary.seated,
            "needed": summary.needed,
            "created_at": rfc3339(first.at),
            "updated_at": rfc3339(snapshot.at),
            "participants": [{"id": agent, "name": name} for agent, name in people.items()],
            "config": self._decider.operator_view(snapshot.state),
        }
        return 200, _encode(body)

    async def _ask(self, work: PendingCall) -> Reply:
        """Answer a route of the game's own; a body too long for one message goes out in parts."""
        api, request = self._api, api_request(work.call)
        if api is None:
            return _refusal(Code.NOT_FOUND, _NO_GAME)
        found = await self._answered(api, request)
        if isinstance(found, Refused):
            return found.code.status, problem_bytes(found.code, found.detail, found.errors)
        body = body_of(found)
        if len(body) <= BUS_REPLY_BYTES:
            return found.status, body, found.content_type, 0
        offset = offset_of(work.call)
        return found.status, body[offset : offset + BUS_REPLY_BYTES], found.content_type, len(body)

    async def _answered(self, api: GameApi[Any], request: ApiRequest) -> ApiReply | Refused:
        if request.route in api.lists:
            return _newest(api, await self._sessions_of(request), request)
        snapshot = await self._unless_archived(request.stream)
        if snapshot is None:
            # Worded by the api, so that what is another's looks like what is not there.
            return api.answer(self._decider.initial(request.stream), request)
        if request.route in self._fetches:
            may = api.answer(snapshot.state, request)
            return may if isinstance(may, Refused) else await self._fetches[request.route](snapshot.state, request)
        if request.route not in api.slow:
            return api.answer(snapshot.state, request)
        # Kept for the calls that fetch the other parts of a long answer, and for a reader who asks again.
        key = (
            request.stream,
            snapshot.version,
            request.route,
            request.agent_id,
            request.operator,
            repr(request.query),
            repr(request.params),
        )
        if key not in self._parts:
            self._parts[key] = asyncio.create_task(asyncio.to_thread(_made, api, snapshot.state, request))
            while len(self._parts) > _PARTS:
                self._parts.popitem(last=False)
        making = self._parts[key]
        try:
            # Shielded: a caller who gives up and asks again finds it done, or at least under way.
            return await asyncio.shield(making)
        except Exception:
            self._parts.pop(key, None)
            raise

    async def _sessions_of(self, request: ApiRequest) -> list[Any]:
        owner = None if request.operator else request.agent_id
        found = await self._log.games(self._decider.game, phase=None, before=None, limit=_SESSIONS, opened_by=owner)
        snapshots = [await self._unless_archived(game.stream) for game in found]
        return [snapshot.state for snapshot in snapshots if snapshot is not None]


def _made(api: GameApi[Any], state: Any, request: ApiRequest) -> ApiReply | Refused:
    made = api.answer(state, request)
    return made if isinstance(made, Refused) else msgspec.structs.replace(made, body=body_of(made))


def _newest(api: GameApi[Any], states: list[Any], request: ApiRequest) -> ApiReply | Refused:
    """List what fits into one message, newest first: a list made twice could differ between its parts."""
    while True:
        reply = api.many(states, request)
        if isinstance(reply, Refused) or len(states) < 2 or len(body_of(reply)) <= BUS_REPLY_BYTES:
            return reply
        states = states[: len(states) // 2]

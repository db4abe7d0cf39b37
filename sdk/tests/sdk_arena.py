"""A server on loopback that plays a game's real rules in memory, and misbehaves on request."""

import asyncio
import contextlib
import hashlib
import json
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from queue import Queue
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
import uvicorn
from playmolt_core.game.decider import (
    PUBLIC,
    Act,
    Create,
    DeadlinePassed,
    EndGame,
    Forfeit,
    Join,
    Leave,
    Refused,
    Viewer,
)
from playmolt_core.ops.http_protocol import HttpServer
from playmolt_core.ops.process import listening
from playmolt_schemas.codes import Code, RateLimit, problem_bytes
from playmolt_schemas.identifiers import rfc3339

START = datetime(2026, 1, 1, tzinfo=UTC)
RATING = {"rating": 1512.5, "uncertainty": 470.1, "games": 1, "version": None, "provisional": True}
HTTP_HEADERS = list[tuple[bytes, bytes]]


@dataclass
class Fault:
    """One misbehaviour, for the first request that matches.

    `status`: only answer with this status. `lost`: carry out the request and break the connection within the answer.
    `cut`: break a stream after this number of events. `repeat`: send each event of a stream twice. `hole`: omit one.
    """

    path: str
    kind: str
    method: str = ""
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    events: int = 3


@dataclass
class Seen:
    """A received request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Lost(Exception):
    """Raised to break the connection."""


@dataclass
class Game:
    state: Any
    states: list[Any]
    messages: list[Any]


class Arena:
    """The games of one type."""

    def __init__(self, decider: Any) -> None:
        self.decider = decider
        self.url = ""
        self.agents: dict[str, tuple[str, str]] = {}
        self.games: dict[str, Game] = {}
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.outcomes: dict[tuple[str, str, str], bytes] = {}
        self.reported: set[tuple[str, str]] = set()
        """Agents and ended games: one wait for a turn of each has returned the end."""
        self.longest_wait = 60.0
        self.closing = False
        self._change = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    # for the tests

    def sent(self, path: str) -> list[Seen]:
        return [one for one in self.seen if one.path.endswith(path)]

    def let_the_deadline_pass(self, game_id: str) -> None:
        (effect,) = self.decider.effects(self.games[game_id].state)
        self._decide(game_id, DeadlinePassed(effect_id=effect.id))

    def end(self, game_id: str) -> None:
        self._decide(game_id, EndGame(reason="test"))

    def close(self) -> None:
        """Answer all waiting requests and end the streams."""
        self.closing = True
        self._changed()

    # the rules

    def _open(self) -> str:
        number = len(self.games)
        game_id = f"{self.decider.game}-{uuid.uuid5(uuid.NAMESPACE_OID, str(number))}"
        state = self.decider.initial(game_id)
        self.games[game_id] = Game(state, [], [])
        self._decide(game_id, Create(seed=str(1000 + number), config={}))
        return game_id

    def _decide(self, game_id: str, command: Any) -> Refused | None:
        game = self.games[game_id]
        at = START + timedelta(seconds=len(game.states))
        decision = self.decider.decide(game.state, command, at)
        if isinstance(decision, Refused):
            return decision
        for event in decision.events:
            game.state = self.decider.evolve(game.state, event, at)
            game.states.append(game.state)
            game.messages.append((event, game.state, rfc3339(at)))
        self._changed()
        return None

    def _changed(self) -> None:
        """Wake the waiting requests, also from a test's thread."""
        change, self._change = self._change, asyncio.Event()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(change.set)

    def view(self, game_id: str, agent: str | None) -> dict[str, Any]:
        view: dict[str, Any] = msgspec.to_builtins(self.decider.view(self.games[game_id].state, Viewer(agent)))
        return view

    def message(self, game_id: str, version: int, viewer: Viewer) -> dict[str, Any]:
        event, state, at = self.games[game_id].messages[version - 1]
        shown = self.decider.public(event, viewer, state)
        flat = {"type": "progress"} if shown is None else msgspec.to_builtins(shown)
        return {**flat, "game_id": game_id, "version": version, "at": at}

    def version(self, game_id: str) -> int:
        return len(self.games[game_id].states)

    def over(self, game_id: str) -> bool:
        return bool(self.decider.summary(self.games[game_id].state).over)

    # HTTP

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._loop = asyncio.get_running_loop()
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        seen = Seen(
            scope["method"], unquote(scope["path"]), dict(parse_qsl(scope["query_string"].decode())), headers, body
        )
        self.seen.append(seen)
        fault = self._fault(seen)
        with contextlib.suppress(Lost):
            if fault and fault.kind == "status":
                text = (
                    problem_bytes(Code.UNAVAILABLE, "an engine is away; try again")
                    if fault.body is None
                    else fault.body
                )
                await _answer(send, fault.status, text, fault.headers)
            elif seen.path.endswith("/stream"):
                await self._stream(seen, send, fault)
            else:
                status, answer = await self._route(seen)
                if fault and fault.kind == "lost":
                    await _broken(send, answer)
                await _answer(send, status, answer)

    def _fault(self, seen: Seen) -> Fault | None:
        for fault in self.faults:
            if seen.path.endswith(fault.path) and fault.method in ("", seen.method):
                self.faults.remove(fault)
                return fault
        return None

    def _agent(self, seen: Seen) -> tuple[str, str] | None:
        return self.agents.get(seen.headers.get("authorization", "").removeprefix("Bearer "))

    async def _route(self, seen: Seen) -> tuple[int, bytes]:
        if (seen.method, seen.path) == ("POST", "/api/agents"):
            return self._register(json.loads(seen.body)["name"])
        agent = self._agent(seen)
        if "authorization" in seen.headers and agent is None:
            return 401, problem_bytes(Code.UNAUTHORIZED, "this key is not known; register an agent")
        parts = seen.path.strip("/").split("/")
        if parts[:2] == ["api", "games"] and len(parts) == 4:
            if parts[2] not in self.games:
                return 404, problem_bytes(Code.NOT_FOUND, "there is no such game")
            return await self._game(seen, agent, parts[2], parts[3])
        assert agent is not None
        return await self._own(seen, agent)

    def _register(self, name: str) -> tuple[int, bytes]:
        agent_id = f"agent-{len(self.agents):04}"
        key = hashlib.sha256(agent_id.encode()).hexdigest()
        self.agents[key] = (agent_id, name)
        made = {"id": agent_id, "name": name, **_identity(agent_id), "about": None, "api_key": key}
        return 201, _json(made | {"shiny": "a field of tomorrow"})

    async def _own(self, seen: Seen, agent: tuple[str, str]) -> tuple[int, bytes]:
        match seen.method, seen.path:
            case "GET", "/api/agents/me":
                games = {"trial": 0, "ox": 0}
                return 200, _json(
                    {"id": agent[0], "name": agent[1], **_identity(agent[0]), "about": None, "points": 0, "owner": None}
                    | {"created_at": "2026-01-01T00:00:00.000000Z", "points_by_type": games, "games": games}
                    | {"ratings": {"trial": None, "ox": None, self.decider.game: RATING}, "notices": []}
                )
            case "POST", "/api/agents/me/keys":
                old = seen.headers["authorization"].removeprefix("Bearer ")
                key = hashlib.sha256(old.encode()).hexdigest()
                self.agents[key] = self.agents.pop(old)
                return 201, _json({"api_key": key})
            case "GET", "/api/agents/me/turn":
                return await self._turn(seen, agent[0])
            case "POST", "/api/games/join":
                return self._once(seen, lambda: self._join(agent))
            case "GET", "/api/leaderboard":
                line = {"rank": 1, "id": agent[0], "name": agent[1], **_identity(agent[0]), "points": 0, "games": 0}
                return 200, _json({"leaderboard": [line], "next_cursor": None})
            case "GET", "/api/games":
                return 200, _json({"games": [self._line(game_id) for game_id in self.games], "next_cursor": None})
        raise AssertionError(seen)

    def _line(self, game_id: str) -> dict[str, Any]:
        card = self.decider.summary(self.games[game_id].state)
        return {
            "game_id": game_id, "gameType": self.decider.game, "phase": card.phase, "round": card.round,
            "seated": card.seated, "needed": card.needed, "created_at": rfc3339(START),
        }  # fmt: skip

    def _join(self, agent: tuple[str, str]) -> tuple[int, bytes]:
        game_id = next((own for own in self._sits(agent[0])), None)
        if game_id is None:
            waiting = (one for one in self.games if self.decider.summary(self.games[one].state).phase == "waiting")
            game_id = next(waiting, None) or self._open()
            assert self._decide(game_id, Join(agent_id=agent[0], name=agent[1])) is None
        line = self._line(game_id)
        return 200, _json({name: line[name] for name in ("game_id", "gameType", "phase", "seated", "needed")})

    def _sits(self, agent: str) -> list[str]:
        return [
            game_id
            for game_id, game in self.games.items()
            if agent in self.decider.participants(game.state) and not self.over(game_id)
        ]

    def _until(self, seen: Seen) -> float:
        return time.monotonic() + min(float(seen.query.get("wait", 0)), self.longest_wait)

    def _ended(self, agent: str) -> list[str]:
        """Games of an agent whose end it has not received yet."""
        return [
            game_id
            for game_id, game in self.games.items()
            if self.over(game_id)
            and agent in self.decider.participants(game.state)
            and (agent, game_id) not in self.reported
        ]

    def _once(self, seen: Seen, do: Any) -> tuple[int, bytes]:
        key = (seen.headers["authorization"], seen.path, seen.headers.get("idempotency-key", ""))
        if key[2] and key in self.outcomes:
            return 200, self.outcomes[key]
        status, answer = do()
        if status < 300 and key[2]:
            self.outcomes[key] = answer
        return status, answer

    async def _turn(self, seen: Seen, agent: str) -> tuple[int, bytes]:
        until = self._until(seen)
        while True:
            change = self._change
            for game_id in self._sits(agent):
                offers = self.decider.allowed_actions(self.games[game_id].state, agent)
                if offers:
                    actions = [{"type": offer.type, "schema": offer.schema} for offer in offers]
                    state = self.view(game_id, agent)
                    turn = {"game_id": game_id, "gameType": self.decider.game, "state": state, "actions": actions}
                    return 200, _json(turn | {"turn_id": state["turn_id"]})
            for game_id in self._ended(agent):
                self.reported.add((agent, game_id))
                turn = {"game_id": game_id, "gameType": self.decider.game, "state": self.view(game_id, agent)}
                return 200, _json(turn | {"actions": [], "over": True})
            if self.closing or time.monotonic() >= until:
                return 204, b""
            await _before(change, until)

    async def _game(self, seen: Seen, agent: tuple[str, str] | None, game_id: str, call: str) -> tuple[int, bytes]:
        who = agent[0] if agent else None
        match call:
            case "state":
                return 200, await self._state(seen, game_id, who)
            case "actions":
                assert who is not None
                return self._once(seen, lambda: self._act(game_id, who, json.loads(seen.body)))
            case "forfeit":
                assert who is not None
                return self._once(seen, lambda: self._let_go(game_id, who, json.loads(seen.body)))
            case "leave":
                assert who is not None
                return self._once(seen, lambda: self._leave(game_id, who))
            case "events":
                after, limit = int(seen.query.get("after", 0)), int(seen.query.get("limit", 100))
                last = min(after + limit, self.version(game_id))
                page = [self.message(game_id, version, PUBLIC) for version in range(after + 1, last + 1)]
                return 200, _json({"events": page, "next_after": last})
            case "log":
                return self._log(game_id)
        raise AssertionError(seen)

    async def _state(self, seen: Seen, game_id: str, who: str | None) -> bytes:
        if "at" in seen.query:
            state = self.games[game_id].states[int(seen.query["at"]) - 1]
            return _json(self.decider.view(state, PUBLIC))
        until = self._until(seen)
        after = int(seen.query.get("after", -1))
        while self.version(game_id) <= after and time.monotonic() < until and not self.closing:
            await _before(self._change, until)
        return _json(self.view(game_id, who))

    def _act(self, game_id: str, agent: str, action: Any) -> tuple[int, bytes]:
        before = self.version(game_id)
        refusal = self._decide(game_id, Act(agent_id=agent, action=action))
        if refusal:
            return _refused(refusal)
        status = "accepted" if self.version(game_id) > before else "pass"
        phase = self.decider.summary(self.games[game_id].state).phase
        receipt = hashlib.sha256(str(self.version(game_id)).encode()).hexdigest() if status == "accepted" else None
        return 200, _json({"status": status, "version": self.version(game_id), "phase": phase, "hash": receipt})

    def _let_go(self, game_id: str, agent: str, said: Any) -> tuple[int, bytes]:
        refusal = self._decide(game_id, Forfeit(agent_id=agent, kind=said.get("kind", "bot"), what=said["what"]))
        phase = self.decider.summary(self.games[game_id].state).phase
        answer = {"status": "forfeited", "version": self.version(game_id), "phase": phase}
        return _refused(refusal) if refusal else (200, _json(answer))

    def _leave(self, game_id: str, agent: str) -> tuple[int, bytes]:
        refusal = self._decide(game_id, Leave(agent_id=agent))
        return _refused(refusal) if refusal else (200, _json({"status": "left"}))

    def _log(self, game_id: str) -> tuple[int, bytes]:
        if not self.over(game_id):
            return 403, problem_bytes(Code.LOG_NOT_FINISHED, "the log is public when the game has ended")
        lines = [
            _json({
                "stream": game_id, "version": version, "position": version, "type": event.type,
                "schema_version": event.schema_version, "data": msgspec.to_builtins(event), "metadata": {}, "at": at,
                "salt": "00" * 16, "prev_hash": "0" * 64, "hash": "0" * 64,
            })
            for version, (event, _, at) in enumerate(self.games[game_id].messages, 1)
        ]  # fmt: skip
        return 200, b"\n".join(lines) + b"\n"

    async def _stream(self, seen: Seen, send: Any, fault: Fault | None) -> None:
        game_id = seen.path.split("/")[3]
        agent = self._agent(seen)
        viewer = Viewer(agent[0] if agent else None)
        sent = int(seen.headers.get("last-event-id", seen.query.get("after", 0)))
        count = 0
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b": hello\n\n", "more_body": True})
        while not self.closing:
            change = self._change
            while sent < self.version(game_id):
                sent += 1
                count += 1
                if fault and fault.kind == "hole" and count == fault.events:
                    continue
                frame = f"id: {sent}\ndata: {_json(self.message(game_id, sent, viewer)).decode()}\n\n".encode()
                half = len(frame) // 2
                for part in (frame[:half], frame[half:]) * (2 if fault and fault.kind == "repeat" else 1):
                    if fault and fault.kind == "cut" and count > fault.events:
                        await send({"type": "http.response.body", "body": part[:half], "more_body": True})
                        return
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            if self.over(game_id):
                await send({"type": "http.response.body", "body": b""})
                return
            await change.wait()


async def _before(change: asyncio.Event, until: float) -> None:
    """Return at a change, or at this time at the latest."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(until - time.monotonic()):
            await change.wait()


def _refused(refusal: Refused) -> tuple[int, bytes]:
    return refusal.code.status, problem_bytes(refusal.code, refusal.detail, refusal.errors)


def _identity(agent_id: str) -> dict[str, Any]:
    return {"handle": f"handle-{agent_id[-6:]}", "kind": "bot", "version": None, "model": None}


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def rate_limited(seconds: float) -> bytes:
    return problem_bytes(
        Code.RATE_LIMITED, "wait, then send again", ratelimit=RateLimit(key="actions", limit=1, seconds=seconds)
    )


async def _answer(send: Any, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    lines: HTTP_HEADERS = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    if status != 204:
        lines.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


async def _broken(send: Any, body: bytes) -> None:
    lines: HTTP_HEADERS = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": lines})
    await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
    raise Lost


@contextlib.contextmanager
def serving(arena: Arena) -> Iterator[Arena]:
    """Run the arena on a free port of loopback."""
    listener = listening("127.0.0.1", 0)
    arena.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = HttpServer(
        uvicorn.Config(arena, log_level="critical", lifespan="off", http="h11", ws="none", timeout_graceful_shutdown=2)
    )
    loops = Queue[asyncio.AbstractEventLoop]()

    async def serve() -> None:
        loops.put(asyncio.get_running_loop())
        await server.serve(sockets=[listener])

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    loop = loops.get(timeout=60)
    try:
        yield arena
    finally:
        arena.close()
        loop.call_soon_threadsafe(server.stop)
        thread.join(60)
        listener.close()
        assert not thread.is_alive()

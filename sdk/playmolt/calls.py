"""The table of calls: every request the API has for a bot, built here once for both clients.

A function gives the request, not the answer; `Client` and `AsyncClient` send it. Waiting is in seconds.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

import msgspec
from playmolt_schemas.api import (
    ActionAccepted,
    Events,
    Games,
    GameType,
    Joined,
    JoinRequest,
    Leaderboard,
    Left,
    Me,
    NewKey,
    Registered,
    RegisterRequest,
    Turn,
)
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.records import Record

T = TypeVar("T")
State = dict[str, Any]
Query = Mapping[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One call: what is sent, how long the server may hold it, and how its answer is read."""

    method: Literal["GET", "POST"]
    path: str
    read: Callable[[int, bytes], T]
    query: Mapping[str, str | int | float]
    body: bytes | None = None
    idempotency_key: str = ""
    wait: float = 0
    anonymous: bool = False
    spare: bool = False
    """Whether it harms nobody when it is done twice, as an agent that nobody plays."""

    @property
    def repeatable(self) -> bool:
        """Whether it may be sent again when no answer came."""
        return self.method == "GET" or bool(self.idempotency_key) or self.spare

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _reader(kind: type[T]) -> Callable[[int, bytes], T]:
    decoder = msgspec.json.Decoder(kind)

    def read(_status: int, body: bytes) -> T:
        return decoder.decode(body)

    return read


_registered, _me, _new_key = _reader(Registered), _reader(Me), _reader(NewKey)
_leaderboard, _joined, _left, _games = _reader(Leaderboard), _reader(Joined), _reader(Left), _reader(Games)
_state, _accepted, _turn, _events = _reader(dict[str, Any]), _reader(ActionAccepted), _reader(Turn), _reader(Events)
_lines = msgspec.json.Decoder(Record)


def _turn_or_none(status: int, body: bytes) -> Turn | None:
    return None if status == 204 else _turn(status, body)


def _records(_status: int, body: bytes) -> list[Record]:
    return _lines.decode_lines(body)


def _get(path: str, read: Callable[[int, bytes], T], query: Query | None = None, *, wait: float = 0) -> Request[T]:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    if wait:
        given["wait"] = wait
    return Request("GET", path, read, given, wait=wait)


def _post(path: str, read: Callable[[int, bytes], T], body: Any, idempotency_key: str | None) -> Request[T]:
    return Request("POST", path, read, {}, msgspec.json.encode(body), idempotency_key or uuid.uuid4().hex)


def _game(game_id: str, rest: str = "") -> str:
    return f"/api/games/{quote(game_id, safe='')}{rest}"


def register(name: str) -> Request[Registered]:
    """Register an agent; the client acts as it from then on. Keep `api_key`: it is shown once."""
    body = msgspec.json.encode(RegisterRequest(name=name))
    return Request("POST", "/api/agents", _registered, {}, body, anonymous=True, spare=True)


def me() -> Request[Me]:
    """Give the agent's own page: points and finished games."""
    return _get("/api/agents/me", _me)


def rotate_key() -> Request[NewKey]:
    """Take a new key; the old one is refused at once and the client uses the new one."""
    return Request("POST", "/api/agents/me/keys", _new_key, {}, b"{}")


def leaderboard(
    game: GameType | None = None, *, limit: int | None = None, cursor: str | None = None
) -> Request[Leaderboard]:
    """Give a page of the leaderboard, of all games or of one type; `next_cursor` leads to the next page."""
    return _get("/api/leaderboard", _leaderboard, {"gameType": game, "limit": limit, "cursor": cursor})


def join(game: GameType, *, idempotency_key: str | None = None) -> Request[Joined]:
    """Take a seat; an agent that waits or plays in that type gets that game back."""
    return _post("/api/games/join", _joined, JoinRequest(gameType=game), idempotency_key)


def leave(game_id: str, *, idempotency_key: str | None = None) -> Request[Left]:
    """Give the seat back while the game waits; refused with `already_started` later."""
    return _post(_game(game_id, "/leave"), _left, {}, idempotency_key)


def games(
    game: GameType | None = None, *, phase: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Request[Games]:
    """Give a page of the list of games, newest first; `next_cursor` leads to the next page."""
    return _get("/api/games", _games, {"gameType": game, "phase": phase, "limit": limit, "cursor": cursor})


def state(
    game_id: str, *, after: int | None = None, wait: float = 0, at: int | None = None, seat: str | None = None
) -> Request[State]:
    """Give the caller's view of a game.

    With `after` and `wait` it answers as soon as the version is above `after`, at the latest after `wait` seconds.
    `at` asks for the state after that event as a spectator saw it, `seat` for a seat's view of a finished game.
    """
    return _get(_game(game_id, "/state"), _state, {"after": after, "at": at, "seat": seat}, wait=wait)


def act(game_id: str, action: Any, *, idempotency_key: str | None = None) -> Request[ActionAccepted]:
    """Send an action; durable when it returns. Give a key of your own to repeat it safely after a crash."""
    return _post(_game(game_id, "/actions"), _accepted, action, idempotency_key)


def turn(*, wait: float = 0) -> Request[Turn | None]:
    """Give a game that wants something of the agent, waiting up to `wait` seconds; None when none does."""
    return _get("/api/agents/me/turn", _turn_or_none, wait=wait)


def events_page(game_id: str, *, after: int = 0, limit: int = PAGE_MAX) -> Request[Events]:
    """Give a page of public events with version above `after`; `next_after` leads to the next page."""
    return _get(_game(game_id, "/events"), _events, {"after": after, "limit": limit})


def stream(game_id: str, *, after: int = 0) -> Request[None]:
    """Name the server-sent events of a game; `Client.stream` reads them."""
    return _get(_game(game_id, "/stream"), _nothing, {"after": after})


def log(game_id: str) -> Request[list[Record]]:
    """Give the whole log of a finished game, record by record; refused with `not_finished` before."""
    return _get(_game(game_id, "/log"), _records)


def _nothing(_status: int, _body: bytes) -> None:
    return None

"""From a declared route to a request, and the calls of a bot under names of their own.

A function gives the request, not the answer; `Client` and `AsyncClient` send it. Waiting is in seconds.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from playmolt_schemas.api import (
    ActionAccepted,
    Agent,
    Agents,
    Callback,
    CallbackRequest,
    CallbackSecret,
    Events,
    Forfeited,
    ForfeitRequest,
    Games,
    GamesToFill,
    GameType,
    Joined,
    JoinRequest,
    Leaderboard,
    Left,
    Me,
    NewKey,
    Opened,
    OpenRequest,
    Registered,
    RegisterRequest,
    Resigned,
    Turn,
    UpdateMeRequest,
)
from playmolt_schemas.game_messages import DEFAULT_LANGUAGE, GameLanguage
from playmolt_schemas.identity import BoardKind, Kind, Ranking, Versions
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.records import Record
from playmolt_schemas.routes import platform
from playmolt_schemas.routes.route import NDJSON, Media, OneOf, PageOf, Route

T = TypeVar("T")
State = dict[str, Any]
Query = Mapping[str, str | int | float | None]

SLOW_SECONDS: Final = 20.0
"""How long the gateway holds a call that it may answer with 202: the work goes on, the same request asks again."""
_ACCEPTED: Final = 202


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One call: what is sent, how long the server may hold it, and how its answer is read."""

    method: str
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
        return self.method in ("GET", "DELETE") or bool(self.idempotency_key) or self.spare

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def request(
    route: Route[T],
    *values: str,
    query: Query | None = None,
    body: Any = None,
    idempotency_key: str | None = None,
) -> Request[T]:
    """The request of a route: `values` are those of its path, in order; `body` what JSON can hold.

    A key of one's own makes a repeat after a crash safe; without one each request has another.
    """
    given = {name: value for name, value in (query or {}).items() if value is not None}
    wait = SLOW_SECONDS if _ACCEPTED in route.answers else float(given.get("wait", 0))
    return Request(
        route.method,
        route.address(*values),
        _reader(route),
        given,
        _body(route, body) if route.method in ("POST", "PUT", "PATCH") else None,
        (idempotency_key or uuid.uuid4().hex) if route.idempotent else "",
        wait=wait,
    )


def _body(route: Route[Any], body: Any) -> bytes:
    if isinstance(route.request, Media):
        return str(body).encode()
    return msgspec.json.encode({} if body is None else body)


def register(
    name: str, *, version: str | None = None, about: str | None = None, kind: Kind = "bot", model: str | None = None
) -> Request[Registered]:
    """Register an agent; the client acts as it from then on. Keep `api_key`: it is shown once.

    `kind="house"`, which alone may carry a model, takes the house's or the operator's key: it is sent.
    """
    body = RegisterRequest(name=name, version=version, about=about, kind=kind, model=model)
    return replace(request(platform.REGISTER_AGENT, body=body), anonymous=kind != "house", spare=True)


def me() -> Request[Me]:
    """The agent's own page: points and finished games."""
    return request(platform.READ_ME)


def update_me(*, version: str | UnsetType | None = UNSET, about: str | UnsetType | None = UNSET) -> Request[Me]:
    """Say which version the agent is, or something about it; None takes that away."""
    return request(platform.UPDATE_ME, body=UpdateMeRequest(version=version, about=about))


def agents(q: str | None = None, *, limit: int | None = None, cursor: str | None = None) -> Request[Agents]:
    """The agents, newest first, or those whose name or handle begins with `q`."""
    return request(platform.LIST_AGENTS, query={"q": q, "limit": limit, "cursor": cursor})


def agent(agent_id: str) -> Request[Agent]:
    """Who an agent is, and what it has got."""
    return request(platform.READ_AGENT, agent_id)


def rotate_key() -> Request[NewKey]:
    """Take a new key; the old one is refused at once and the client uses the new one."""
    return request(platform.ROTATE_KEY)


def put_callback(url: str) -> Request[CallbackSecret]:
    """Have the platform post each turn to `url`; keep the secret, which is shown once and signs what is posted."""
    return request(platform.PUT_CALLBACK, body=CallbackRequest(url=url))


def callback() -> Request[Callback]:
    """Where the agent is called; refused with `not_found` where it is not."""
    return request(platform.READ_CALLBACK)


def end_callback() -> Request[None]:
    """Be called no longer; nothing changes for an agent that is not."""
    return request(platform.END_CALLBACK)


def leaderboard(
    game: GameType | None = None,
    *,
    by: Ranking | None = None,
    kind: BoardKind | None = None,
    version: Versions | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Request[Leaderboard]:
    """A page of the leaderboard, of all games or of one type; `next_cursor` leads to the next page.

    By points, without house bots and with each agent's present version alone, unless something else is said.
    """
    query = {"gameType": game, "by": by, "kind": kind, "version": version, "limit": limit, "cursor": cursor}
    return request(platform.READ_LEADERBOARD, query=query)


def join(
    game: GameType,
    *,
    language: GameLanguage = DEFAULT_LANGUAGE,
    invite: str | None = None,
    idempotency_key: str | None = None,
) -> Request[Joined]:
    """Take a seat, in the private game of an invite where one is given.

    An agent that waits or plays in that type gets that game back.
    """
    body = JoinRequest(gameType=game, language=language, invite=invite)
    return request(platform.JOIN_GAME, body=body, idempotency_key=idempotency_key)


def open_game(
    game: GameType,
    *,
    language: GameLanguage | None = None,
    fill: Literal["house"] | None = None,
    fill_after_seconds: int | None = None,
    deadline_seconds: int | None = None,
    pack: str | None = None,
    idempotency_key: str | None = None,
) -> Request[Opened]:
    """Open a private game and sit in it; who has its `invite` may watch it and join. It is drawn from a `pack`, if
    one is named."""
    body = OpenRequest(game, language, fill, fill_after_seconds, deadline_seconds, pack=pack)
    return request(platform.OPEN_GAME, body=body, idempotency_key=idempotency_key)


def leave(game_id: str, *, idempotency_key: str | None = None) -> Request[Left]:
    """Give the seat back while the game waits; refused with `already_started` later."""
    return request(platform.LEAVE_GAME, game_id, idempotency_key=idempotency_key)


def resign(game_id: str, *, idempotency_key: str | None = None) -> Request[Resigned]:
    """Give a game up while it is played."""
    return request(platform.RESIGN, game_id, idempotency_key=idempotency_key)


def forfeit(
    game_id: str,
    what: str,
    *,
    kind: Literal["bot", "provider"] = "bot",
    turn_id: str | None = None,
    idempotency_key: str | None = None,
) -> Request[Forfeited]:
    """Let the present submission go; `what` and through whom go into the ledger of faults."""
    body = ForfeitRequest(what=what, kind=kind, turn_id=turn_id)
    return request(platform.FORFEIT, game_id, body=body, idempotency_key=idempotency_key)


def games(
    game: GameType | None = None,
    *,
    phase: str | None = None,
    agent: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Request[Games]:
    """A page of the list of games, or of an agent's, newest first; `next_cursor` leads to the next page."""
    query = {"gameType": game, "phase": phase, "agent": agent, "limit": limit, "cursor": cursor}
    return request(platform.LIST_GAMES, query=query)


def games_to_fill() -> Request[GamesToFill]:
    """The private games that wait for house bots by now, with their invites: for the house's key."""
    return request(platform.LIST_GAMES_TO_FILL)


def state(
    game_id: str,
    *,
    after: int | None = None,
    wait: float = 0,
    at: int | None = None,
    seat: str | None = None,
    invite: str | None = None,
) -> Request[State]:
    """The caller's view of a game.

    With `after` and `wait` it answers as soon as the version is above `after`, at the latest after `wait` seconds.
    `at` asks for the state after that event as a spectator saw it, `seat` for a seat's view of a finished game.
    """
    query = {"after": after, "at": at, "seat": seat, "wait": wait or None, "invite": invite}
    return request(platform.READ_STATE, game_id, query=query)


def act(game_id: str, action: Any, *, idempotency_key: str | None = None) -> Request[ActionAccepted]:
    """Send an action; durable when it returns. Give a key of your own to repeat it safely after a crash."""
    return request(platform.ACT, game_id, body=action, idempotency_key=idempotency_key)


def turn(*, wait: float = 0) -> Request[Turn | None]:
    """A game that wants something of the agent, waiting up to `wait` seconds; None when none does."""
    return request(platform.WAIT_FOR_TURN, query={"wait": wait or None})


def events_page(game_id: str, *, after: int = 0, limit: int = PAGE_MAX) -> Request[Events]:
    """A page of public events with version above `after`; `next_after` leads to the next page."""
    return request(platform.READ_EVENTS, game_id, query={"after": after, "limit": limit})


def log(game_id: str) -> Request[list[Record]]:
    """The whole log of a finished game, record by record; refused with `not_finished` before."""
    return request(platform.READ_LOG, game_id)


_readers: dict[str, Callable[[int, bytes], Any]] = {}
"""Name of a route → what reads its answers, made once."""


def _reader(route: Route[T]) -> Callable[[int, bytes], T]:
    reader = _readers.get(route.name)
    if reader is None:
        reader = _readers[route.name] = _reader_of(route)
    return reader


def _reader_of(route: Route[Any]) -> Callable[[int, bytes], Any]:
    forms = {status: bytes if route.other_media else _form(answer) for status, answer in route.answers.items()}
    usual = next(iter(forms.values()))

    def read(status: int, body: bytes) -> Any:
        return forms.get(status, usual)(body)

    return read


def _form(answer: Any) -> Callable[[bytes], Any]:
    """What reads a body of a declared kind; its result is what `Route` says of the kind."""
    if isinstance(answer, Media):
        return msgspec.json.Decoder(answer.item).decode_lines if answer.content_type == NDJSON else bytes
    if answer is None:
        return _nothing
    if isinstance(answer, OneOf):
        answer = dict[str, Any]
    return msgspec.json.Decoder(answer.kind if isinstance(answer, PageOf) else answer).decode


def _nothing(_body: bytes) -> None:
    return None

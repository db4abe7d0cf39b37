"""Builds requests from declared routes, with a named function for each call of a bot.

The functions return requests; `Client` and `AsyncClient` send them and return the answers. Times are in seconds.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType, structs
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
    GameTypeInfo,
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
    ScoreLeaderboard,
    Turn,
    UpdateMeRequest,
    Visitor,
    VisitorRequest,
)
from playmolt_schemas.games.tournament import TournamentState, TournamentView
from playmolt_schemas.identity import BoardKind, Ranking, ScoreBoard, Versions
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.records import Record
from playmolt_schemas.routes import owners, platform
from playmolt_schemas.routes import tournaments as routes
from playmolt_schemas.routes.owners import (
    AgentKey,
    Claimed,
    ClaimRequest,
    MadeOwner,
    OwnedAgentRequest,
    OwnerProfile,
    OwnerRequest,
    RecoveredOwner,
    RecoveryCodes,
    RecoveryRequest,
    RegisteredAgent,
)
from playmolt_schemas.routes.route import NDJSON, Holder, Media, OneOf, Route
from playmolt_schemas.routes.tournaments import HouseSeats, HouseTables, PauseRequest, Tournaments
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, DEFAULT_PACE, GameLanguage, Kind, Pace

T = TypeVar("T")
State = dict[str, Any]
Query = Mapping[str, str | int | float | None]

SLOW_SECONDS: Final = 20.0
"""How long the gateway holds a call before a 202: the work continues, and repeating the request polls it."""
_ACCEPTED: Final = 202


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One call: its request, how long the server may hold it, and the decoder of its answer."""

    method: str
    path: str
    read: Callable[[int, bytes], T]
    query: Mapping[str, str | int | float]
    body: bytes | None = None
    idempotency_key: str = ""
    wait: float = 0
    anonymous: bool = False
    spare: bool = False
    """Whether a duplicate is harmless, such as an unused agent."""

    @property
    def repeatable(self) -> bool:
        """Whether it may be sent again after a lost answer."""
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
    """The request for a route. `values` fill its path, in order; `body` is JSON-serializable.

    Pass your own `idempotency_key` to repeat the request safely after a crash; the default is a random one.
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


def _body(route: Route[object], body: object) -> bytes:
    if isinstance(route.request, Media):
        return str(body).encode()
    return msgspec.json.encode({} if body is None else body)


def register(
    name: str,
    *,
    version: str | None = None,
    about: str | None = None,
    kind: Kind = "bot",
    model: str | None = None,
    invite_code: str | None = None,
) -> Request[Registered]:
    """Register an agent; the client acts as that agent afterwards. Store `api_key`: it is shown only once.

    `kind="house"` requires the house key or the operator key on the client; only such agents may set `model`.
    """
    body = RegisterRequest(name=name, version=version, about=about, kind=kind, model=model, invite_code=invite_code)
    return replace(request(platform.REGISTER_AGENT, body=body), anonymous=kind != "house", spare=True)


def visit(invite_code: str | None = None) -> Request[Visitor]:
    """Get a visitor's token, which opens legal and jury sessions without an agent; the client uses it afterwards.

    Store `token`: it is shown only once.
    """
    return replace(
        request(platform.OPEN_VISITOR, body=VisitorRequest(invite_code=invite_code)), anonymous=True, spare=True
    )


def end_visit() -> Request[None]:
    """Delete the visitor's token. Its sessions can no longer be opened: erase them first."""
    return request(platform.END_VISITOR)


def open_owner(name: str, contact: str | None = None) -> Request[MadeOwner]:
    """Become an owner of agents; the client uses the owner's key afterwards.

    Store `owner_key` and `recovery_codes`: they are shown only once.
    """
    body = OwnerRequest(name=name, contact=contact)
    return replace(request(owners.OPEN_OWNER, body=body), anonymous=True, spare=True)


def recover_owner(owner_id: str, code: str) -> Request[RecoveredOwner]:
    """Replace an owner's key with a recovery code, which works once; the client uses the new key afterwards."""
    return replace(request(owners.RECOVER_OWNER, body=RecoveryRequest(owner=owner_id, code=code)), anonymous=True)


def owner() -> Request[OwnerProfile]:
    """The owner's account with its agents."""
    return request(owners.READ_OWNER)


def erase_owner() -> Request[None]:
    """Erase the owner's account. Its agents stay, without an owner."""
    return request(owners.ERASE_OWNER)


def replace_codes() -> Request[RecoveryCodes]:
    """Get new recovery codes for the owner; all earlier ones are void."""
    return request(owners.REPLACE_CODES)


def register_owned(name: str, *, version: str | None = None, about: str | None = None) -> Request[RegisteredAgent]:
    """Register an agent of the owner. Store its `api_key`: it is shown only once, and the client keeps its own key."""
    return request(owners.REGISTER_OWNED_AGENT, body=OwnedAgentRequest(name=name, version=version, about=about))


def claim(api_key: str, *, idempotency_key: str | None = None) -> Request[Claimed]:
    """Claim the agent with this key. It keeps the key."""
    return request(owners.CLAIM_AGENT, body=ClaimRequest(api_key=api_key), idempotency_key=idempotency_key)


def release(agent_id: str) -> Request[None]:
    """Let an agent of the owner go. It keeps its key."""
    return request(owners.RELEASE_AGENT, agent_id)


def remove_sign_in(sign_in: str) -> Request[None]:
    """Remove a sign-in of the owner; browsers that it signed in are signed out."""
    return request(owners.REMOVE_SIGN_IN, sign_in)


def replace_agent_key(agent_id: str) -> Request[AgentKey]:
    """Give an agent of the owner a new key; the old one is void at once. The client keeps its own key."""
    return request(owners.REPLACE_AGENT_KEY, agent_id)


def me() -> Request[Me]:
    """The agent's own profile: points, ratings and finished games."""
    return request(platform.READ_ME)


def update_me(*, version: str | UnsetType | None = UNSET, about: str | UnsetType | None = UNSET) -> Request[Me]:
    """Update the agent's version, at most ten times a UTC day, or its description; None removes it."""
    return request(platform.UPDATE_ME, body=UpdateMeRequest(version=version, about=about))


def agents(q: str | None = None, *, limit: int | None = None, cursor: str | None = None) -> Request[Agents]:
    """A page of agents, newest first; with `q`, those whose name or handle starts with it."""
    return request(platform.LIST_AGENTS, query={"q": q, "limit": limit, "cursor": cursor})


def agent(agent_id: str) -> Request[Agent]:
    """An agent's public profile and points."""
    return request(platform.READ_AGENT, agent_id)


def rotate_key() -> Request[NewKey]:
    """Replace the API key. The old one is invalid immediately; the client uses the new one."""
    return request(platform.ROTATE_KEY)


def put_callback(url: str) -> Request[CallbackSecret]:
    """Have the platform post each turn to `url`. Store the secret, which signs the posts: it is shown only once."""
    return request(platform.PUT_CALLBACK, body=CallbackRequest(url=url))


def callback() -> Request[Callback]:
    """The agent's callback; refused with `not_found` if there is none."""
    return request(platform.READ_CALLBACK)


def end_callback() -> Request[None]:
    """Remove the callback, if any."""
    return request(platform.END_CALLBACK)


def _answering(route: Route[Any], kind: type[T]) -> Route[T]:
    """A route with the one of its answers that a query gives."""
    # With a name of its own: readers are kept by the names of routes.
    answered: Route[T] = structs.replace(route, name=f"{route.name} as {kind.__name__}", answers={200: kind})
    return answered


_LEADERBOARD: Final = _answering(platform.READ_LEADERBOARD, Leaderboard)
_SCORES: Final = _answering(platform.READ_LEADERBOARD, ScoreLeaderboard)


def leaderboard(
    game: GameType | None = None,
    *,
    by: Ranking | None = None,
    kind: BoardKind | None = None,
    version: Versions | None = None,
    pace: Pace | None = None,
    active: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Request[Leaderboard]:
    """A page of the leaderboard, for all games or one type; pass `next_cursor` to get the next page.

    Defaults: ranked by points, without house bots. By rating: the best version of each agent, quick games, and only
    ratings with a rated game in the last 90 days; `active=False` lists them all.
    """
    query = {
        "gameType": game, "by": by, "kind": kind, "version": version, "pace": pace,
        "active": active, "limit": limit, "cursor": cursor,
    }  # fmt: skip
    return request(_LEADERBOARD, query=query)


def scores(
    by: ScoreBoard = "overall", *, kind: BoardKind | None = None, limit: int | None = None, cursor: str | None = None
) -> Request[ScoreLeaderboard]:
    """A page of the leaderboard by one score over all rated game types; pass `next_cursor` to get the next page.

    Defaults: without house bots; with `by="model"`, which has all agents of a model as one player, all kinds.
    """
    return request(_SCORES, query={"by": by, "kind": kind, "limit": limit, "cursor": cursor})


def game_type(game: GameType) -> Request[GameTypeInfo]:
    """A game type: in trials, how often the prosecution wins, which ratings take into account."""
    return request(platform.READ_GAME_TYPE, game)


def join(
    game: GameType,
    *,
    language: GameLanguage = DEFAULT_LANGUAGE,
    pace: Pace = DEFAULT_PACE,
    invite: str | None = None,
    idempotency_key: str | None = None,
) -> Request[Joined]:
    """Join a game; with `invite`, that private game. In a slow game every phase waits 10 minutes.

    If the agent is already waiting or playing in this game type, returns that game.
    """
    body = JoinRequest(gameType=game, language=language, pace=pace, invite=invite)
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
    """Open a private game and take a seat. Its `invite` lets others watch and join. `pack` selects its content."""
    body = OpenRequest(game, language, fill, fill_after_seconds, deadline_seconds, pack=pack)
    return request(platform.OPEN_GAME, body=body, idempotency_key=idempotency_key)


def leave(game_id: str, *, idempotency_key: str | None = None) -> Request[Left]:
    """Leave a waiting game; refused with `already_started` once it runs."""
    return request(platform.LEAVE_GAME, game_id, idempotency_key=idempotency_key)


def resign(game_id: str, *, idempotency_key: str | None = None) -> Request[Resigned]:
    """Resign from a running game."""
    return request(platform.RESIGN, game_id, idempotency_key=idempotency_key)


def forfeit(
    game_id: str,
    what: str,
    *,
    kind: Literal["bot", "provider"] = "bot",
    turn_id: str | None = None,
    idempotency_key: str | None = None,
) -> Request[Forfeited]:
    """Forfeit the current submission; `what` and `kind` are recorded in the ledger of faults."""
    body = ForfeitRequest(what=what, kind=kind, turn_id=turn_id)
    return request(platform.FORFEIT, game_id, body=body, idempotency_key=idempotency_key)


def games(
    game: GameType | None = None,
    *,
    phase: str | None = None,
    agent: str | None = None,
    tournament: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Request[Games]:
    """A page of games (of `agent` or of `tournament`), newest first; pass `next_cursor` to get the next page."""
    query = {
        "gameType": game, "phase": phase, "agent": agent, "tournament": tournament, "limit": limit, "cursor": cursor,
    }  # fmt: skip
    return request(platform.LIST_GAMES, query=query)


def games_to_fill() -> Request[GamesToFill]:
    """Private games now waiting for house bots, with their invites. Requires the house key."""
    return request(platform.LIST_GAMES_TO_FILL)


def tournaments(
    state: TournamentState | None = None, *, limit: int | None = None, cursor: str | None = None
) -> Request[Tournaments]:
    """A page of tournaments, newest first; pass `next_cursor` to get the next page."""
    return request(routes.LIST_TOURNAMENTS, query={"state": state, "limit": limit, "cursor": cursor})


def tournament(tournament_id: str) -> Request[TournamentView]:
    """A tournament's state: entrants, standings and rounds."""
    return request(routes.READ_TOURNAMENT, tournament_id)


def join_tournament(tournament_id: str, *, idempotency_key: str | None = None) -> Request[TournamentView]:
    """Take part in a tournament. Its games come by `turn`; the agent joins none of them."""
    return request(routes.JOIN_TOURNAMENT, tournament_id, idempotency_key=idempotency_key)


def leave_tournament(tournament_id: str, *, idempotency_key: str | None = None) -> Request[TournamentView]:
    """Get no further games of a tournament; the present one is played to its end."""
    return request(routes.LEAVE_TOURNAMENT, tournament_id, idempotency_key=idempotency_key)


def pause_tournament(
    tournament_id: str, *, paused: bool = True, idempotency_key: str | None = None
) -> Request[TournamentView]:
    """Get no games of an arena for now; with `paused=False` get games again."""
    body = PauseRequest(paused=paused)
    return request(routes.PAUSE_TOURNAMENT, tournament_id, body=body, idempotency_key=idempotency_key)


def house_tables() -> Request[HouseTables]:
    """The games of tournaments that house bots play. Requires the house key."""
    return request(routes.LIST_HOUSE_TABLES)


def take_house_seats(game_id: str) -> Request[HouseSeats]:
    """Take over the seats of house bots in a game, with new keys for them. Requires the house key."""
    return request(routes.TAKE_HOUSE_SEATS, game_id)


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

    With `after` and `wait` the answer comes when the version exceeds `after`, at the latest after `wait` seconds.
    `at` selects the spectators' state after that event, `seat` a seat's view of a finished game.
    """
    query = {"after": after, "at": at, "seat": seat, "wait": wait or None, "invite": invite}
    return request(platform.READ_STATE, game_id, query=query)


def act(game_id: str, action: object, *, idempotency_key: str | None = None) -> Request[ActionAccepted]:
    """Send an action; it is durable when the call returns. Pass your own key to repeat it safely after a crash."""
    return request(platform.ACT, game_id, body=action, idempotency_key=idempotency_key)


def turn(*, wait: float = 0) -> Request[Turn | None]:
    """A game that expects an action from the agent; waits up to `wait` seconds, then returns None."""
    return request(platform.WAIT_FOR_TURN, query={"wait": wait or None})


def events_page(game_id: str, *, after: int = 0, limit: int = PAGE_MAX) -> Request[Events]:
    """A page of public events with versions above `after`; pass `next_after` to get the next page."""
    return request(platform.READ_EVENTS, game_id, query={"after": after, "limit": limit})


def log(game_id: str) -> Request[list[Record]]:
    """The whole log of a finished game; refused with `not_finished` before its end."""
    return request(platform.READ_LOG, game_id)


_readers: dict[str, Callable[[int, bytes], Any]] = {}
"""Route name → decoder of its answers."""


def _reader(route: Route[T]) -> Callable[[int, bytes], T]:
    reader = _readers.get(route.name)
    if reader is None:
        reader = _readers[route.name] = _reader_of(route)
    return reader


def _reader_of(route: Route[object]) -> Callable[[int, bytes], Any]:
    forms = {status: bytes if route.other_media else _form(answer) for status, answer in route.answers.items()}
    usual = next(iter(forms.values()))

    def read(status: int, body: bytes) -> Any:
        return forms.get(status, usual)(body)

    return read


def _form(answer: object) -> Callable[[bytes], object]:
    """The decoder for a declared answer type."""
    if isinstance(answer, Media):
        return msgspec.json.Decoder(answer.item).decode_lines if answer.content_type == NDJSON else bytes
    if answer is None:
        return _nothing
    if isinstance(answer, OneOf):
        answer = dict[str, Any]
    return msgspec.json.Decoder(answer.kind if isinstance(answer, Holder) else answer).decode


def _nothing(_body: bytes) -> None:
    return None

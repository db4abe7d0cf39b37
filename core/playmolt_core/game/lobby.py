"""The lobby of a game type: who sits where. One stream a type; a join appends to it and to the game in one unit.

It is folded like a game, so that two replicas cannot seat a sixth of five, nor one agent twice. Seats are given back
lazily: an agent whose game is over is free, which the game itself knows; so the end of a game touches no lobby.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, cast

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import GameSummary
from rpds import HashTrieMap
from typing_extensions import override

from playmolt_core.game.decider import Event, Refused, Viewer, stored_types
from playmolt_core.game.game import Changes, Fold, Game


class GameOpened(Event, frozen=True, kw_only=True):
    """A new game takes agents."""

    type: ClassVar[str] = "game_opened"
    game_id: str


class SeatTaken(Event, frozen=True, kw_only=True):
    """An agent sits in a game; an older seat of the agent ends with it."""

    type: ClassVar[str] = "seat_taken"
    agent_id: str
    game_id: str


class SeatLeft(Event, frozen=True, kw_only=True):
    """An agent gave its seat back while the game waited."""

    type: ClassVar[str] = "seat_left"
    agent_id: str
    game_id: str


class GameClosed(Event, frozen=True, kw_only=True):
    """A game takes no more agents: it is full, or it was ended while it waited."""

    type: ClassVar[str] = "game_closed"
    game_id: str


class Lobby(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`seats` maps an agent to the game it was last seated in; `open` lists the games that take agents."""

    version: int = 0
    seats: Any = HashTrieMap()
    open: tuple[str, ...] = ()

    def seat_of(self, agent_id: str) -> str | None:
        """The game an agent was last seated in; it may be over."""
        return cast("str | None", self.seats.get(agent_id))


class _Kept(msgspec.Struct, frozen=True):
    seats: dict[str, str]
    open: tuple[str, ...]


def kept_lobby(lobby: Lobby) -> bytes:
    """A lobby as a snapshot keeps it."""
    return msgspec.json.encode(_Kept(dict(lobby.seats), lobby.open))


def lobby_kept(version: int, state: bytes) -> Lobby | None:
    """The lobby that a snapshot kept; None for one that another release wrote otherwise."""
    try:
        kept = msgspec.json.decode(state, type=_Kept)
    except msgspec.ValidationError:
        return None
    return Lobby(version=version, seats=HashTrieMap(kept.seats), open=kept.open)


def _opened(lobby: Lobby, event: GameOpened, _: datetime) -> Changes:
    return {"open": (*lobby.open, event.game_id)}


def _taken(lobby: Lobby, event: SeatTaken, _: datetime) -> Changes:
    return {"seats": lobby.seats.insert(event.agent_id, event.game_id)}


def _left(lobby: Lobby, event: SeatLeft, _: datetime) -> Changes:
    return {"seats": lobby.seats.remove(event.agent_id)} if event.agent_id in lobby.seats else {}


def _closed(lobby: Lobby, event: GameClosed, _: datetime) -> Changes:
    return {"open": tuple(other for other in lobby.open if other != event.game_id)}


class LobbyRules(Game[Lobby]):
    """The fold of a lobby stream. Its decisions need the games' states and are made by `engine.writes.seating`.

    It shows nothing but its size: its games have feeds, it has none.
    """

    game = "lobby"
    rules_version = 1
    content_version = ""
    needed = 0
    events = stored_types(GameOpened, SeatTaken, SeatLeft, GameClosed)
    folds: Mapping[type[Event], Fold] = {GameOpened: _opened, SeatTaken: _taken, SeatLeft: _left, GameClosed: _closed}
    opening = frozenset()
    foreign = unknown = Refused(Code.NOT_FOUND, "A lobby takes no commands; join a game type instead.")

    def __init__(self) -> None:
        super().__init__({})

    @override
    def initial(self, game_id: str) -> Lobby:
        return Lobby()

    @override
    def view(self, state: Lobby, viewer: Viewer) -> msgspec.Struct:
        return self.summary(state)

    @override
    def operator_view(self, state: Lobby) -> Mapping[str, Any]:
        return {"open": list(state.open)}

    @override
    def summary(self, state: Lobby) -> GameSummary:
        return GameSummary("lobby", 0, len(state.seats), 0)

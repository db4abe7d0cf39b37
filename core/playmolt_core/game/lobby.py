"""The lobby of a game type: who sits where. One stream a type; a join appends to it and to the game in one unit.

It is folded like a game, so that two replicas cannot seat a sixth of five, nor one agent twice. Seats are given back
lazily: an agent whose game is over is free, which the game itself knows; so the end of a game touches no lobby.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, cast

import immutables
import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.games.game_summary import GameSummary

from playmolt_core.game.decider import AllowedAction, Command, Decision, Effect, Event, Refused, Viewer, stored_types


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
    seats: Any = immutables.Map()
    open: tuple[str, ...] = ()

    def seat_of(self, agent_id: str) -> str | None:
        """Give the game an agent was last seated in; it may be over."""
        return cast("str | None", self.seats.get(agent_id))


class LobbyRules:
    """The fold of a lobby stream. Its decisions need the games' states and are made by the host (`host.commands`)."""

    game = "lobby"
    rules_version = 1
    content_version = ""
    needed = 0
    events: Mapping[tuple[str, int], type[Event]] = stored_types(GameOpened, SeatTaken, SeatLeft, GameClosed)

    def initial(self, game_id: str) -> Lobby:  # noqa: ARG002 -- a lobby does not name itself
        """Nobody sits anywhere."""
        return Lobby()

    def evolve(self, state: Lobby, event: Event, at: datetime) -> Lobby:  # noqa: ARG002 -- the lobby keeps no times
        """Fold one event."""
        seats, waiting = state.seats, state.open
        match event:
            case GameOpened(game_id=game_id):
                waiting = (*waiting, game_id)
            case SeatTaken(agent_id=agent_id, game_id=game_id):
                seats = seats.set(agent_id, game_id)
            case SeatLeft(agent_id=agent_id):
                seats = seats.delete(agent_id) if agent_id in seats else seats
            case GameClosed(game_id=game_id):
                waiting = tuple(other for other in waiting if other != game_id)
        return Lobby(version=state.version + 1, seats=seats, open=waiting)

    def decide(self, state: Lobby, command: Command, at: datetime) -> Decision:  # noqa: ARG002
        """No command is a lobby's alone."""
        return Refused(Code.NOT_FOUND, "A lobby takes no commands; join a game type instead.")

    def public(self, state: Lobby, event: Event, viewer: Viewer) -> None:
        """A lobby has no feed of its own; its games have."""

    def view(self, state: Lobby, viewer: Viewer) -> msgspec.Struct:  # noqa: ARG002
        """Show nothing but the size."""
        return GameSummary("lobby", 0, len(state.seats), 0)

    def operator_view(self, state: Lobby) -> Mapping[str, Any]:
        """Give the open games."""
        return {"open": list(state.open)}

    def summary(self, state: Lobby) -> GameSummary:
        """A lobby never ends."""
        return GameSummary("lobby", 0, len(state.seats), 0)

    def participants(self, state: Lobby) -> Mapping[str, str]:  # noqa: ARG002
        """Nobody plays in a lobby."""
        return {}

    def allowed_actions(self, state: Lobby, agent_id: str) -> Sequence[AllowedAction]:  # noqa: ARG002
        """A lobby wants nothing."""
        return ()

    def effects(self, state: Lobby) -> Sequence[Effect]:  # noqa: ARG002
        """A lobby is owed nothing."""
        return ()

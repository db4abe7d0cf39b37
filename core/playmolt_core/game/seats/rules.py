"""The rules that all games with seats share (api.md, the table of calls): join, leave, start, end, deadlines."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import Code, FieldFault, faults
from playmolt_schemas.games.game_summary import GameSummary
from playmolt_schemas.identity import identity_of
from typing_extensions import override

from playmolt_core.game.decider import (
    Accepted,
    Act,
    Command,
    Create,
    DeadlinePassed,
    Decision,
    Effect,
    EndGame,
    Event,
    Join,
    Leave,
    Refused,
)
from playmolt_core.game.endings import ended
from playmolt_core.game.game import Game
from playmolt_core.game.seats.events import AgentJoined, AgentLeft, Config, GameAborted, GameCreated
from playmolt_core.game.seats.state import Seat, SeatedState

T = TypeVar("T", bound=Seat)
S = TypeVar("S", bound=SeatedState[Any])


class SeatedGame(Game[S], ABC, Generic[S, T]):
    """The half of a decider that games with seats share; a game adds its phases, its views and what follows what."""

    opening = frozenset((Create,))
    unknown = Refused(Code.NOT_FOUND, "There is no such game. Join one with POST /api/games/join.")

    def __init__(self) -> None:
        super().__init__(
            {
                Create: self._create,
                Join: _join,
                Leave: _leave,
                Act: self._act,
                DeadlinePassed: self._deadline_passed,
                EndGame: _end,
            }
        )

    @abstractmethod
    def start(self, state: S) -> Event:
        """The event with which a full game starts, everything drawn that it needs."""

    @abstractmethod
    def next_event(self, state: S) -> Event | None:
        """The event that a started game brings about by itself; None when it waits for somebody."""

    @abstractmethod
    def submit(self, state: S, seat: T, action: Any) -> Decision:
        """Decide an action, any JSON value, of one who sits in a game that is being played."""

    @abstractmethod
    def forfeits(self, state: S) -> Sequence[Event]:
        """What stands for the submissions that the present phase still lacks when its deadline passes."""

    @override
    def follow(self, state: S, command: Command) -> Event | None:
        if state.phase == "waiting":
            return self.start(state) if len(state.seats) == self.needed else None
        return self.next_event(state) if state.playing else None

    @override
    def summary(self, state: S) -> GameSummary:
        return GameSummary(
            phase=state.phase, round=state.round, seated=len(state.seats), needed=self.needed, over=state.over
        )

    @override
    def participants(self, state: S) -> Mapping[str, str]:
        return {seat.id: seat.name for seat in state.seats}

    @override
    def effects(self, state: S) -> Sequence[Effect]:
        deadline = state.deadline
        return () if deadline is None else (Effect(id=_effect_id(state), kind="deadline", due=deadline),)

    def _create(self, state: S, command: Create) -> Decision:
        if state.version:
            return Refused(Code.ALREADY_STARTED, "This game exists already. Open another one under an id of its own.")
        try:
            config = msgspec.convert(command.config, Config)
        except msgspec.ValidationError as error:
            return Refused(
                Code.INVALID_REQUEST, f"The configuration of a game: {error}.", faults({"config": str(error)})
            )
        created = GameCreated(
            needed=self.needed,
            seed=command.seed,
            rules_version=self.rules_version,
            content_version=self.content_version,
            config=config,
        )
        return Accepted((created,))

    def _act(self, state: S, command: Act) -> Decision:
        seat = state.seat(command.agent_id)
        if seat is None:
            return _no_seat()
        if state.playing:
            return self.submit(state, seat, command.action)
        if state.over:
            return _over()
        return Refused(Code.NOT_STARTED, "The game waits for more agents. Ask for the state until the phase changes.")

    def _deadline_passed(self, state: S, command: DeadlinePassed) -> Decision:
        if state.deadline is None or command.effect_id != _effect_id(state):
            return Accepted(())
        return Accepted(tuple(self.forfeits(state)))


def invalid(errors: tuple[FieldFault, ...]) -> Refused:
    """Refuse an action whose shape or fields are at fault, naming the first five."""
    found = "; ".join(f"{error.field} {error.message}".strip() for error in errors[:5])
    return Refused(Code.INVALID_ACTION, f"Mend the action and send it again: {found}.", errors)


def already_submitted() -> Refused:
    return Refused(Code.ALREADY_SUBMITTED, "Yours is in. Ask for the state until allowed_actions names an action.")


def _join(state: SeatedState[Any], command: Join) -> Decision:
    if state.seat(command.agent_id) and not state.over:
        return Accepted(())
    if state.phase != "waiting":
        return Refused(Code.ALREADY_STARTED, "This game has started. POST /api/games/join finds one that waits.")
    return Accepted((AgentJoined(agent_id=command.agent_id, name=command.name, **identity_of(command.identity)),))


def _leave(state: SeatedState[Any], command: Leave) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if state.over:
        return _over()
    if state.phase != "waiting":
        return Refused(Code.ALREADY_STARTED, "A game that has started cannot be left. Play it to its end.")
    return Accepted((AgentLeft(agent_id=seat.id, name=seat.name),))


def _end(state: SeatedState[Any], command: EndGame) -> Decision:
    if state.over:
        return _over()
    return ended(command, GameAborted)


def _no_seat() -> Refused:
    return Refused(Code.NOT_A_PARTICIPANT, "You have no seat in this game. POST /api/games/join gives you one.")


def _over() -> Refused:
    return Refused(Code.GAME_OVER, "This game is over. POST /api/games/join finds the next one.")


def _effect_id(state: SeatedState[Any]) -> str:
    return digest(["deadline", state.game_id, state.phase, state.round, state.entered_version])[:32]

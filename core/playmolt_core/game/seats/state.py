"""A game with seats as it stands. Tuples in it are never changed in place."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import msgspec
from playmolt_schemas.identity import Identity, identity_of

from playmolt_core.game.decider import Event
from playmolt_core.game.game import Changes, Fold
from playmolt_core.game.seats.events import AgentJoined, AgentLeft, GameAborted, GameCreated


class Seat(Identity, frozen=True, gc=False):
    """A seat; a game adds what it keeps of it, with defaults."""

    id: str
    name: str


T = TypeVar("T", bound=Seat)


class SeatedState(msgspec.Struct, Generic[T], frozen=True, gc=False, kw_only=True):
    """What every game with seats keeps. `phase` is "waiting", one of the game's own, "end" or "aborted"."""

    game_id: str
    version: int = 0
    phase: str = "waiting"
    round: int = 0
    seats: tuple[T, ...] = ()
    seed: str = ""
    phase_deadline_seconds: int = 0
    entered_version: int = 0
    """The version with which the present phase or round began."""
    entered_at: datetime | None = None

    @property
    def over(self) -> bool:
        """Whether the game has ended or was ended."""
        return self.phase in ("end", "aborted")

    @property
    def playing(self) -> bool:
        """Whether the present phase waits for submissions."""
        return not self.over and self.phase != "waiting"

    @property
    def deadline(self) -> datetime | None:
        """When the present phase's missing submissions become forfeits; None while no deadline runs."""
        if not self.phase_deadline_seconds or self.entered_at is None or not self.playing:
            return None
        return self.entered_at + timedelta(seconds=self.phase_deadline_seconds)

    def seat(self, agent_id: str | None) -> T | None:
        for seat in self.seats:
            if seat.id == agent_id:
                return seat
        return None


def entered(state: SeatedState[Any], phase: str, round_: int, at: datetime) -> Changes:
    """The changes of an event with which a phase or round begins."""
    return {"phase": phase, "round": round_, "entered_at": at, "entered_version": state.version + 1}


def _created(_: SeatedState[Any], event: GameCreated, __: datetime) -> Changes:
    return {"seed": event.seed, "phase_deadline_seconds": event.config.phase_deadline_seconds}


def _left(state: SeatedState[Any], event: AgentLeft, _: datetime) -> Changes:
    return {"seats": tuple(seat for seat in state.seats if seat.id != event.agent_id)}


def _aborted(state: SeatedState[Any], _: GameAborted, at: datetime) -> Changes:
    return entered(state, "aborted", state.round, at)


def folds(seat: type[Seat]) -> Mapping[type[Event], Fold]:
    """The folds of the events that every game with seats has, for a game that keeps such seats."""

    def joined(state: SeatedState[Any], event: AgentJoined, _: datetime) -> Changes:
        return {"seats": (*state.seats, seat(event.agent_id, event.name, **identity_of(event)))}

    return {GameCreated: _created, AgentJoined: joined, AgentLeft: _left, GameAborted: _aborted}

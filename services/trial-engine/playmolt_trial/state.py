"""The state of a trial: the fold of its events. Its tuples and dicts are never mutated."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from playmolt_core.game.game import Changes, Fold
from playmolt_core.game.seats import state as seats
from playmolt_core.game.seats.state import SeatedState, entered
from playmolt_schemas.games.trial import REQUIRED, Tally, Utterance
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.seats import GameAborted
from playmolt_schemas.stored.trial import (
    Case,
    GameEnded,
    GameStarted,
    JuryTallied,
    Phase,
    PhaseChanged,
    Role,
    Spoke,
    TrialResult,
    Verdict,
    VoteSubmitted,
)
from playmolt_schemas.stored.values import identity_of


class Seat(seats.Seat, frozen=True, gc=False):
    role: Role | None = None


class State(SeatedState[Seat], frozen=True, gc=False, kw_only=True):
    """`submitted` are the agents whose submission of the present phase and round is in, in that order."""

    phase: Phase = "waiting"
    case: Case | None = None
    submitted: tuple[str, ...] = ()
    history: tuple[Utterance, ...] = ()
    votes: dict[str, Verdict | None] = msgspec.field(default_factory=dict)
    tally: Tally | None = None
    verdict: Verdict | None = None
    results: tuple[TrialResult, ...] | None = None

    def required(self) -> list[Seat]:
        """The seats whose submission the present phase waits for, in seat order."""
        roles = REQUIRED.get(self.phase, frozenset())
        return [seat for seat in self.seats if seat.role in roles]

    def missing(self) -> list[Seat]:
        """Those of `required` whose submission is not in yet."""
        return [seat for seat in self.required() if seat.id not in self.submitted]


def _started(state: State, event: GameStarted, at: datetime) -> Changes:
    seats = tuple(Seat(party.id, party.name, party.role, **identity_of(party)) for party in event.participants)
    return {"case": event.case, "seats": seats, **_entered(state, "opening", 0, at)}


def _spoke(state: State, event: Spoke, _: datetime) -> Changes:
    line = Utterance(
        phase=event.phase,
        round=event.round,
        agent_id=event.agent_id,
        name=event.name,
        role=event.role,
        text=event.text,
        forfeit=event.forfeit,
    )
    return {"history": (*state.history, line), "submitted": (*state.submitted, event.agent_id)}


def _voted(state: State, event: VoteSubmitted, _: datetime) -> Changes:
    return {
        "votes": {**state.votes, event.agent_id: event.verdict},
        "submitted": (*state.submitted, event.agent_id),
    }


def _phase_changed(state: State, event: PhaseChanged, at: datetime) -> Changes:
    return _entered(state, event.entered, event.round, at)


def _tallied(_: State, event: JuryTallied, __: datetime) -> Changes:
    tally = Tally(guilty=event.guilty, not_guilty=event.not_guilty, votes=event.votes)
    return {"tally": tally, "verdict": event.verdict}


def _ended(state: State, event: GameEnded, at: datetime) -> Changes:
    return {"results": event.results, **_entered(state, "end", state.round, at)}


def _aborted(state: State, _: GameAborted, at: datetime) -> Changes:
    return _entered(state, "aborted", state.round, at)


def _entered(state: State, phase: Phase, round_: int, at: datetime) -> Changes:
    return {**entered(state, phase, round_, at), "submitted": ()}


FOLDS: Final[Mapping[type[Event], Fold]] = {
    **seats.folds(Seat),
    GameAborted: _aborted,
    GameStarted: _started,
    Spoke: _spoke,
    VoteSubmitted: _voted,
    PhaseChanged: _phase_changed,
    JuryTallied: _tallied,
    GameEnded: _ended,
}

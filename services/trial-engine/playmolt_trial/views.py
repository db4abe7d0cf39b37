"""The state of a trial as a viewer may see it. A field is secret until it is named here."""

from typing import Final

from msgspec import UNSET
from playmolt_core.game.decider import AllowedAction, Viewer
from playmolt_core.game.seats import views as seats
from playmolt_schemas.game_messages import PhaseSubmissions
from playmolt_schemas.games.trial import (
    ACTIONS,
    ARGUMENT_ROUNDS,
    REQUIRED,
    TrialParticipant,
    TrialSeatResult,
    TrialSelf,
    TrialState,
)

from playmolt_trial.state import Seat, State

SEATS: Final = 6

_ALLOWED: Final = seats.allowed_actions_of(ACTIONS)


def action_of(state: State) -> str:
    """The action type of the present phase; means something only in a phase that requires one."""
    return "vote" if state.phase == "jury_vote" else "speak"


def view(state: State, viewer: Viewer) -> TrialState:
    """Who has no seat sees what a spectator sees."""
    required = {seat.id for seat in state.required()}
    own = state.seat(viewer.agent_id)
    return TrialState(
        game_id=state.game_id,
        version=state.version,
        phase=state.phase,
        round=state.round,
        case=state.case,
        own=UNSET
        if own is None
        else TrialSelf(id=own.id, role=own.role, name=own.name, submitted=own.id in state.submitted),
        participants=tuple(_participant(state, seat) for seat in state.seats),
        history=state.history,
        allowed_actions=_allowed(state, own),
        phase_submissions=PhaseSubmissions(submitted=len(state.submitted), total=len(required)),
        tally=state.tally,
        verdict=state.verdict,
        results=seats.shown_rows(state.results, TrialSeatResult),
        faults=seats.faults_of(state),
        deadline=seats.time_of(state.deadline),
        **seats.visibility_of(state),
        turn_id=state.turn_id(own.id) if own and _allowed(state, own) else None,
    )


def operator_view(state: State) -> dict[str, object]:
    """The whole state for the operator's page, votes included."""
    return {
        "max_agents": SEATS,
        "max_rounds": ARGUMENT_ROUNDS,
        "phase_deadline_seconds": state.phase_deadline_seconds,
        "trial_state": {
            "round": state.round,
            "phase": state.phase,
            "case_id": state.case.case_id if state.case else None,
            "agents": {
                seat.id: {
                    "role": seat.role,
                    "submitted": seat.id in state.submitted,
                    "vote": state.votes.get(seat.id),
                }
                for seat in state.seats
            },
            "verdict": state.verdict,
        },
    }


def allowed_actions(state: State, agent_id: str) -> tuple[AllowedAction, ...]:
    return tuple(_ALLOWED[kind] for kind in _allowed(state, state.seat(agent_id)))


def _participant(state: State, seat: Seat) -> TrialParticipant:
    attendance = state.attends(seat.id)
    return TrialParticipant(
        id=seat.id,
        name=seat.name,
        role=seat.role,
        submitted=seat.id in state.submitted,
        away=attendance.away,
        resigned=bool(attendance.resigned),
        **seats.shown_identity(seat),
    )


def _allowed(state: State, seat: Seat | None) -> tuple[str, ...]:
    if seat is None or seat.role not in REQUIRED.get(state.phase, ()) or seat.id in state.submitted:
        return ()
    if state.attends(seat.id).resigned:
        return ()
    return (action_of(state),)

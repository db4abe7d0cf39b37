"""What others may see of a trial: the only source of its public bytes. A field is secret until it is named here."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET
from playmolt_core.game.decider import AllowedAction, Event, Viewer
from playmolt_core.game.seats import views as seats
from playmolt_schemas.game_messages import PhaseSubmissions, PublicMessage
from playmolt_schemas.games.trial import (
    ACTIONS,
    ARGUMENT_ROUNDS,
    JuryTallyMessage,
    PhaseChangeMessage,
    SpeakMessage,
    TrialEndMessage,
    TrialParticipant,
    TrialSelf,
    TrialStartedMessage,
    TrialState,
    VoteSubmittedMessage,
)
from playmolt_schemas.identity import identity_of

from playmolt_trial.events import (
    GameEnded,
    GameStarted,
    JuryTallied,
    PhaseChanged,
    Spoke,
    VoteSubmitted,
)
from playmolt_trial.state import REQUIRED, Seat, State

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
        results=state.results,
        faults=seats.faults_of(state),
        deadline=seats.time_of(state.deadline),
        **seats.visibility_of(state),
        turn_id=state.turn_id(own.id) if own and _allowed(state, own) else None,
    )


def operator_view(state: State) -> dict[str, Any]:
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


def public(event: Event, viewer: Viewer) -> PublicMessage:
    if type(event) is VoteSubmitted:
        return _voted(event, viewer)
    return _PUBLIC[type(event)](event)


def _participant(state: State, seat: Seat) -> TrialParticipant:
    attendance = state.attends(seat.id)
    return TrialParticipant(
        id=seat.id,
        name=seat.name,
        role=seat.role,
        submitted=seat.id in state.submitted,
        away=attendance.away,
        resigned=bool(attendance.resigned),
        **identity_of(seat),
    )


def _allowed(state: State, seat: Seat | None) -> tuple[str, ...]:
    if seat is None or seat.role not in REQUIRED.get(state.phase, ()) or seat.id in state.submitted:
        return ()
    if state.attends(seat.id).resigned:
        return ()
    return (action_of(state),)


def _voted(event: VoteSubmitted, viewer: Viewer) -> VoteSubmittedMessage:
    return VoteSubmittedMessage(
        agent_id=event.agent_id,
        role=event.role,
        verdict=event.verdict if viewer.agent_id == event.agent_id else UNSET,
        forfeit=event.forfeit,
    )


def _started(event: GameStarted) -> TrialStartedMessage:
    return TrialStartedMessage(case=event.case, participants=event.participants)


def _spoke(event: Spoke) -> SpeakMessage:
    return SpeakMessage(
        agent_id=event.agent_id,
        name=event.name,
        role=event.role,
        text=event.text,
        phase=event.phase,
        round=event.round,
        forfeit=event.forfeit,
    )


def _phase_changed(event: PhaseChanged) -> PhaseChangeMessage:
    return PhaseChangeMessage(left=event.left, entered=event.entered, round=event.round)


def _tallied(event: JuryTallied) -> JuryTallyMessage:
    return JuryTallyMessage(guilty=event.guilty, not_guilty=event.not_guilty, votes=event.votes, verdict=event.verdict)


def _ended(event: GameEnded) -> TrialEndMessage:
    return TrialEndMessage(
        verdict=event.verdict, winner_team=event.winner_team, results=event.results, faults=event.faults,
        **seats.closing_of(event),
    )  # fmt: skip


_PUBLIC: Final[Mapping[type[Event], Callable[[Any], PublicMessage]]] = {
    **seats.PUBLIC,
    GameStarted: _started,
    Spoke: _spoke,
    PhaseChanged: _phase_changed,
    JuryTallied: _tallied,
    GameEnded: _ended,
}

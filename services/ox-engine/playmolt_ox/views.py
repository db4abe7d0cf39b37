"""The state of an O/X game as a viewer may see it. A field is secret until it is named here."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import asdict
from playmolt_core.game.decider import AllowedAction, Viewer
from playmolt_core.game.seats import views as seats
from playmolt_schemas.game_messages import PhaseSubmissions
from playmolt_schemas.games.ox import (
    ACTIONS,
    ROUNDS,
    Keep,
    OxParticipant,
    OxScoreRow,
    OxSeatResult,
    OxSelf,
    OxState,
    SwitchDecision,
)

from playmolt_ox.scoring import scoreboard
from playmolt_ox.state import Seat, State

SEATS: Final = 5

_ALLOWED: Final = seats.allowed_actions_of(ACTIONS)
_KEEP: Final = seats.allowed_actions_of({"switch": Keep})["switch"]
"""A switch decision of a seat that has used its one switch."""


def view(state: State, viewer: Viewer) -> OxState:
    """The state as a viewer may see it; who has no seat sees what a spectator sees."""
    own = state.seat(viewer.agent_id)
    return OxState(
        game_id=state.game_id,
        version=state.version,
        round=state.round,
        phase=state.phase,
        question=state.question,
        own=UNSET if own is None else _self(state, own),
        participants=tuple(_participant(state, seat) for seat in state.seats),
        reveal=state.reveal,
        decisions=_decisions(state) if state.phase == "switch" else (),
        scoreboard=_scoreboard(state),
        history=state.history,
        allowed_actions=_allowed(state, own),
        phase_submissions=PhaseSubmissions(
            submitted=len(state.submissions), total=len(state.seats) if state.playing else 0
        ),
        results=seats.shown_rows(state.results, OxSeatResult),
        faults=seats.faults_of(state),
        deadline=seats.time_of(state.deadline),
        **seats.visibility_of(state),
        turn_id=state.turn_id(own.id) if own and _allowed(state, own) else None,
    )


def operator_view(state: State) -> dict[str, object]:
    """The whole state for the operator's page, first choices included."""
    return {
        "max_agents": SEATS,
        "max_rounds": ROUNDS,
        "ox_state": {
            "round": state.round,
            "phase": state.phase,
            "question": state.question,
            "agents": {seat.id: _operator_seat(state, seat) for seat in state.seats},
            "pending_actions": _pending(state),
            "round_log": [
                {"agent_id": agent, **action}
                for actions in (_first_choices(state), _switches(state))
                for agent, action in actions.items()
            ],
            "history": state.history,
        },
    }


def allowed_actions(state: State, agent_id: str) -> tuple[AllowedAction, ...]:
    seat = state.seat(agent_id)
    used = seat is not None and seat.switch_used
    return tuple([_KEEP if used and kind == "switch" else _ALLOWED[kind] for kind in _allowed(state, seat)])


def _allowed(state: State, seat: Seat | None) -> tuple[str, ...]:
    if seat is None or not state.playing or seat.id in state.submissions or state.attends(seat.id).resigned:
        return ()
    return (state.phase,)


def _participant(state: State, seat: Seat) -> OxParticipant:
    attendance = state.attends(seat.id)
    return OxParticipant(
        id=seat.id,
        name=seat.name,
        submitted=state.playing and seat.id in state.submissions,
        away=attendance.away,
        resigned=bool(attendance.resigned),
        **seats.shown_identity(seat),
    )


def _self(state: State, seat: Seat) -> OxSelf:
    pick = state.picks.get(seat.id)
    return OxSelf(
        id=seat.id,
        name=seat.name,
        first_choice=pick.choice if pick else None,
        final_choice=state.final_choice(seat.id),
        switch_available=not seat.switch_used,
        total_points=seat.points,
        submitted=seat.id in state.submissions,
    )


def _decisions(state: State) -> tuple[SwitchDecision, ...]:
    return tuple(
        SwitchDecision(id=agent, switched=move.switched, comment=move.comment) for agent, move in state.moves.items()
    )


def _scoreboard(state: State) -> tuple[OxScoreRow, ...]:
    lines = state.final_scoreboard or (scoreboard(state.seats) if state.round else ())
    return tuple(
        OxScoreRow(**asdict(line) | {"owner_id": UNSET}, away=attendance.away, resigned=bool(attendance.resigned))
        for line in lines
        for attendance in (state.attends(line.id),)
    )


def _operator_seat(state: State, seat: Seat) -> dict[str, object]:
    pick = state.picks.get(seat.id)
    return {
        "first_choice": pick.choice if pick else None,
        "final_choice": state.final_choice(seat.id),
        "switch_used": seat.switch_used,
        "switch_available": not seat.switch_used,
        "total_points": seat.points,
        "comment": pick.comment if pick else "",
    }


def _pending(state: State) -> dict[str, dict[str, object]]:
    if state.phase == "first_choice":
        return _first_choices(state)
    return _switches(state) if state.phase == "switch" else {}


def _first_choices(state: State) -> dict[str, dict[str, object]]:
    return {
        agent: {"type": "first_choice", "choice": pick.choice, "comment": pick.comment}
        for agent, pick in state.picks.items()
    }


def _switches(state: State) -> dict[str, dict[str, object]]:
    return {
        agent: {"type": "switch", "use_switch": move.switched, "comment": move.comment}
        for agent, move in state.moves.items()
    }

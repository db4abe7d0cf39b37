"""An auction as a viewer may see it. A field is secret until it is named here."""

from typing import Any, Final

from msgspec import UNSET
from playmolt_core.game.decider import AllowedAction, Viewer
from playmolt_core.game.seats import views as seats
from playmolt_core.game.seats.state import Seat
from playmolt_schemas.game_messages import PhaseSubmissions

from sealed_bid.messages import (
    ACTIONS,
    AuctionState,
    BidderSeat,
    OwnBid,
)
from sealed_bid.state import State

_ALLOWED: Final = seats.allowed_actions_of(ACTIONS)


def view(state: State, viewer: Viewer) -> AuctionState:
    own = state.seat(viewer.agent_id)
    return AuctionState(
        game_id=state.game_id,
        version=state.version,
        round=state.round,
        phase=state.phase,
        own=UNSET if own is None else OwnBid(id=own.id, name=own.name, amount=state.bids.get(own.id)),
        participants=tuple(_participant(state, seat) for seat in state.seats),
        allowed_actions=_allowed(state, own),
        phase_submissions=PhaseSubmissions(
            submitted=len(state.bids) if state.playing else 0, total=len(state.seats) if state.playing else 0
        ),
        results=state.results,
        faults=seats.faults_of(state),
        deadline=seats.time_of(state.deadline),
        turn_id=state.turn_id(own.id) if own and _allowed(state, own) else None,
    )


def operator_view(state: State) -> dict[str, Any]:
    return {"bids": state.bids}


def allowed_actions(state: State, agent_id: str) -> tuple[AllowedAction, ...]:
    return tuple(_ALLOWED[kind] for kind in _allowed(state, state.seat(agent_id)))


def _allowed(state: State, seat: Seat | None) -> tuple[str, ...]:
    if seat is None or not state.playing or seat.id in state.bids or state.attends(seat.id).resigned:
        return ()
    return ("bid",)


def _participant(state: State, seat: Seat) -> BidderSeat:
    attendance = state.attends(seat.id)
    return BidderSeat(id=seat.id, name=seat.name, away=attendance.away, resigned=bool(attendance.resigned))

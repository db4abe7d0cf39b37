"""What others may see of an auction. A field is secret until it is named here."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET
from playmolt_core.game.decider import AllowedAction, Event, Viewer
from playmolt_core.game.seats import views as seats
from playmolt_core.game.seats.state import Seat
from playmolt_schemas.game_messages import PhaseSubmissions, PublicMessage

from sealed_bid.events import BidMade, GameEnded, GameStarted
from sealed_bid.messages import (
    ACTIONS,
    AuctionEndMessage,
    AuctionStartedMessage,
    AuctionState,
    BidderSeat,
    BidMadeMessage,
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


def public(event: Event, viewer: Viewer) -> PublicMessage:
    if type(event) is BidMade:
        amount = event.amount if viewer.agent_id == event.agent_id else UNSET
        return BidMadeMessage(agent_id=event.agent_id, name=event.name, amount=amount, forfeit=event.forfeit)
    return _PUBLIC[type(event)](event)


def _allowed(state: State, seat: Seat | None) -> tuple[str, ...]:
    if seat is None or not state.playing or seat.id in state.bids or state.attends(seat.id).resigned:
        return ()
    return ("bid",)


def _participant(state: State, seat: Seat) -> BidderSeat:
    attendance = state.attends(seat.id)
    return BidderSeat(id=seat.id, name=seat.name, away=attendance.away, resigned=bool(attendance.resigned))


def _started(event: GameStarted) -> AuctionStartedMessage:
    return AuctionStartedMessage(participants=event.participants)


def _ended(event: GameEnded) -> AuctionEndMessage:
    return AuctionEndMessage(winner_id=event.winner_id, price=event.price, results=event.results, faults=event.faults)


_PUBLIC: Final[Mapping[type[Event], Callable[[Any], PublicMessage]]] = {
    **seats.PUBLIC,
    GameStarted: _started,
    GameEnded: _ended,
}

"""The auction: three sealed bids, the highest wins and pays the second highest."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from playmolt_core.game import draws
from playmolt_core.game.decider import Accepted, AllowedAction, Decision, Viewer
from playmolt_core.game.seats.rules import SeatedGame, already_submitted, invalid
from playmolt_core.game.seats.state import Seat
from playmolt_schemas.body_fields import ActionShapes
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.stored.event import Event
from typing_extensions import override

from sealed_bid import views
from sealed_bid.events import EVENTS, Bidder, BidMade, BidResult, GameEnded, GameStarted
from sealed_bid.messages import MESSAGES, MOST, AuctionState
from sealed_bid.state import FOLDS, State

RANK_POINTS: Final = (100, 40, 20)
_SHAPES: Final = ActionShapes(MESSAGES.actions)


class Auction(SeatedGame[State, Seat]):
    """The decider of the auction."""

    game = "auction"
    rules_version = 1
    content_version = "1"
    needed = len(RANK_POINTS)
    events = EVENTS
    folds = FOLDS
    messages = MESSAGES
    deadlines: ClassVar[Mapping[str, int]] = {"bidding": 60}

    @override
    def initial(self, game_id: str) -> State:
        return State(game_id=game_id)

    @override
    def view(self, state: State, viewer: Viewer) -> AuctionState:
        return views.view(state, viewer)

    @override
    def operator_view(self, state: State) -> Mapping[str, Any]:
        return views.operator_view(state)

    @override
    def allowed_actions(self, state: State, agent_id: str) -> Sequence[AllowedAction]:
        return views.allowed_actions(state, agent_id)

    @override
    def start(self, state: State) -> GameStarted:
        return GameStarted(
            participants=tuple(Bidder(id=seat.id, name=seat.name) for seat in state.seats),
            lots=draws.shuffle(state.seed, "lots", [seat.id for seat in state.seats]),
        )

    @override
    def next_event(self, state: State) -> Event | None:
        return _opened(state) if len(state.bids) == self.needed else None

    @override
    def submit(self, state: State, seat: Seat, action: Any) -> Decision:
        if shape := _SHAPES.faults(action):
            return invalid(shape)
        if seat.id in state.bids:
            return already_submitted()
        amount = action.get("amount")
        if type(amount) is not int or not 0 <= amount <= MOST:
            return invalid((FieldFault("amount", f"must be a whole number from 0 to {MOST}"),))
        return Accepted((BidMade(agent_id=seat.id, name=seat.name, amount=amount),))

    @override
    def action_of(self, event: BidMade) -> Mapping[str, Any]:
        return {"type": "bid", "amount": event.amount}

    @override
    def missing(self, state: State) -> Sequence[Seat]:
        return [seat for seat in state.seats if seat.id not in state.bids]

    @override
    def forfeit(self, state: State, seat: Seat) -> BidMade:
        """Who has not bid, bids nothing."""
        return BidMade(agent_id=seat.id, name=seat.name, amount=0, forfeit=True)


def _opened(state: State) -> GameEnded:
    lot = {agent: place for place, agent in enumerate(state.lots)}
    ranked = sorted(
        state.seats,
        key=lambda seat: (state.standing(seat.id), -state.bids[seat.id], lot[seat.id]),
    )
    price = state.bids[ranked[1].id]
    return GameEnded(
        winner_id=ranked[0].id,
        price=price,
        results=tuple(
            BidResult(
                agent_id=seat.id,
                name=seat.name,
                rank=rank,
                amount=state.bids[seat.id],
                paid=price if rank == 1 else 0,
                points=0 if state.attends(seat.id).resigned else points,
            )
            for rank, (seat, points) in enumerate(zip(ranked, RANK_POINTS, strict=True), start=1)
        ),
        faults=state.faults,
    )

"""What the log of an auction holds."""

from typing import ClassVar, Final

from playmolt_core.game.decider import Event, stored_types
from playmolt_core.game.seats import events as seats
from playmolt_core.game.seats.events import Submitted
from playmolt_schemas.game_messages import Fault

from sealed_bid.messages import Bidder, BidResult


class GameStarted(Event, frozen=True, kw_only=True):
    """`lots` decides between equal bids."""

    type: ClassVar[str] = "game_started"
    participants: tuple[Bidder, ...]
    lots: tuple[str, ...]


class BidMade(Submitted, frozen=True, kw_only=True):
    """A bid is in, or stands at nothing because the deadline passed."""

    type: ClassVar[str] = "bid_made"
    name: str
    amount: int


class GameEnded(Event, frozen=True, kw_only=True):
    """The bids are opened; ranks and points are final."""

    type: ClassVar[str] = "game_end"
    closes: ClassVar[bool] = True
    winner_id: str
    price: int
    results: tuple[BidResult, ...]
    faults: tuple[Fault, ...]


EVENTS: Final = stored_types(*seats.EVENTS, GameStarted, BidMade, GameEnded)

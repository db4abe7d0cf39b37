"""What the log of an auction holds, and who may see which field: one without a mark is shown to nobody."""

from typing import ClassVar, Final

import msgspec
from playmolt_schemas.stored import seats
from playmolt_schemas.stored.event import Event, Own, Public, stored_types
from playmolt_schemas.stored.seats import Submitted
from playmolt_schemas.stored.values import Fault


class Bidder(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str


class BidResult(msgspec.Struct, frozen=True, kw_only=True):
    """`paid` is 0 for who did not win; `points` are those on the platform."""

    agent_id: str
    name: str
    rank: int
    amount: int
    paid: int
    points: int


class GameStarted(Event, frozen=True, kw_only=True):
    """Bids are taken."""

    type: ClassVar[str] = "game_started"
    message_name: ClassVar[str] = "AuctionStartedMessage"
    participants: Public[tuple[Bidder, ...]]
    lots: tuple[str, ...]
    """They decide between equal bids."""


class BidMade(Submitted, frozen=True, kw_only=True):
    """A bid is in. `amount` is there for its owner only. `forfeit`: the deadline passed."""

    type: ClassVar[str] = "bid_made"
    name: Public[str]
    amount: Own[int]


class GameEnded(Event, frozen=True, kw_only=True):
    """The bids are opened."""

    type: ClassVar[str] = "game_end"
    message_name: ClassVar[str] = "AuctionEndMessage"
    closes: ClassVar[bool] = True
    winner_id: Public[str]
    price: Public[int]
    results: Public[tuple[BidResult, ...]]
    faults: Public[tuple[Fault, ...]]


EVENTS: Final = stored_types(*seats.EVENTS, GameStarted, BidMade, GameEnded)

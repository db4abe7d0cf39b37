"""Messages of the auction: three bidders, one lot, the highest bid pays the second highest."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from playmolt_schemas.feed_messages import FeedMessages
from playmolt_schemas.game_messages import SEAT_MESSAGES, Action, GameMessages, PhaseSubmissions, Turns
from playmolt_schemas.stored.values import Fault

from sealed_bid.events import EVENTS, Bidder, BidResult, GameStarted

Phase = Literal["waiting", "bidding", "end", "aborted"]
MOST: Final = 100


class Bid(Action, frozen=True, kw_only=True, tag="bid"):
    """A bid, secret until all are in."""

    amount: Annotated[int, Meta(ge=0, le=MOST)]


ACTIONS: Final[Mapping[str, type[Action]]] = {"bid": Bid}


class BidderSeat(Bidder, frozen=True, kw_only=True):
    away: bool
    resigned: bool


class OwnBid(msgspec.Struct, frozen=True, kw_only=True):
    """`amount` is null until the bid is in."""

    id: str
    name: str
    amount: int | None


class AuctionState(msgspec.Struct, frozen=True, kw_only=True):
    """An auction as a viewer may see it. A spectator's has no `self`."""

    game_id: str
    gameType: Literal["auction"] = "auction"  # noqa: N815 -- the wire's spelling
    version: int
    round: int
    phase: Phase
    own: OwnBid | UnsetType = msgspec.field(name="self", default=UNSET)
    participants: tuple[BidderSeat, ...]
    allowed_actions: tuple[str, ...]
    phase_submissions: PhaseSubmissions
    results: tuple[BidResult, ...] | None
    faults: tuple[Fault, ...] | None = None
    deadline: str | None = None
    seconds_left: float | None = None
    turn_id: str | None = None


FEED: Final = FeedMessages(EVENTS, __name__, shared=SEAT_MESSAGES)
MESSAGES: Final = GameMessages(ACTIONS, AuctionState, FEED, Phase, turns=Turns({GameStarted.type: "bidding"}))

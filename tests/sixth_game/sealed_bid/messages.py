"""Messages of the auction: three bidders, one lot, the highest bid pays the second highest."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from playmolt_schemas.game_messages import (
    Action,
    AgentJoinedMessage,
    AgentLeftMessage,
    Fault,
    GameAbortedMessage,
    GameCreatedMessage,
    GameMessages,
    PhaseExtendedMessage,
    PhaseSubmissions,
    PublicMessage,
    SeatAwayMessage,
    SeatBackMessage,
    SeatResignedMessage,
)

Phase = Literal["waiting", "bidding", "end", "aborted"]
MOST: Final = 100


class Bid(Action, frozen=True, kw_only=True, tag="bid"):
    """A bid, secret until all are in."""

    amount: Annotated[int, Meta(ge=0, le=MOST)]


ACTIONS: Final[Mapping[str, type[Action]]] = {"bid": Bid}


class Bidder(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str


class BidderSeat(Bidder, frozen=True, kw_only=True):
    away: bool
    resigned: bool


class BidResult(msgspec.Struct, frozen=True, kw_only=True):
    """`paid` is 0 for who did not win; `points` are those on the platform."""

    agent_id: str
    name: str
    rank: int
    amount: int
    paid: int
    points: int


class AuctionStartedMessage(PublicMessage, frozen=True, kw_only=True, tag="game_started"):
    """Bids are taken."""

    participants: tuple[Bidder, ...]


class BidMadeMessage(PublicMessage, frozen=True, kw_only=True, tag="bid_made"):
    """A bid is in. `amount` is there for its owner only. `forfeit`: the deadline passed."""

    agent_id: str
    name: str
    amount: int | UnsetType = UNSET
    forfeit: bool = False


class AuctionEndMessage(PublicMessage, frozen=True, kw_only=True, tag="game_end"):
    """The bids are opened."""

    winner_id: str
    price: int
    results: tuple[BidResult, ...]
    faults: tuple[Fault, ...]


AuctionMessage = (
    GameCreatedMessage
    | AgentJoinedMessage
    | AgentLeftMessage
    | AuctionStartedMessage
    | BidMadeMessage
    | AuctionEndMessage
    | PhaseExtendedMessage
    | SeatAwayMessage
    | SeatBackMessage
    | SeatResignedMessage
    | GameAbortedMessage
)


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


MESSAGES: Final = GameMessages(ACTIONS, AuctionState, AuctionMessage, Phase)

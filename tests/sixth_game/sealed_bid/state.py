"""An auction as it stands."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from playmolt_core.game.game import Changes, Fold
from playmolt_core.game.seats import state as seats
from playmolt_core.game.seats.state import Seat, SeatedState, entered
from playmolt_schemas.stored.event import Event

from sealed_bid.events import BidMade, BidResult, GameEnded, GameStarted
from sealed_bid.messages import Phase


class State(SeatedState[Seat], frozen=True, gc=False, kw_only=True):
    """`bids` are secret until the end."""

    phase: Phase = "waiting"
    lots: tuple[str, ...] = ()
    bids: dict[str, int] = msgspec.field(default_factory=dict)
    results: tuple[BidResult, ...] | None = None


def _started(state: State, event: GameStarted, at: datetime) -> Changes:
    return {"lots": event.lots, **entered(state, "bidding", 1, at)}


def _bid(state: State, event: BidMade, _: datetime) -> Changes:
    return {"bids": {**state.bids, event.agent_id: event.amount}}


def _ended(state: State, event: GameEnded, at: datetime) -> Changes:
    return {"results": event.results, **entered(state, "end", state.round, at)}


FOLDS: Final[Mapping[type[Event], Fold]] = {
    **seats.folds(Seat),
    GameStarted: _started,
    BidMade: _bid,
    GameEnded: _ended,
}

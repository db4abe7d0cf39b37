"""What the world owes a session: turns of models, and work on the chain."""

from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec
from playmolt_core.decider import Wish
from playmolt_schemas.canonical import digest

from playmolt_jury.chain.port import OPEN_SECONDS
from playmolt_jury.commands import CHAIN_WISH, TURN_WISH
from playmolt_jury.state import State, Turn

Work = Literal["deploy", "vote", "verdict"]
_OPEN: Final = timedelta(seconds=OPEN_SECONDS)


class ChainOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Work on the chain, from `due` on. It ends in CaseOpened, VoteMined or VerdictFound.

    `jurors` stand in the order of the log. `log_hash` is "" before the contract is deployed: then it is the hash of
    the stream's `phase_changed` record to `vote`.
    """

    wish_id: str
    work: Work
    due: datetime
    session: str
    jurors: tuple[str, ...]
    log_hash: str = ""
    juror_id: str = ""
    guilty: bool = False


Order = Turn | ChainOrder


def wishes(state: State) -> tuple[Wish, ...]:
    """Give a wish for everything that is owed now."""
    turns = tuple(Wish(id=turn.id, kind=TURN_WISH, due=turn.started_at) for turn in _turns(state))
    return turns + tuple(Wish(id=order.wish_id, kind=CHAIN_WISH, due=order.due) for order in _chain(state))


def order(state: State, wish_id: str) -> Order | None:
    """Give what a wish asks for; None when it is not owed (any more)."""
    return next((turn for turn in _turns(state) if turn.id == wish_id), None) or next(
        (each for each in _chain(state) if each.wish_id == wish_id), None
    )


def chain_wish(state: State, work: Work, juror_id: str = "") -> str:
    """Name work on the chain: 32 hex digits, the same after a crash."""
    return digest(["chain", state.game_id, work, juror_id])[:32]


def _turns(state: State) -> tuple[Turn, ...]:
    """Jurors think side by side, each of one thing at a time."""
    firsts: dict[str, Turn] = {}
    for turn in state.turns:
        firsts.setdefault(turn.juror_id, turn)
    return tuple(firsts.values())


def _chain(state: State) -> tuple[ChainOrder, ...]:
    called, contract = state.vote_called_at, state.contract
    if called is None or state.over or state.verdict:
        return ()
    if contract is None:
        return (_order(state, "deploy", called),)
    open_votes = tuple(
        _order(state, "vote", called, juror, guilty=ballot.guilty)
        for juror, ballot in state.ballots.items()
        if not ballot.settled
    )
    if open_votes:
        return open_votes
    # Who has not made up its mind by the deadline has no vote: the contract closes without it.
    whole = len(state.ballots) == len(state.files)
    return (_order(state, "verdict", called if whole else contract.deployed_at + _OPEN),)


def _order(state: State, work: Work, due: datetime, juror_id: str = "", *, guilty: bool = False) -> ChainOrder:
    return ChainOrder(
        due=due,
        wish_id=chain_wish(state, work, juror_id),
        work=work,
        session=state.game_id,
        jurors=state.order,
        log_hash=state.contract.log_hash if state.contract else "",
        juror_id=juror_id,
        guilty=guilty,
    )

"""What the world owes a session: turns of models, and work on the chain."""

from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec
from playmolt_core.game.decider import Effect
from playmolt_schemas.canonical import digest

from playmolt_jury.chain.port import OPEN_SECONDS
from playmolt_jury.commands import CHAIN_EFFECT, TURN_EFFECT
from playmolt_jury.state import State, Turn

Work = Literal["deploy", "vote", "verdict"]
_OPEN: Final = timedelta(seconds=OPEN_SECONDS)


class ChainOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Work on the chain, from `due` on. It ends in CaseOpened, VoteMined or VerdictFound.

    `jurors` stand in the order of the log. `log_hash` is "" before the contract is deployed: then it is the hash of
    the stream's `phase_changed` record to `vote`.
    """

    effect_id: str
    work: Work
    due: datetime
    session: str
    jurors: tuple[str, ...]
    log_hash: str = ""
    juror_id: str = ""
    guilty: bool = False


Order = Turn | ChainOrder


def effects(state: State) -> tuple[Effect, ...]:
    """Give an effect for everything that is owed now."""
    turns = tuple(Effect(id=turn.id, kind=TURN_EFFECT, due=turn.started_at) for turn in _turns(state))
    return turns + tuple(Effect(id=order.effect_id, kind=CHAIN_EFFECT, due=order.due) for order in _chain(state))


def order(state: State, effect_id: str) -> Order | None:
    """Give what an effect asks for; None when it is not owed (any more)."""
    return next((turn for turn in _turns(state) if turn.id == effect_id), None) or next(
        (each for each in _chain(state) if each.effect_id == effect_id), None
    )


def chain_effect(state: State, work: Work, juror_id: str = "") -> str:
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
        effect_id=chain_effect(state, work, juror_id),
        work=work,
        session=state.game_id,
        jurors=state.order,
        log_hash=state.contract.log_hash if state.contract else "",
        juror_id=juror_id,
        guilty=guilty,
    )

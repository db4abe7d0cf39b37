"""The vote: jurors decide, their votes go to a contract on a chain, and a chain that is lost is replaced."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from playmolt_core.game.decider import Accepted, Decision
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.jury import (
    ChainChanged,
    ContractDeployed,
    ToolCalled,
    TurnStarted,
    VerdictRead,
    VoteCalled,
    VoteCast,
    VoteMissed,
    VoteRetried,
    VoteView,
)

from playmolt_jury import bodies, commands, effects, replies
from playmolt_jury.codes import invalid, refused, wrong_phase
from playmolt_jury.state import State

DETAIL_CHARS: Final = 2000


def call_vote(state: State, command: commands.CallVote) -> Decision:
    if state.phase != "vote":
        return wrong_phase(state.phase, "You can call the vote once, after the last round of deliberation")
    if errors := bodies.empty_faults(command.body):
        return invalid(errors)
    if state.failed:
        return wrong_phase(state.phase, "The vote was already called and its chain has changed: POST …/retry")
    undecided = [juror for juror in state.juror_ids if juror not in state.ballots and not state.pending(juror)]
    if state.voting and not undecided:
        return wrong_phase(state.phase, "The vote is in progress. GET …/verdict after the event stream reports it")
    turns = (TurnStarted(call=command.call, turn="vote", juror_id=juror) for juror in undecided)
    return Accepted((VoteCalled(call=command.call), *turns))


def rule_verdict(state: State) -> VerdictRead:
    """The verdict of a jury without a chain, after its last vote: that of the rule."""
    votes = tuple(
        VoteView(juror_id=juror, guilty=ballot.guilty, stance=ballot.stance, tx_hash=None, address=None)
        for juror, ballot in ((juror, state.ballots[juror]) for juror in state.juror_ids)
    )
    guilty = sum(bool(vote.guilty) for vote in votes)
    return VerdictRead(
        verdict="guilty" if 2 * guilty > len(votes) else "not_guilty", guilty=guilty, not_guilty=len(votes) - guilty,
        votes=votes, contract=None, chain_id=None, log_hash=None,
    )  # fmt: skip


def retry(state: State, command: commands.Retry) -> Decision:
    if errors := bodies.empty_faults(command.body):
        return invalid(errors)
    if state.failed is None:
        return refused(Code.NOTHING_TO_RETRY, f"No vote has failed; the session is in the phase {state.phase}.")
    return Accepted((VoteRetried(call=command.call),))


def deployed(state: State, command: commands.CaseOpened) -> Decision:
    if not effects.is_pending(state, command.effect_id, "deploy"):
        return Accepted()
    deployed = ContractDeployed(
        contract=command.address, chain_id=command.chain_id, tx_hash=command.tx_hash, log_hash=command.log_hash
    )
    return Accepted((deployed,))


def mined(state: State, command: commands.VoteMined) -> Decision:
    if not effects.is_pending(state, command.effect_id, "vote"):
        return Accepted()
    ballot = state.ballots[command.juror_id]
    if command.guilty is None:
        return Accepted((VoteMissed(juror_id=command.juror_id),))
    cast = VoteCast(
        juror_id=command.juror_id,
        guilty=command.guilty,
        stance=ballot.stance,
        diverged=ballot.diverged,
        tx_hash=command.tx_hash,
    )
    if ballot.diverged:
        return Accepted((cast,))
    result = json.dumps({"guilty": command.guilty, "tx_hash": command.tx_hash})
    called = ToolCalled(juror_id=command.juror_id, tool=replies.CAST, input={"guilty": command.guilty}, result=result)
    return Accepted((cast, called))


def cast_again(state: State, votes: Iterable[VoteView]) -> Iterator[VoteCast]:
    """Votes that the chain had lost and now has by another transaction."""
    for vote in votes:
        ballot = state.ballots.get(vote.juror_id)
        if ballot and ballot.tx_hash and vote.tx_hash and vote.guilty is not None and ballot.tx_hash != vote.tx_hash:
            yield VoteCast(
                juror_id=vote.juror_id,
                guilty=vote.guilty,
                stance=ballot.stance,
                diverged=ballot.diverged,
                tx_hash=vote.tx_hash,
            )


def chain_lost(state: State, command: commands.ChainLost) -> Decision:
    if state.contract is None or not effects.is_pending(state, command.effect_id, "vote", "verdict"):
        return Accepted()
    changed = ChainChanged(
        contract=state.contract.address,
        chain_id=state.contract.chain_id,
        detail=command.detail[:DETAIL_CHARS],
        attempts=command.looks,
    )
    return Accepted((changed,))

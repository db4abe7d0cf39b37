"""Pending effects of a session: turns of models and work on the chain."""

from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec
from playmolt_core.game.decider import Effect
from playmolt_schemas.canonical import digest
from playmolt_schemas.identifiers import is_scripted

from playmolt_jury.chain.port import OPEN_SECONDS
from playmolt_jury.state import State, Turn

TURN_EFFECT: Final = "llm_turn"
"""`Effect.kind` of a turn of a model; its payload is the Turn."""
PROBE_EFFECT: Final = "tool_probe"
"""`Effect.kind` of the question whether the session's model calls tools; its payload is a ToolProbe."""
CHAIN_EFFECT: Final = "chain"
"""`Effect.kind` of work on the chain; its payload is a ChainTask."""

Work = Literal["deploy", "vote", "verdict"]
_OPEN: Final = timedelta(seconds=OPEN_SECONDS)


class ToolProbe(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the model of this alias, once a session. It ends in ToolsAnswered."""

    alias: str


class ChainTask(msgspec.Struct, frozen=True, kw_only=True):
    """Work on the chain. It ends in CaseOpened, VoteMined or VerdictFound.

    `jurors` are in log order, `cast` are the votes that the log has on the chain. `log_hash` is "" before
    the contract is deployed: then it is the hash of the stream's `phase_changed` record to `vote`, and `chain_id` is 0.
    """

    work: Work
    jurors: tuple[str, ...]
    log_hash: str = ""
    chain_id: int = 0
    juror_id: str = ""
    guilty: bool = False
    cast: tuple[tuple[str, bool], ...] = ()


def effects(state: State) -> tuple[Effect[Turn | ToolProbe | ChainTask], ...]:
    """All pending effects. Jurors work in parallel, each on one turn at a time.

    A panel takes the turns of its juries itself.
    """
    if state.script:
        return _chain(state)
    return (*_probe(state), *(turn_effect(turn) for turn in next_turns(state)), *_chain(state))


def next_turns(state: State) -> tuple[Turn, ...]:
    """The first pending turn of each juror."""
    firsts: dict[str, Turn] = {}
    for turn in state.turns:
        firsts.setdefault(turn.juror_id, turn)
    return tuple(firsts.values())


def turn_effect(turn: Turn) -> Effect[Turn]:
    return Effect(id=turn.id, kind=TURN_EFFECT, due=turn.started_at, payload=turn)


def pending_turn(state: State, effect_id: str) -> Turn | None:
    """The turn of an effect; None when it is not pending."""
    return next((turn for turn in next_turns(state) if turn.id == effect_id), None)


def is_pending(state: State, effect_id: str, *works: Work) -> bool:
    """Whether chain work of one of these kinds is pending under this id."""
    payload = _payload(state, effect_id)
    return isinstance(payload, ChainTask) and payload.work in works


def chain_effect(state: State, work: Work, juror_id: str = "") -> str:
    """The id of work on the chain: 32 hex digits, stable across crashes, different after a retry."""
    again = [state.vote_retries] if state.vote_retries else []
    return digest(["chain", state.game_id, work, juror_id, *again])[:32]


def _probe(state: State) -> tuple[Effect[ToolProbe], ...]:
    """Some servers leave tools out of a prompt without a word, and the jurors would never look anything up."""
    if state.probed or state.over or not state.version or is_scripted(state.model):
        return ()
    id_ = digest(["probe", state.game_id])[:32]
    due = datetime.fromisoformat(state.created_at)
    return (Effect(id=id_, kind=PROBE_EFFECT, due=due, payload=ToolProbe(alias=state.model)),)


def _payload(state: State, effect_id: str) -> Turn | ToolProbe | ChainTask | None:
    return next((effect.payload for effect in effects(state) if effect.id == effect_id), None)


def _chain(state: State) -> tuple[Effect[ChainTask], ...]:
    called, contract = state.vote_called_at, state.contract
    if called is None or state.over or state.verdict or state.failed or (state.script and not state.script.chain):
        return ()
    if contract is None:
        return (_task(state, "deploy", called),)
    open_votes = tuple(
        _task(state, "vote", called, juror, guilty=ballot.guilty)
        for juror, ballot in state.ballots.items()
        if not ballot.settled
    )
    if open_votes:
        return open_votes
    # A juror that has not decided by the deadline has no vote: the contract closes without it.
    whole = len(state.ballots) == len(state.jurors)
    return (_task(state, "verdict", called if whole else contract.deployed_at + _OPEN),)


def _task(state: State, work: Work, due: datetime, juror_id: str = "", *, guilty: bool = False) -> Effect[ChainTask]:
    log_hash = state.contract.log_hash if state.contract else ""
    cast = tuple((juror, ballot.guilty) for juror, ballot in state.ballots.items() if ballot.tx_hash)
    task = ChainTask(
        work=work,
        jurors=state.juror_ids,
        log_hash=log_hash,
        chain_id=state.contract.chain_id if state.contract else 0,
        juror_id=juror_id,
        guilty=guilty,
        cast=cast if work == "verdict" else (),
    )
    return Effect(id=chain_effect(state, work, juror_id), kind=CHAIN_EFFECT, due=due, payload=task)

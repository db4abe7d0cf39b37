"""The worker of the chain, on a real one: a session whose juror never votes ends when its case closes."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from chain_nodes import Node, case
from playmolt_core.game.decider import Accepted, Command, Event
from playmolt_core.log.memory import MemoryLog
from playmolt_jury import commands
from playmolt_jury.chain.jsonrpc import JsonRpcChain
from playmolt_jury.chain.port import OPEN_SECONDS
from playmolt_jury.content import game
from playmolt_jury.events import PhaseChanged, TurnFailed, TurnStarted, VoteCalled, VoteDecided
from playmolt_jury.state import State
from playmolt_jury.workers.chain_worker import ChainWorker

JURY = game.jury()


class Table:
    """A session in its vote, and the effects that are leased of it."""

    def __init__(self, session: str) -> None:
        self.now = datetime.now(UTC)
        self.state: State = JURY.initial(session)
        self.kinds: list[str] = []
        self.stopping = False

    def happened(self, *events: Event) -> None:
        for event in events:
            self.state = JURY.evolve(self.state, event, self.now)
            self.kinds.append(event.type)

    async def submit(self, command: Command) -> None:
        decision = JURY.decide(self.state, command, self.now)
        assert isinstance(decision, Accepted), decision
        self.happened(*decision.events)

    async def work(self, worker: ChainWorker) -> None:
        while effect := next((effect for effect in JURY.effects(self.state) if effect.due <= self.now), None):
            await worker(LeasedEffect(self, effect))


class LeasedEffect:
    """As much of the host's as the worker asks for."""

    def __init__(self, table: Table, effect: Any) -> None:
        self.effect, self.payload, self.stream = effect, effect.payload, table.state.game_id
        self.submit, self.stopping = table.submit, False


def voting(table: Table, undecided: Sequence[str]) -> None:
    """All vote but these."""
    opening = commands.OpenJury(agent_id="a", name="Ada", seed="7", body={"language": "en"})
    opened = JURY.decide(table.state, opening, table.now)
    assert isinstance(opened, Accepted)
    table.happened(*opened.events, PhaseChanged(from_="deliberation", to="vote"), VoteCalled(call="c"))
    for juror in table.state.juror_ids:
        now = table.state.seats[juror].stance
        table.happened(TurnStarted(call="c", turn="vote", juror_id=juror))
        if juror in undecided:
            table.happened(TurnFailed(call="c", turn="vote", juror_id=juror, code="refused", detail="", attempts=1))
        else:
            table.happened(VoteDecided(juror_id=juror, guilty=now > 50, stance=now, diverged=False))


@pytest.mark.parametrize(
    "undecided", [("radical",), tuple(file.id for file in JURY.material(State(game_id="")).jurors)]
)
async def test_a_case_that_misses_votes_at_its_deadline_ends_the_session_as_not_guilty(
    anvils: Callable[..., Node],
    chains: Callable[..., JsonRpcChain],
    sessions: Callable[[], str],
    undecided: Sequence[str],
) -> None:
    node = anvils()
    chain = chains(node)

    async def connected() -> JsonRpcChain:
        return chain

    worker = ChainWorker(connected, MemoryLog())
    table = Table(sessions())
    voting(table, undecided)
    opened = await chain.deploy(case(table.state.game_id))
    (deploy,) = JURY.effects(table.state)
    await table.submit(
        commands.CaseOpened(
            effect_id=deploy.id, address=opened.address, chain_id=opened.chain_id, tx_hash=opened.tx_hash,
            log_hash="0x" + "ab" * 32,
        )
    )  # fmt: skip
    await table.work(worker)
    assert table.kinds.count("vote_cast") == 5 - len(undecided)
    assert table.state.phase == "vote"

    (verdict,) = JURY.effects(table.state)
    table.now = verdict.due
    node.ask("evm_increaseTime", hex(OPEN_SECONDS + 60))
    async with asyncio.timeout(20):
        await table.work(worker)

    assert table.kinds[-3:] == ["verdict_read", "phase_changed", "ended"]
    assert table.state.verdict is not None
    assert table.state.verdict.verdict == "not_guilty"
    assert {vote.juror_id for vote in table.state.verdict.votes if vote.guilty is None} == set(undecided)
    assert table.state.ending == "not_guilty_nothing"

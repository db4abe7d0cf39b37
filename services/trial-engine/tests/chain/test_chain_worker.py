"""The worker of the chain, on a real one: a session whose juror never votes ends when its case closes."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from chain_nodes import Node, case
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.decider import Accepted, Command, Effect
from playmolt_core.log.memory import MemoryLog
from playmolt_jury import commands, rules
from playmolt_jury.chain.jsonrpc import JsonRpcChain
from playmolt_jury.chain.port import OPEN_SECONDS, ChainUnavailable, MissingCase
from playmolt_jury.state import State
from playmolt_jury.workers.chain_worker import ChainWorker
from playmolt_schemas.stored.jury import PhaseChanged, TurnFailed, TurnStarted, VoteCalled, VoteDecided

from core.tests.scenario import Scenario

JURY = rules.jury()


class Session(Scenario[State]):
    """A session in its vote, and the effects that are leased of it."""

    @property
    def kinds(self) -> list[str]:
        return [event.type for event, _, _ in self.log]

    async def submit(self, command: Command) -> None:
        assert isinstance(self.when(command).decision, Accepted), self.decision

    async def until(self, worker: ChainWorker, work: str) -> None:
        """Carry out what comes before this work on the chain."""
        while (effect := JURY.effects(self.state)[0]).payload.work != work:
            await worker(cast("LeasedEffect", Leased(self, effect)))

    async def work(self, worker: ChainWorker) -> None:
        while effect := next((effect for effect in JURY.effects(self.state) if effect.due <= self.now), None):
            await worker(cast("LeasedEffect", Leased(self, effect)))


class Leased:
    """As much of a LeasedEffect as this worker uses, without a lease."""

    def __init__(self, session: Session, effect: Effect) -> None:
        self.effect, self.payload, self.stream = effect, effect.payload, session.state.game_id
        self.submit, self.stopping = session.submit, False


def voting(stream: str, undecided: Sequence[str]) -> Session:
    """Given a session in which all jurors but these have decided."""
    session = Session(JURY, stream)
    session.when(commands.OpenJury(agent_id="a", name="Ada", seed="7", body={"language": "en"}))
    session.given(PhaseChanged(from_="deliberation", to="vote"), VoteCalled(call="c"))
    for juror in session.state.juror_ids:
        now = session.state.juror_states[juror].stance
        session.given(TurnStarted(call="c", turn="vote", juror_id=juror))
        if juror in undecided:
            session.given(TurnFailed(call="c", turn="vote", juror_id=juror, code="refused", detail="", attempts=1))
        else:
            session.given(VoteDecided(juror_id=juror, guilty=now > 50, stance=now, diverged=False))
    return session


@pytest.mark.parametrize(
    "undecided", [("radical",), tuple(file.id for file in JURY.cases.shipped.materials["en"].jurors)]
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
    session = voting(sessions(), undecided)
    opened = await chain.deploy(case(session.state.game_id))
    (deploy,) = JURY.effects(session.state)
    await session.submit(
        commands.CaseOpened(
            effect_id=deploy.id, address=opened.address, chain_id=opened.chain_id, tx_hash=opened.tx_hash,
            log_hash="0x" + "ab" * 32,
        )
    )  # fmt: skip
    await session.work(worker)
    assert session.kinds.count("vote_cast") == 5 - len(undecided)
    assert session.state.phase == "vote"

    (verdict,) = JURY.effects(session.state)
    session.now = verdict.due
    node.ask("evm_increaseTime", hex(OPEN_SECONDS + 60))
    async with asyncio.timeout(60):
        await session.work(worker)

    assert session.kinds[-3:] == ["verdict_read", "phase_changed", "ended"]
    assert session.state.verdict is not None
    assert session.state.verdict.verdict == "not_guilty"
    assert {vote.juror_id for vote in session.state.verdict.votes if vote.guilty is None} == set(undecided)
    assert session.state.ending == "not_guilty_nothing"


async def test_votes_that_the_chain_lost_are_cast_again_before_the_verdict(
    anvils: Callable[..., Node], chains: Callable[..., JsonRpcChain], sessions: Callable[[], str]
) -> None:
    node = anvils()
    chain = chains(node)

    async def connected() -> JsonRpcChain:
        return chain

    worker = ChainWorker(connected, MemoryLog())
    session = voting(sessions(), ())
    opened = await chain.deploy(case(session.state.game_id))
    (deploy,) = JURY.effects(session.state)
    await session.submit(
        commands.CaseOpened(
            effect_id=deploy.id, address=opened.address, chain_id=opened.chain_id, tx_hash=opened.tx_hash,
            log_hash="0x" + "ab" * 32,
        )
    )  # fmt: skip
    before = node.ask("evm_snapshot")
    await session.until(worker, "verdict")
    assert node.ask("evm_revert", before)

    async with asyncio.timeout(60):
        await session.work(worker)

    verdict = await chain.verdict(case(session.state.game_id))
    assert session.state.verdict is not None
    assert {vote.juror_id: vote.guilty for vote in verdict.votes} == {
        juror: ballot.guilty for juror, ballot in session.state.ballots.items()
    }


class Began:
    """A session in its vote on an Anvil of its own, the case opened."""

    def __init__(self, node: Node, chain: JsonRpcChain, session: Session) -> None:
        self.node, self.chain, self.session = node, chain, session
        self.worker = ChainWorker(self._connect, MemoryLog(), missing_seconds=1.0)

    async def _connect(self) -> JsonRpcChain:
        return self.chain

    async def opened(self) -> "Began":
        found = await self.chain.deploy(case(self.session.state.game_id))
        (deploy,) = JURY.effects(self.session.state)
        await self.session.submit(
            commands.CaseOpened(
                effect_id=deploy.id, address=found.address, chain_id=found.chain_id, tx_hash=found.tx_hash,
                log_hash="0x" + "ab" * 32,
            )
        )  # fmt: skip
        return self

    def anew(self, *options: str) -> None:
        """Another chain behind the same URL, as of now."""
        self.node.kill()
        self.node.options = options
        self.node.start()


@pytest.fixture
async def began(
    anvils: Callable[..., Node],
    chains: Callable[..., JsonRpcChain],
    sessions: Callable[[], str],
) -> Began:
    node = anvils()
    return await Began(node, chains(node), voting(sessions(), ())).opened()


@pytest.mark.parametrize(("until", "options"), [("vote", ()), ("verdict", ()), ("verdict", ("--chain-id", "4242"))])
async def test_a_chain_that_restarted_fails_the_vote_and_a_retry_has_it_all_again(
    began: Began, until: str, options: Sequence[str]
) -> None:
    session = began.session
    await session.until(began.worker, until)
    decided = {juror: ballot.guilty for juror, ballot in session.state.ballots.items()}
    began.anew(*options)

    async with asyncio.timeout(60):
        await session.work(began.worker)
    assert session.kinds[-1] == "chain_changed"
    assert session.state.failed is not None
    assert session.state.failed.attempts > 1

    await session.submit(commands.Retry(agent_id="a", call="again"))
    found = await began.chain.deploy(case(session.state.game_id))
    (deploy,) = JURY.effects(session.state)
    await session.submit(
        commands.CaseOpened(
            effect_id=deploy.id, address=found.address, chain_id=found.chain_id, tx_hash=found.tx_hash,
            log_hash="0x" + "ab" * 32,
        )
    )  # fmt: skip
    async with asyncio.timeout(60):
        await session.work(began.worker)

    verdict = await began.chain.verdict(case(session.state.game_id))
    assert session.state.phase == "ended"
    assert {vote.juror_id: vote.guilty for vote in verdict.votes} == decided
    assert session.state.verdict is not None
    assert session.state.verdict.chain_id == (4242 if options else 31337)
    assert {receipt["status"] for receipt in began.node.transactions()} == {"0x1"}


async def test_a_node_that_is_behind_for_a_moment_is_not_a_chain_that_restarted(began: Began) -> None:
    session, before = began.session, began.chain.vote
    missed = iter([MissingCase("behind"), MissingCase("behind"), ChainUnavailable("away"), MissingCase("behind")])

    async def vote(*asked: Any) -> Any:
        if fault := next(missed, None):
            raise fault
        return await before(*asked)

    began.worker = ChainWorker(began._connect, MemoryLog(), missing_seconds=60)  # longer than any such moment
    began.chain.vote = vote  # type: ignore[method-assign] # a node that is behind
    async with asyncio.timeout(60):
        await session.work(began.worker)
    assert "chain_changed" not in session.kinds
    assert session.state.phase == "ended"

"""A turn, a judge and a legal turn, each with one question and a log in a file, for processes that are killed."""

import json
import os
import signal
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec
from playmolt_agora_runner.coding.judge_model import JudgeModel
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.experiment.state import Judge
from playmolt_agora_runner.run.effects import AgentTurn
from playmolt_agora_runner.scripted import residents
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.workers.turn_model import Halt, TurnModel
from playmolt_agora_runner.world import worlds
from playmolt_core.db.blobs import PgBlobs, PromptStore
from playmolt_core.db.ledger import InFlight, Ledger, LedgerEntry, PgLedger
from playmolt_core.db.pool import open_pool
from playmolt_core.game.decider import Accepted, Command, Refused
from playmolt_core.llm.batch_calls import BatchCalls
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_core.llm.day_budget import DayBudget
from playmolt_core.llm.durable_call import DurableCalls
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.log.port import StoredFacts
from playmolt_core.settings import Settings
from playmolt_legal import commands
from playmolt_legal.roles import scripted
from playmolt_legal.rules import Legal
from playmolt_legal.state import State
from playmolt_legal.workers.model_worker import ModelWorker
from playmolt_schemas.instrument.laboratory import Thought
from playmolt_schemas.stored.agora.experiment import JudgeBudget, PinnedModel
from playmolt_schemas.stored.agora.plan import Budget
from playmolt_schemas.stored.agora.turn import ACTIONS, RunSpec, Seat
from typing_extensions import override

from core.tests.effect_scenario import EffectScenario, no_long_texts
from core.tests.scenario import Scenario
from tests.agora_locks import opened

EXPERIMENT, RUN = "experiment-00000000-0000-4000-8000-000000000001", "agora-00000000-0000-4000-8000-000000000001"
JUDGE_ACCOUNT = f"{EXPERIMENT}/judge/fake"
OWNER = "agent-1"
MOST = 100_000
"""Token budget of each account: more than two requests at their worst case."""
_ACT = {"thought": "so", "action": "speak", "target": None, "content": "hello"}
_FACTS: dict[str, Any] = {
    "overview": "On 5 March 2024 the seller delivered goods for 5,000 dollars and was not paid.",
    "acts": "The goods were delivered and the price was not paid.",
    "timeline": [{"when": "2024-03-05", "what": "The goods were delivered", "agreed": True}],
    "evidence": [{"title": "Receipt", "description": "A signature for the goods"}],
    "opposing_claims": "The goods had a defect.",
}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingLedger(Ledger):
    """A ledger that kills its process at a step."""

    def __init__(self, ledger: Ledger, step: str) -> None:
        self._ledger = ledger
        self._step = step

    def at(self, step: str) -> None:
        if step == self._step:
            die()

    @override
    async def reserve(self, entries: Sequence[LedgerEntry], mark: InFlight | None = None) -> LedgerEntry | None:
        self.at("reserve")
        short = await self._ledger.reserve(entries, mark)
        self.at("mark")
        return short

    @override
    async def settle(self, entries: Sequence[LedgerEntry], mark: InFlight | None = None) -> None:
        self.at("settle")
        await self._ledger.settle(entries, mark)

    @override
    async def keep(self, entries: Sequence[LedgerEntry], stream: str, key: str, body: str) -> None:
        self.at("keep")
        await self._ledger.keep(entries, stream, key, body)
        self.at("settle")

    @override
    async def found(self, stream: str) -> InFlight | None:
        return await self._ledger.found(stream)


class World:
    """The dependencies of a caller: accounts, replies and a server, which all processes share, and a log in a file."""

    def __init__(self, pool: Any, address: str, step: str, log: Path) -> None:
        entry = ModelEntry(alias="fake", base_url=address, model="m", input_price=_price(1), output_price=_price(2))
        self.catalogue = Catalogue({"fake": entry})
        self.ledger = DyingLedger(PgLedger(pool), step)
        self.models = Models(
            self.catalogue, MemoryLimits(), residents.cast(), ledger=self.ledger,
            day=DayBudget(Settings(day_tokens=MOST, key_day_tokens=MOST)), environment={},
        )  # fmt: skip
        self.blobs = PgBlobs(pool)
        self.calls = DurableCalls(self.models, self.ledger, self.blobs, BatchCalls(pool))
        self._log = log

    async def of(self, experiment: str) -> Any:
        """An experiment that asks nothing in batches."""
        return Experiment().initial(experiment)

    def append(self, kind: str, value: object) -> None:
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps([kind, msgspec.to_builtins(value)]) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def logged(self, kind: str) -> list[Any]:
        return logged(self._log, kind)


def logged(log: Path, kind: str) -> list[Any]:
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    return [value for found, value in lines if found == kind]


def _price(value: int) -> Any:
    return msgspec.convert(value, ModelEntry.__annotations__["input_price"])


async def turn(world: World) -> None:
    """Ask for a turn of a run, as its worker does."""
    spec = RunSpec(
        experiment=EXPERIMENT, run=RUN, number=1, cell="phase1/fake/en", phase="phase1", set=None, language="en",
        persona_condition="with_persona", seed="7", turns=50,
        seats=(Seat(agent="merchant_01", model="fake", persona="merchant", home="market"),),
    )  # fmt: skip
    scene = Scene(
        phase="phase1", language="en", agent="merchant_01", persona="merchant", persona_condition="with_persona",
        place="market", turn=12, turns=50, residents=12, residents_start=12, here=(),
        agents=("merchant_01", "merchant_02"), energy=100, energy_max=200, influence=0, rank="commoner", gini="0.00",
        tax_rate=10, treasury=0, actions=ACTIONS, rules=msgspec.to_builtins(worlds.preset("phase1")),
    )  # fmt: skip
    limits, asking = (
        Budget(calls=2, tokens=MOST),
        TurnModel(world.calls, world.catalogue, world.blobs, cast("Any", world)),
    )
    due = AgentTurn(spec, scene.turn, scene.agent)
    lost = await asking.lost(due, limits, sum(world.logged("lost")))
    if lost is not None:
        world.append("lost", lost["lost"])
    found = await asking.ask(due, scene, limits, logged=sum(world.logged("lost")))
    assert not isinstance(found, Halt), found
    world.append("said", found.parsed.code)


async def judge(world: World) -> None:
    """Ask a judge about a thought, as the worker of judges does."""
    pinned = PinnedModel(alias="fake", model="m", base_url="", input_price="1", output_price="2", scripted=False)
    judge = Judge(judge=pinned, number=1, turns="all", budget=JudgeBudget(calls=2), since=datetime.now(UTC))
    plan = {"name": "n", "seed": "7", "models": ["scripted"], "phases": {"phase1": {"runs": 1, "turns": 3}}}
    experiment = Scenario(Experiment(), EXPERIMENT).when(opened(EXPERIMENT, plan)).state
    assert experiment.plan is not None
    thought = Thought("agora-1", "agent_01", 1, "phase1", "en", "scripted", "I need food")
    asking = JudgeModel(world.calls, world.models, world.catalogue, PromptStore(world.blobs))
    lost = await asking.lost(EXPERIMENT, judge, thought, sum(world.logged("lost")))
    for event in lost:
        world.append("lost", event.call["lost"])
    found = await asking.ask(EXPERIMENT, judge, experiment.plan, "7", thought, sum(world.logged("lost")))
    assert found.halt is None, found
    world.append("said", found.coded[-1].code)


class Session(EffectScenario[State]):
    """A session whose first model turn is pending. Its log contains the attempts of earlier processes."""

    def __init__(self, world: World | None = None) -> None:
        super().__init__(Legal())
        self._world = world
        body = {
            "case_type": "civil", "jurisdiction": "Korea", "title": "Price of goods", "language": "en", "model": "fake",
        }  # fmt: skip
        self.when(commands.OpenSession(agent_id=OWNER, name="Counsel", seed="7", body=body, aliases=("fake",)))
        self.when(commands.PostFacts(agent_id=OWNER, body=_FACTS))
        for attempt in world.logged("attempt") if world else ():
            self.when(commands.Attempted(effect_id="", phase=self.state.asked, kind="ask", attempt=attempt))

    @override
    async def submit(self, stream: str, command: Command, command_id: str) -> Accepted | Refused:
        world = cast("World", self._world)
        if isinstance(command, commands.Attempted):
            world.ledger.at("keep")
            world.append("attempt", command.attempt)
        else:
            assert isinstance(command, commands.TurnSpoken), command
            world.ledger.at("answer")
            world.append("said", "ok")
        return await super().submit(stream, command, command_id)

    async def facts(self, stream: str, after: int = 0) -> StoredFacts:
        """See `StreamReader`."""
        tags = {event: f"{kind}:{version}" for (kind, version), event in self.decider.events.items()}
        events = [[tags[type(event)], event] for event, _, _ in self.log[after:]]
        times = [at.timestamp() for _, at, _ in self.log[after:]]
        encoded = [msgspec.json.encode(each).decode() for each in (events, times)]
        return StoredFacts(head=cast("Any", None), events=encoded[0], times=encoded[1], command_ids=())


async def legal(world: World) -> None:
    session = Session(world)
    worker = ModelWorker(world.models, no_long_texts, cast("Any", session))
    await session.carried_out(llm_turn=worker)


CALLERS = {"turn": turn, "judge": judge, "legal": legal}


def replies() -> dict[str, str]:
    """The server's reply to each caller."""
    session = Session()
    output = scripted.answer(session.state, session.state.asked, profile="plain")
    said: Iterable[object] = (_ACT, {"survival": True, "social": False}, output)
    return dict(zip(CALLERS, (json.dumps(each) for each in said), strict=True))


async def run(caller: str, step: str, database_url: str, address: str, log: Path) -> None:
    """Run a caller until its question is answered or its process is killed at a step."""
    pool = await open_pool(database_url, role="playmolt_engine", size=3)
    world = World(pool, address, step, log)
    await CALLERS[caller](world)
    await world.models.close()
    await pool.close()

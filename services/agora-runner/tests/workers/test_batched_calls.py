"""A turn that waits for a batch: what it takes of it, what it costs, what a stop and a kill leave."""

import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

import pytest
from msgspec.structs import replace
from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import AgentTurn
from playmolt_agora_runner.scripted import residents
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.workers.turn_model import Halt, TurnModel
from playmolt_core.db.ledger import Amount
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.day_budget import DayBudget, account_of
from playmolt_core.llm.durable_call import DurableCalls
from playmolt_core.llm.file_ledger import MemoryLedger
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.settings import Settings
from playmolt_schemas.stored.agora.plan import BatchPlan, Budget, Plan

from core.tests.llm.fake_server import FakeServer, reply
from core.tests.llm.memory_batch_calls import MemoryBatchCalls

from .test_asking import ACT, ASIDE, Blobs, Killed, spec

LIMITS = Budget(money="1")
TURN = AgentTurn(spec(), 12, "merchant_01")
PLAN = Plan(name="small", models=("fake",), batch=BatchPlan(play=True))
BATCHED = State(game_id="experiment-1", status="running", plan=PLAN, budget=LIMITS)
TODAY, TOMORROW = account_of("2026-11-26"), account_of("2026-11-27")


class Waiting:
    """A runner whose questions wait for a batch; while one looks, what the test says comes to pass."""

    def __init__(self, server: FakeServer, **day: Any) -> None:
        entry = server.entry(
            batch=True, input_price="2", output_price="4", batch_input_price="1", batch_output_price="2"
        )
        catalogue = Catalogue({"fake": entry})
        self.server, self.ledger = server, MemoryLedger()
        self.calls = MemoryBatchCalls(self.ledger)
        self.experiment = BATCHED
        self.passes: Callable[[], None] = lambda: None
        self.now = datetime(2026, 11, 26, 23, 59, 58, tzinfo=UTC)
        budget = DayBudget(Settings(**day), lambda: self.now)
        self.models = Models(
            catalogue, MemoryLimits(), residents.cast(), ledger=self.ledger, day=budget, environment={}
        )
        blobs: Any = Blobs(self.ledger)

        async def sleep(_: float) -> None:
            self.passes()

        asking = DurableCalls(self.models, self.ledger, blobs, self.calls, sleep=sleep)
        self.asking = TurnModel(asking, catalogue, blobs, cast("Any", self))

    @property
    def account(self) -> Amount:
        """What is reserved or spent by the experiment."""
        return self.ledger.of("experiment-1")

    @property
    def days(self) -> dict[str, Amount]:
        return {name: amount for name, amount in self.ledger.spent.items() if name.startswith("day:")}

    async def of(self, _: str) -> State:
        return self.experiment

    def answered(self, text: str | None) -> None:
        """A batch that held the question is over."""
        for row in self.calls.rows.values():
            row.batch, row.answered = "batch_1", True
            row.answer = text and reply(text, usage=(1000, 100)).body.decode()

    async def turn(self, scene: Scene) -> TurnReply | Halt:
        return await self.asking.ask(TURN, scene, LIMITS)


@pytest.fixture
async def waiting() -> AsyncIterator[Waiting]:
    async with FakeServer() as server:
        server.otherwise = reply(ACT, usage=(1000, 100))
        waiting = Waiting(server)
        yield waiting
        await waiting.models.close()


async def test_a_turn_is_taken_of_a_batch_at_its_price(waiting: Waiting, scene_of: Callable[..., Scene]) -> None:
    waiting.passes = lambda: waiting.answered(ACT)
    found = await waiting.turn(scene_of())
    assert isinstance(found, TurnReply)
    assert (found.parsed.code, found.attempt, found.cost, found.cache_hit) == ("ok", 1, "0.0012", False)
    assert [call["batch"] for call in found.attempts] == ["batch_1"]
    assert (waiting.account.calls, waiting.account.money) == (1, Decimal("0.0012"))
    assert (waiting.server.received, waiting.calls.rows, waiting.ledger.marks) == ([], {}, {})
    again = await waiting.turn(scene_of())
    assert isinstance(again, TurnReply)
    assert again.cache_hit, "what was stored is found"


async def test_the_question_is_the_body_of_a_plain_one(waiting: Waiting, scene_of: Callable[..., Scene]) -> None:
    bodies: list[dict[str, Any]] = []

    def passes() -> None:
        bodies.extend(row.body for row in waiting.calls.rows.values())
        waiting.answered(None)

    waiting.passes = passes
    await waiting.turn(scene_of())
    assert bodies == [asked.body for asked in waiting.server.received]


async def test_what_a_batch_did_not_answer_is_asked_plainly_at_the_plain_price(
    waiting: Waiting, scene_of: Callable[..., Scene]
) -> None:
    waiting.passes = lambda: waiting.answered(None)
    found = await waiting.turn(scene_of())
    assert isinstance(found, TurnReply)
    assert (found.parsed.code, found.attempt, found.cost, len(waiting.server.received)) == ("ok", 1, "0.0024", 1)
    assert (waiting.account.calls, waiting.account.money) == (1, Decimal("0.0024"))
    assert waiting.calls.rows == {}


async def test_who_is_killed_while_it_waits_has_lost_nothing_and_reserves_once(
    waiting: Waiting, scene_of: Callable[..., Scene]
) -> None:
    def killed() -> None:
        raise Killed

    waiting.passes = killed
    with pytest.raises(Killed):
        await waiting.turn(scene_of())
    reserved = waiting.account.money
    with pytest.raises(Killed):
        await waiting.turn(scene_of())
    assert (waiting.account.calls, waiting.account.money) == (1, reserved)
    assert await waiting.asking.lost(TURN, LIMITS, 0) is None
    waiting.passes = lambda: waiting.answered(ACT)
    found = await waiting.turn(scene_of())
    assert isinstance(found, TurnReply)
    assert (found.attempt, waiting.account.money) == (1, Decimal("0.0012"))


async def test_a_stop_is_heeded_while_a_batch_takes_its_time(waiting: Waiting, scene_of: Callable[..., Scene]) -> None:
    def stopped() -> None:
        waiting.experiment = replace(BATCHED, status="stopped", reason="lunch")

    waiting.passes = stopped
    found = await waiting.turn(scene_of())
    assert isinstance(found, Halt)
    assert (found.code, found.detail, found.attempts) == ("stopped", "lunch", ())
    assert len(waiting.calls.rows) == 1, "the question stays in its batch"


async def test_a_question_that_is_dropped_as_its_experiment_ends_is_asked_nowhere(
    waiting: Waiting, scene_of: Callable[..., Scene]
) -> None:
    """Also where this process has not heard of the end yet."""
    waiting.passes = waiting.calls.rows.clear
    found = await waiting.turn(scene_of())
    assert isinstance(found, Halt)
    assert (found.code, waiting.server.received) == ("stopped", [])


async def test_what_a_batch_did_not_answer_is_not_asked_plainly_after_a_stop(
    waiting: Waiting, scene_of: Callable[..., Scene]
) -> None:
    def passes() -> None:
        waiting.experiment = replace(BATCHED, status="stopped", reason="lunch")
        waiting.answered(None)

    waiting.passes = passes
    found = await waiting.turn(scene_of())
    assert isinstance(found, Halt)
    assert (found.code, waiting.server.received, waiting.account) == ("stopped", [], Amount())
    waiting.experiment = BATCHED
    assert isinstance(await waiting.turn(scene_of()), TurnReply)
    assert (len(waiting.server.received), waiting.account.calls) == (1, 1)


async def test_a_reply_that_is_not_an_act_is_asked_again_in_the_next_batch(
    waiting: Waiting, scene_of: Callable[..., Scene]
) -> None:
    said = ["no object at all", json.dumps({"thought": "so", "action": "idle", "target": None, "content": None})]
    waiting.passes = lambda: waiting.answered(said.pop(0))
    found = await waiting.turn(scene_of())
    assert isinstance(found, TurnReply)
    assert (found.parsed.code, found.attempt, waiting.server.received) == ("reasked", 2, [])


@pytest.fixture
async def budgeted() -> AsyncIterator[Callable[..., Waiting]]:
    """A runner whose operator allows so much a day."""
    async with FakeServer() as server:
        server.otherwise = reply(ACT, usage=(1000, 100))
        made: list[Waiting] = []

        def make(**day: Any) -> Waiting:
            made.append(Waiting(server, **day))
            return made[-1]

        yield make
        for one in made:
            await one.models.close()


async def test_what_a_batch_took_is_counted_on_the_day_on_which_it_was_asked(
    budgeted: Callable[..., Waiting], scene_of: Callable[..., Scene]
) -> None:
    waiting = budgeted(day_tokens=100_000, day_money="1")

    def passes() -> None:
        waiting.now += timedelta(hours=3)
        waiting.answered(ACT)

    waiting.passes = passes
    assert isinstance(await waiting.turn(scene_of()), TurnReply)
    assert waiting.days == {TODAY: Amount(Decimal("0.0012"), 1100, 1)}
    assert waiting.server.received == []


async def test_a_budget_of_keys_does_not_concern_an_experiment(
    budgeted: Callable[..., Waiting], scene_of: Callable[..., Scene]
) -> None:
    waiting = budgeted(key_day_tokens=1, key_day_money="0.000001")
    waiting.passes = lambda: waiting.answered(ACT)
    assert isinstance(await waiting.turn(scene_of()), TurnReply)
    assert (waiting.server.received, waiting.days) == ([], {})


async def test_what_no_batch_answered_is_counted_where_it_is_asked_plainly(
    budgeted: Callable[..., Waiting], scene_of: Callable[..., Scene]
) -> None:
    waiting = budgeted(day_tokens=100_000)

    def passes() -> None:
        waiting.now += timedelta(hours=3)
        waiting.answered(None)

    waiting.passes = passes
    assert isinstance(await waiting.turn(scene_of()), TurnReply)
    assert waiting.days == {TODAY: Amount(), TOMORROW: Amount(Decimal("0.0024"), 1100, 1)}


async def test_a_question_that_the_day_does_not_hold_waits_for_no_batch_and_does_the_next_day(
    budgeted: Callable[..., Waiting], scene_of: Callable[..., Scene]
) -> None:
    waiting = budgeted(day_tokens=10_000)
    waiting.ledger.spent[TODAY] = Amount(tokens=9_999, calls=1)
    waiting.passes = lambda: waiting.answered(ACT)
    halt = await waiting.turn(scene_of())
    assert isinstance(halt, Halt)
    assert (halt.code, "midnight UTC" in halt.detail) == ("model_away", True)
    assert (waiting.calls.rows, waiting.account.calls, waiting.account.money) == ({}, 0, Decimal(0))
    waiting.now += timedelta(seconds=2)
    assert isinstance(await waiting.turn(scene_of()), TurnReply)


async def test_a_question_aside_travels_in_batches_and_is_paid_once_whenever_it_is_killed(
    waiting: Waiting, scene_of: Callable[..., Scene]
) -> None:
    due = AgentTurn(spec(), 11, "merchant_01", ASIDE)
    said = ["no object at all", '{"answer": 5}']
    submitted: list[str] = []

    async def asked() -> TurnReply | Halt:
        return await waiting.asking.ask(due, scene_of(), LIMITS)

    def killed() -> None:
        raise Killed

    for _ in range(2):  # between submission and answer, once for each call of the ladder
        waiting.passes = killed
        with pytest.raises(Killed):
            await asked()
        submitted += waiting.calls.rows
        worst = waiting.account
        with pytest.raises(Killed):
            await asked()
        assert waiting.account == worst, "the question is found where it waits, and reserves nothing more"
        waiting.answered(said.pop(0))
        if said:
            with pytest.raises(Killed):
                await asked()  # the first reply is kept, and the second question waits
    found = await asked()
    assert isinstance(found, TurnReply)
    assert (found.parsed.code, getattr(found.parsed, "value", None), found.cost) == ("reasked", 5, "0.0024")
    assert [call["batch"] for call in found.attempts] == ["batch_1"] * 2, "each call is logged once"
    assert len(set(submitted)) == 2, "the call that asks again is another one"
    assert (waiting.account.calls, waiting.account.money) == (2, Decimal("0.0024"))
    assert (waiting.calls.rows, waiting.ledger.marks, waiting.server.received) == ({}, {}, [])
    assert await waiting.asking.lost(due, LIMITS, 0) is None
    again = await asked()
    assert isinstance(again, TurnReply)
    assert (again.parsed, waiting.account.calls) == (found.parsed, 2)

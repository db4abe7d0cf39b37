"""A judge at work: what it asks, what it finds, what stops it; also when its process is killed."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, cast

import msgspec
import pytest
from playmolt_agora.coding.thoughts import Thought
from playmolt_agora_runner.coding.judge_model import JudgeModel
from playmolt_agora_runner.coding.judge_worker import JudgeWorker
from playmolt_agora_runner.experiment import commands
from playmolt_agora_runner.experiment.coding import pinned_judge
from playmolt_agora_runner.experiment.commands import EndJudge, RecordJudgement
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.experiment.state import State
from playmolt_core.db.blobs import PromptStore
from playmolt_core.db.ledger import Account, Amount
from playmolt_core.game.decider import Command, Refused
from playmolt_core.game.fold import Snapshot
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_core.llm.durable_call import Charge, DurableCalls, WorstCase, worst_case
from playmolt_core.llm.file_ledger import MemoryLedger
from playmolt_core.llm.port import Attempt, Failed, Listener, ModelRequest, Record, Reply, Sending, Usage
from playmolt_core.log.port import Head, StoredFacts
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.instrument.laboratory import ThoughtsRequest
from playmolt_schemas.stored.agora.experiment import JudgeBudget, PinnedModel

from core.tests.llm.memory_batch_calls import MemoryBatchCalls
from core.tests.scenario import Scenario
from tests.agora_locks import opened

ID = "experiment-00000000-0000-4000-8000-000000000001"
PLAN = {"name": "n", "seed": "7", "models": ["scripted"], "phases": {"phase1": {"runs": 1, "turns": 3}}}
ENTRY = ModelEntry(
    base_url="http://127.0.0.1:1/v1", model="mini", concurrent=3, input_price=Decimal(1), output_price=Decimal(2)
)
YES = json.dumps({"survival": True, "social": False})
JUDGE = PinnedModel(alias="fake", model="mini", base_url="", input_price="1", output_price="2", scripted=False)
THOUGHTS = [Thought("agora-1", "agent_01", turn, "phase1", "en", "scripted", f"thought {turn}") for turn in range(6)]


class Killed(BaseException):
    """The process ends here."""


class Store:
    """Replies, texts, marks and accounts, in memory."""

    def __init__(self) -> None:
        self.ledger = MemoryLedger()
        self.texts: list[str] = []

    async def put(self, texts: Iterable[str]) -> list[str]:
        self.texts += texts
        return list(self.texts)

    async def reply(self, key: str) -> str | None:
        return self.ledger.replies.get(key)


class Model:
    """Replies what it is given, the last for ever: a text, a kill, or outcomes with their status, one a request."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script) or [YES]
        self.asked: list[ModelRequest] = []
        self.batched: BatchedModel | None = None
        self.day = Account(name="day")

    def unpaid(self, alias: str) -> "Model | None":
        return self if alias == "fake" else None

    def worst_case(self, request: ModelRequest, *, batched: bool = False) -> WorstCase:
        return worst_case(request, ENTRY)

    def charges(self, request: ModelRequest, *, batched: bool = False) -> list[Charge]:
        worst = worst_case(request, ENTRY)
        charge = Charge(account=self.day, worst=worst, refusal=lambda _: "was not called: the day is over")
        return [charge] if self.day.limited else []

    def in_batches(self, alias: str) -> "BatchedModel | None":
        return self.batched

    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        assert sending is not None
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        outcomes: Sequence[tuple[Any, int | None]] = [("ok", 200)] if isinstance(said, str) else said
        for outcome, status in outcomes if said is not Killed else [(Killed, 0)]:
            await sending()
            self.asked.append(request)
            if outcome is Killed:
                raise Killed
            await record(_attempt(outcome, status, said if isinstance(said, str) else ""))
        if isinstance(said, str):
            return Reply(text=said, tool_calls=(), attempts=1)
        if outcomes[-1][0] in ("refusal", "cut"):
            code: Any = "refused" if outcomes[-1][0] == "refusal" else "invalid_reply"
            return Failed(code=code, detail="no", attempts=1, cut=outcomes[-1][0] == "cut")
        return Failed(code="model_unavailable", detail="its own words", attempts=len(outcomes))


class BatchedModel:
    """Reads what a batch answered."""

    def line(self, request: ModelRequest) -> dict[str, Any]:
        return {"messages": [message.content for message in request.messages]}

    def read(self, request: ModelRequest, answer: str) -> tuple[Attempt, Reply]:
        return _attempt("ok", 200, answer), Reply(text=answer, tool_calls=(), attempts=1)


def _attempt(outcome: Any, status: int | None, text: str) -> Attempt:
    return Attempt(
        number=1, alias="fake", model_asked="mini", model_answered="mini", headers={}, request={}, decoding="prompt",
        outcome=outcome, status=status, detail="", reply=text, tool_calls=(), finish_reason="stop",
        usage=Usage(10, 5) if text else None, cost="0.5" if text else None, latency_ms=7,
    )  # fmt: skip


class Stream(Scenario[State]):
    """An experiment, and the log and lease of a worker that judges for it."""

    stopping = False

    def __init__(self, model: Model, store: Store, budget: JudgeBudget = JudgeBudget()) -> None:  # noqa: B008 -- frozen
        super().__init__(Experiment(), ID)
        self.when(opened(ID, PLAN))
        for planned in self.state.runs:
            self.when(commands.ReportRunOpened(run=planned.run))
        self.model, self.store, self.budget = model, store, budget
        self.batch = False
        self.wanted = list(THOUGHTS)
        self.calls = MemoryBatchCalls(store.ledger)
        self.steps: dict[str, Command] = {}
        self.payload, self.effect_id = "", ""

    def begin(self) -> None:
        self.when(commands.StartJudge(judge=JUDGE, turns="all", budget=self.budget, batch=self.batch))
        effect = next(effect for effect in self.decider.effects(self.state) if effect.kind == "judge")
        self.payload, self.effect_id = effect.payload, effect.id

    @property
    def snapshot(self) -> Snapshot:
        return cast("Snapshot", _Snapshot(self.state))

    async def present(self) -> Snapshot:
        return self.snapshot

    async def submit(self, command: Command, step: str = "") -> None:
        """The same step commits once."""
        await asyncio.sleep(0)
        if (name := f"{self.effect_id}/{step}") not in self.steps:
            self.steps[name] = command
            self.when(command)

    @property
    def stream(self) -> str:
        return ID

    async def work(self) -> None:
        store: Any = self.store
        catalogue = Catalogue({"fake": ENTRY})
        models: Any = self.model
        calls = DurableCalls(models, self.store.ledger, store, self.calls, sleep=lambda _: asyncio.sleep(0))
        model = JudgeModel(calls, models, catalogue, PromptStore(store))
        await JudgeWorker(cast("Any", self), model, self.thoughts)(cast("Any", self))

    async def thoughts(self, _: ThoughtsRequest) -> list[Thought]:
        return self.wanted

    async def facts(self, stream: str) -> StoredFacts:
        events = [
            (f"{event.type}:{event.schema_version}", msgspec.Raw(canonical_json(event))) for event, _, _ in self.log
        ]
        return StoredFacts(
            head=Head(version=len(events), hash="", at=self.now), events=msgspec.json.encode(events).decode(),
            times=msgspec.json.encode([at.timestamp() for _, at, _ in self.log]).decode(), command_ids=(),
        )  # fmt: skip

    @property
    def judgements(self) -> list[RecordJudgement]:
        return [command for command in self.steps.values() if isinstance(command, RecordJudgement)]

    @property
    def line(self) -> Any:
        return next(iter(self.state.judges.values()))


class _Snapshot(msgspec.Struct, frozen=True):
    state: State


async def test_every_thought_is_asked_once_with_its_name() -> None:
    stream = Stream(Model(), Store())
    stream.begin()
    await stream.work()
    asked = [request.turn.value for request in stream.model.asked if request.turn]
    assert sorted(asked) == [f"{ID} judge:agora-1:agent_01:{turn} ask" for turn in range(6)]
    assert (stream.line.status, stream.line.coded, stream.line.spent.calls) == ("done", 6, 6)
    assert len(set(stream.store.texts)) == 6, "each prompt is kept"
    stream.begin()
    await stream.work()
    assert len(stream.model.asked) == 6, "the same again asks nothing"


async def test_an_answer_in_words_is_coded_apart_from_the_thought_of_the_same_turn() -> None:
    stream = Stream(Model(), Store())
    stream.wanted = [THOUGHTS[0], *(msgspec.structs.replace(THOUGHTS[0], interview=name) for name in ("why", "how"))]
    stream.begin()
    await stream.work()
    asked = {request.turn.value for request in stream.model.asked if request.turn}
    assert asked == {f"{ID} judge:agora-1:agent_01:0{topic} ask" for topic in ("", ":why", ":how")}
    coded = [msgspec.to_builtins(event) for event, _, _ in stream.log if event.type == "judge_coded"]
    assert sorted(event.get("interview", "") for event in coded) == ["", "how", "why"]
    assert (stream.line.status, stream.line.coded) == ("done", 3)
    stream.begin()
    await stream.work()
    assert len(stream.model.asked) == 3, "the same again asks nothing"


async def test_a_kill_loses_what_was_on_its_way_and_no_reply() -> None:
    stream = Stream(Model(YES, YES, Killed, YES), Store())
    stream.begin()
    with pytest.raises(Killed):
        await stream.work()
    begun = len(stream.model.asked)
    stream.model.script = [YES]
    await stream.work()
    assert (stream.line.status, stream.line.coded, stream.line.failed) == ("done", 6, 0)
    lost = [judged for judged in stream.judgements if judged.calls[0].call["outcome"] == "lost"]
    assert len(stream.model.asked) == 6 + sum(judged.calls[0].call["lost"] for judged in lost)
    assert len(lost) >= 1
    assert begun >= 3
    assert stream.line.spent.unknown_calls == len(lost)


async def test_a_reply_that_was_whole_is_found_whatever_was_logged_of_it() -> None:
    stream = Stream(Model(), Store())
    stream.begin()
    await stream.work()
    other = Stream(Model([("rejected", 401)]), stream.store)
    other.begin()
    await other.work()
    assert (other.line.status, other.line.coded, other.model.asked) == ("done", 6, [])
    assert all(judged.calls[0].call["cache_hit"] for judged in other.judgements)


@pytest.mark.parametrize(
    ("budget", "calls"), [(JudgeBudget(calls=2), 2), (JudgeBudget(calls=0), 0), (JudgeBudget(money="0.0001"), 0)]
)
async def test_a_budget_holds_and_raised_goes_on(budget: JudgeBudget, calls: int) -> None:
    stream = Stream(Model(), Store(), budget)
    stream.begin()
    await stream.work()
    assert (stream.line.status, stream.line.spent.calls) == ("budget", calls)
    assert "Raise it" in stream.line.detail
    stream.budget = JudgeBudget(calls=100, money="100")
    stream.begin()
    await stream.work()
    assert (stream.line.status, stream.line.coded, len(stream.model.asked)) == ("done", 6, 6)


async def test_a_repeat_has_to_fit_into_the_budget_too() -> None:
    stream = Stream(Model([("server_error", 503)] * 3), Store(), JudgeBudget(calls=2))
    stream.begin()
    await stream.work()
    assert (stream.line.status, stream.line.spent.calls, len(stream.model.asked)) == ("budget", 2, 2)


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([("rejected", 401)], "model"),
        ([("rejected", 404)], "model"),
        ([("server_error", 503)] * 3, "away"),
        ([("connection", None), ("timeout", None)], "away"),
    ],
)
async def test_a_model_that_cannot_be_asked_stops_it_and_the_question_stays_open(outcomes: Any, status: str) -> None:
    stream = Stream(Model(outcomes), Store())
    stream.begin()
    await stream.work()
    assert (stream.line.status, stream.line.detail, stream.line.failed) == (status, "its own words", 0)
    assert {judged.calls[-1].code for judged in stream.judgements} == {None}
    stream.model.script = [YES]
    stream.begin()
    await stream.work()
    assert (stream.line.status, stream.line.coded) == ("done", 6)
    assert not [judged for judged in stream.judgements if judged.calls[0].call["outcome"] == "lost"], (
        "what failed was logged"
    )


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("hm", "parse_error"),
        ([("refusal", 200)], "refusal"),
        ([("cut", 200)], "cut"),
        ([("timeout", None)] * 3, "timeout"),
    ],
)
async def test_a_reply_without_labels_is_settled_and_failed(said: Any, code: str) -> None:
    stream = Stream(Model(said), Store())
    stream.begin()
    await stream.work()
    assert (stream.line.status, stream.line.coded, stream.line.failed) == ("done", 0, 6)
    assert {judged.calls[-1].code for judged in stream.judgements} == {code}
    asked = len(stream.model.asked)
    stream.begin()
    await stream.work()
    assert len(stream.model.asked) == asked


async def test_a_429_is_not_a_call() -> None:
    stream = Stream(Model([("rate_limited", 429), ("server_error", 503)], YES), Store())
    stream.begin()
    await stream.work()
    spent = stream.line.spent
    assert (spent.calls, spent.refused_calls) == (len(stream.model.asked) - 1, 1)


async def test_what_the_days_budget_does_not_hold_is_asked_the_next_day() -> None:
    stream, detail = Stream(Model(), Store()), "the budget of today does not hold the request"
    stream.begin()

    class Spent(Model):
        async def ask(self, *_: Any, **__: Any) -> Reply | Failed:
            return Failed(code="budget_spent", detail=detail, attempts=0)

    open_again, stream.model = stream.model, Spent()
    await stream.work()
    assert (stream.line.status, stream.line.detail, stream.line.coded, stream.line.failed) == ("budget", detail, 0, 0)
    stream.model = open_again
    stream.begin()
    await stream.work()
    assert (stream.line.status, stream.line.coded) == ("done", 6)


async def test_a_stop_is_heeded_before_the_next_question() -> None:
    stream = Stream(Model(), Store())
    stream.begin()

    class Stopped(Model):
        async def ask(self, *arguments: Any, **more: Any) -> Reply | Failed:
            said = await super().ask(*arguments, **more)
            stream.when(commands.StopJudge(judge="fake"))
            return said

    stream.model = Stopped()
    await stream.work()
    assert stream.line.status == "stopped"
    assert len(stream.model.asked) == ENTRY.concurrent == stream.line.coded
    assert not [command for command in stream.steps.values() if isinstance(command, EndJudge)]


def batching(store: Store | None = None) -> Stream:
    """An experiment whose judge is begun with `batch`."""
    stream = Stream(Model(), store or Store())
    stream.model.batched, stream.batch = BatchedModel(), True
    stream.begin()
    return stream


async def answered(stream: Stream, *answers: str | None) -> None:
    """Once all wait, have a batch answer each with the next of `answers`, None being no answer."""
    while len(await stream.calls.waiting(ID)) < len(answers):
        await asyncio.sleep(0)
    keys = [call.key for call in await stream.calls.waiting(ID)]
    await stream.calls.named(ID, keys, "name")
    await stream.calls.submitted(ID, "name", "batch-1")
    said = {key: answer for key, answer in zip(keys, answers, strict=True) if answer is not None}
    await stream.calls.answered(ID, "batch-1", said)


async def test_questions_travel_in_a_batch_and_what_it_does_not_answer_is_asked_plainly() -> None:
    stream = batching()
    assert [effect.kind for effect in stream.decider.effects(stream.state)].count("batches") == 1
    await asyncio.gather(stream.work(), answered(stream, *[YES] * 5, None))
    assert (stream.line.status, stream.line.coded, stream.line.spent.calls) == ("done", 6, 6)
    assert len(stream.model.asked) == 1
    assert [judged.calls[0].call.get("batch") for judged in stream.judgements].count("batch-1") == 5
    assert [effect for effect in stream.decider.effects(stream.state) if effect.kind == "batches"] == []
    assert stream.calls.rows == {}


async def test_the_day_counts_each_question_of_a_batch_once_and_gives_back_what_no_batch_answered() -> None:
    stream = batching()
    stream.model.day = Account(name="day", calls=6)
    await asyncio.gather(stream.work(), answered(stream, *[YES] * 5, None))
    assert stream.store.ledger.of("day") == Amount(Decimal(3), 6 * 15, 6)
    assert stream.store.ledger.of(f"{ID}/judge/fake") == Amount(Decimal(3), 6 * 15, 6)


async def test_a_judge_halts_at_the_day_and_takes_what_was_asked_before_on_the_next() -> None:
    stream = batching()
    stream.model.day = Account(name="day", calls=2)
    await asyncio.wait_for(stream.work(), 60)
    assert (stream.line.status, stream.line.coded, stream.line.detail) == (
        "budget",
        0,
        "fake was not called: the day is over",
    )
    assert len(await stream.calls.waiting(ID)) == 2
    stream.model.day = Account(name="day", calls=6)
    stream.begin()
    await asyncio.gather(stream.work(), answered(stream, *[YES] * 6))
    assert (stream.line.status, stream.line.coded, len(stream.model.asked)) == ("done", 6, 0)


async def test_a_judge_that_is_stopped_finds_its_questions_waiting() -> None:
    stream = batching()
    work = asyncio.create_task(stream.work())
    while len(await stream.calls.waiting(ID)) < 6:
        await asyncio.sleep(0)
    stream.when(commands.StopJudge(judge="fake"))
    await asyncio.wait_for(work, 60)
    assert (stream.line.status, stream.judgements) == ("stopped", [])
    stream.begin()
    await asyncio.gather(stream.work(), answered(stream, *[YES] * 6))
    assert (stream.line.status, stream.line.coded, len(stream.model.asked)) == ("done", 6, 0)


async def test_a_kill_while_a_batch_is_under_way_submits_nothing_twice() -> None:
    stream = batching()
    work = asyncio.create_task(stream.work())
    while len(await stream.calls.waiting(ID)) < 6:
        await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait([work])
    await answered(stream, *[YES] * 6)
    await stream.work()
    assert (stream.line.status, stream.line.coded, len(stream.model.asked)) == ("done", 6, 0)


def test_a_model_that_takes_no_batches_is_refused() -> None:
    catalogue = Catalogue({"fake": ENTRY, "cheap": msgspec.structs.replace(ENTRY, batch=True)})
    assert isinstance(pinned_judge("fake", JudgeBudget(), catalogue, batch=True), Refused)
    assert isinstance(pinned_judge("scripted", JudgeBudget(), catalogue, batch=True), Refused)
    assert isinstance(pinned_judge("cheap", JudgeBudget(), catalogue, batch=True), PinnedModel)


def test_a_scripted_model_that_does_not_exist_judges_nothing() -> None:
    refused = pinned_judge("scripted-unknown", JudgeBudget(), Catalogue(), batch=False)
    assert isinstance(refused, Refused)
    assert "it has scripted, scripted-drifter" in refused.detail

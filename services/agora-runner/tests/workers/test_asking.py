"""What is asked of a model, and what is known already (agora.md, Cache)."""

import json
from collections.abc import Awaitable, Callable, Iterable
from decimal import Decimal
from typing import Any, cast

import msgspec
import pytest
from playmolt_agora_runner.experiment.commands import Stop, StopForBudget
from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import AgentTurn
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.workers.turn_model import LIMITED_PAUSES, Halt, TurnModel
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_core.llm.durable_call import Charge, DurableCalls, WorstCase, worst_case
from playmolt_core.llm.file_ledger import MemoryLedger
from playmolt_core.llm.port import (
    REPLY_UNREAD,
    TRANSPORT_FAULTS,
    Attempt,
    AttemptOutcome,
    Failed,
    Listener,
    ModelRequest,
    Record,
    Reply,
    Sending,
    Usage,
)
from playmolt_schemas.instrument.usage import lost_call
from playmolt_schemas.stored.agora.plan import Budget
from playmolt_schemas.stored.agora.turn import Interview, InterviewAsk, InterviewScale, RunSpec, SamplingSettings, Seat

from core.tests.llm.memory_batch_calls import MemoryBatchCalls

CATALOGUE = Catalogue({"fake": ModelEntry(base_url="http://127.0.0.1:1/v1", model="mini")})
ACT = json.dumps({"thought": "so", "action": "speak", "target": None, "content": "hello"})


class Blobs:
    """Texts, beside the replies of a ledger."""

    def __init__(self, ledger: MemoryLedger) -> None:
        self.ledger = ledger

    async def put(self, texts: Iterable[str]) -> list[str]:
        return list(texts)

    async def reply(self, key: str) -> str | None:
        return self.ledger.replies.get(key)


class Cut:
    """What a model has no room to say."""


class Killed(BaseException):
    """The process ends here."""


async def _at_once() -> None:
    """No limit to wait for."""


class Experiments:
    """One that is not in batches."""

    async def of(self, experiment: str) -> State:
        return State(game_id=experiment)


ALONE = cast("Any", Experiments())


class Model:
    """Says what it is told to, the last for ever; a failure code is a call that came to nothing."""

    def __init__(self) -> None:
        self.script: list[Any] = [ACT]
        self.asked: list[ModelRequest] = []
        self.code = ""
        self.entry = CATALOGUE.models["fake"]
        self.usage: Usage | None = Usage(10, 5)
        self.waits: Callable[[], Awaitable[None]] = _at_once

    def unpaid(self, alias: str) -> "Model | None":
        return self if alias in CATALOGUE.models else None

    def charges(self, _: ModelRequest, *, batched: bool) -> list[Charge]:
        """No day has a limit."""
        return []

    def worst_case(self, request: ModelRequest, *, batched: bool) -> WorstCase:
        return worst_case(request, self.entry)

    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        await self.waits()
        if sending is not None:
            await sending()
        self.asked.append(request)
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(said, list):
            for outcome, status in said:
                await record(self._attempt(outcome, "", status))
                if outcome in TRANSPORT_FAULTS and sending is not None:
                    await sending()
            said = self.script[0]
        if said is Killed:
            raise Killed
        if isinstance(said, tuple):
            await record(msgspec.structs.replace(self._attempt(said[0], "", said[1]), code=self.code))
            return Failed(code="model_unavailable", detail="refused", attempts=1)
        if said is Cut:
            await record(self._attempt("cut", ""))
            return Failed(code="invalid_reply", detail="no room", attempts=1, cut=True)
        refused = said is Failed
        await record(self._attempt("refusal" if refused else "ok", "" if refused else said))
        if refused:
            return Failed(code="refused", detail="no", attempts=1)
        return Reply(text=said, tool_calls=(), attempts=1)

    def _attempt(self, outcome: AttemptOutcome, text: str, status: int | None = 200) -> Attempt:
        return Attempt(
            number=1, alias="fake", model_asked="mini", model_answered="mini-2", headers={}, request={},
            decoding="prompt", outcome=outcome, status=status, detail="", reply=text, tool_calls=(),
            finish_reason="stop", usage=self.usage, cost=self.usage and "0.5", latency_ms=7,
        )  # fmt: skip


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger()


@pytest.fixture
def asking(model: Model, ledger: MemoryLedger) -> TurnModel:
    blobs: Any = Blobs(ledger)
    calls = DurableCalls(cast("Any", model), ledger, blobs, MemoryBatchCalls(ledger))
    return TurnModel(calls, CATALOGUE, blobs, ALONE)


def spec(**changes: Any) -> RunSpec:
    values: dict[str, Any] = {
        "experiment": "experiment-1", "run": "agora-1", "number": 1, "cell": "phase1/fake/ko", "phase": "phase1",
        "set": None, "language": "ko", "persona_condition": "with_persona", "seed": "7", "turns": 50,
        "seats": (
            Seat(agent="merchant_01", model="fake", persona="merchant", home="market"),
            Seat(agent="merchant_02", model="fake", persona="merchant", home="market"),
        ),
    }  # fmt: skip
    return RunSpec(**(values | changes))


def due(scene: Scene, **changes: Any) -> AgentTurn:
    return AgentTurn(spec(**changes), scene.turn, scene.agent)


async def turn(asking: TurnModel, scene: Scene, lost: int = 0, logged: int = 0, **changes: Any) -> Any:
    found = await asking.ask(due(scene, **changes), scene, Budget(), lost, logged)
    assert not isinstance(found, Halt), found
    return found


async def test_a_reply_that_is_known_is_not_asked_for_again(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
) -> None:
    first, second = [await turn(asking, scene_of()) for _ in range(2)]
    assert len(model.asked) == 1
    assert (first.cache_hit, second.cache_hit) == (False, True)
    assert [call.get("cache_hit", False) for call in (*first.attempts, *second.attempts)] == [False, True]
    assert (first.parsed, first.raw_reply, first.model_answered) == (second.parsed, second.raw_reply, "mini-2")


@pytest.mark.parametrize(
    ("scene", "changes"),
    [
        ({"turn": 13}, {}),
        ({"agent": "merchant_02"}, {}),
        ({}, {"run": "agora-2"}),
        ({}, {"sampling": SamplingSettings(temperature="0.1")}),
        ({}, {"decoding": "json_schema"}),
        ({"treasury": 9}, {}),
    ],
    ids=["turn", "agent", "run", "sampling", "decoding", "prompt"],
)
async def test_another_replicate_or_setting_is_another_call(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene], scene: Any, changes: Any
) -> None:
    await turn(asking, scene_of())
    other = await turn(asking, scene_of(**scene), **changes)
    assert (len(model.asked), other.cache_hit) == (2, False)


@pytest.mark.parametrize("said", [Failed, "I'm sorry, but I cannot take part in this."])
async def test_an_answer_is_kept_whatever_it_says(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene], said: Any
) -> None:
    model.script = [said, ACT]
    first, second = [await turn(asking, scene_of()) for _ in range(2)]
    assert (first.parsed.code, second.parsed.code, len(model.asked)) == ("refusal", "refusal", 1)
    assert second.cache_hit


async def lost(asking: TurnModel, scene: Scene, logged: int = 0) -> dict[str, object] | None:
    return await asking.lost(due(scene), Budget(), logged)


LOST = lost_call(1, 1) | {"alias": "fake"}


class TestLost:
    """What a process that is killed leaves behind (agora.md, Resume)."""

    async def test_a_request_on_its_way_is_lost_once(
        self, asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
    ) -> None:
        model.script = [Killed, ACT]
        with pytest.raises(Killed):
            await turn(asking, scene_of())
        assert await lost(asking, scene_of()) == LOST | {"lost": 1, "ask": 1}
        assert await lost(asking, scene_of(), logged=1) is None, "the log holds it"
        again = await turn(asking, scene_of(), 1, logged=1)
        assert (again.attempt, len(model.asked)) == (2, 2)
        assert await lost(asking, scene_of(), logged=1) is None, "its reply is kept"

    async def test_a_second_kill_is_one_more(
        self, asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
    ) -> None:
        model.script = [Killed, Killed, ACT]
        for logged in (0, 1):
            with pytest.raises(Killed):
                await turn(asking, scene_of(), logged, logged=logged)
        assert await lost(asking, scene_of(), logged=1) == LOST | {"lost": 1, "ask": 1}

    async def test_who_waits_for_room_has_lost_nothing(
        self, asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
    ) -> None:
        async def killed_in_the_queue() -> None:
            raise Killed

        model.waits = killed_in_the_queue
        with pytest.raises(Killed):
            await turn(asking, scene_of())
        assert await lost(asking, scene_of()) is None

    async def test_a_reply_that_was_kept_and_not_logged_is_taken_and_nothing_is_lost(
        self, asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
    ) -> None:
        await turn(asking, scene_of())
        assert await lost(asking, scene_of()) is None
        found = await turn(asking, scene_of(), 3, logged=3)
        assert (found.cache_hit, found.attempt, len(model.asked)) == (True, 4, 1)

    async def test_repeats_of_one_question_are_lost_together_and_a_429_is_none(
        self, asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
    ) -> None:
        model.script = [[("server_error", 500), ("rate_limited", 429)], Killed]
        with pytest.raises(Killed):
            await turn(asking, scene_of())
        assert await lost(asking, scene_of()) == LOST | {"lost": 2, "ask": 1}

    async def test_a_kill_in_the_second_question_keeps_the_first_reply(
        self, asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
    ) -> None:
        model.script = ["no object at all", Killed, ACT]
        with pytest.raises(Killed):
            await turn(asking, scene_of())
        assert await lost(asking, scene_of()) == LOST | {"lost": 1, "ask": 2}
        found = await turn(asking, scene_of(), 1, logged=1)
        assert (found.parsed.code, found.attempt, len(model.asked)) == ("reasked", 3, 3)
        assert [call.get("cache_hit", False) for call in found.attempts] == [True, False]

    async def test_another_turns_mark_is_nobodys_loss(
        self, asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
    ) -> None:
        model.script = [Killed]
        with pytest.raises(Killed):
            await turn(asking, scene_of())
        assert await lost(asking, scene_of(turn=13)) is None


async def test_a_second_question_shows_the_first_reply_and_is_a_call_of_its_own(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
) -> None:
    model.script = ["no object at all", ACT]
    first, second = [await turn(asking, scene_of()) for _ in range(2)]
    assert (first.parsed.code, first.attempt, len(first.attempts)) == ("reasked", 2, 2)
    assert (second.parsed.code, second.cache_hit, len(model.asked)) == ("reasked", True, 2)
    assert [message.content for message in model.asked[1].messages][2] == "no object at all"
    assert (first.tokens.prompt, first.tokens.completion, first.cost) == (20, 10, "1")


async def test_scripted_models_are_never_kept(asking: TurnModel, model: Model, scene_of: Callable[..., Scene]) -> None:
    seats = (Seat(agent="merchant_01", model="scripted-steady", persona="merchant", home="market"),)
    found = [await turn(asking, scene_of(), seats=seats) for _ in range(2)]
    assert [each.cache_hit for each in found] == [False, False]
    assert model.asked == []


@pytest.mark.parametrize(("status", "access"), [(401, False), (402, False), (404, False), (400, True), (422, True)])
async def test_a_refused_key_differs_from_a_refused_setting(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene], status: int, access: bool
) -> None:
    model.script = [("rejected", status)]
    halt = await asking.ask(due(scene_of()), scene_of(), Budget())
    assert isinstance(halt, Halt)
    assert isinstance(halt.stop, Stop)
    assert (halt.code, halt.stop.model, halt.stop.status) == ("stopped", "fake", status)
    assert halt.stop.kind == ("setting" if access else "model")


@pytest.mark.parametrize(("outcome", "status", "limited"), [("rate_limited", 429, True), ("server_error", 500, False)])
async def test_a_limit_differs_from_another_fault(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene], outcome: str, status: int, limited: bool
) -> None:
    model.script = [(outcome, status)] * 2
    before, halt = [
        await asking.ask(due(scene_of()), scene_of(), Budget(), pauses=pauses)
        for pauses in (LIMITED_PAUSES - 1, LIMITED_PAUSES)
    ]
    assert isinstance(before, Halt)
    assert isinstance(halt, Halt)
    assert (before.code, before.stop, halt.code) == ("model_away", None, "model_away")
    assert isinstance(halt.stop, Stop) == limited
    if isinstance(halt.stop, Stop):
        assert (halt.stop.kind, halt.stop.model, halt.stop.status) == ("model", "fake", 429)
        assert "out of credit, or limited for good" in halt.stop.reason


async def test_a_reply_that_its_server_could_not_read_is_a_turn_without_a_usable_reply(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
) -> None:
    """It was written and paid for; a pause would only put the same question again."""
    model.script, model.code = [("malformed", 500)], REPLY_UNREAD
    found = await turn(asking, scene_of())
    assert (found.parsed.code, found.parsed.valid) == ("parse_error", False)


async def test_a_reply_without_room_is_a_code_of_its_own_and_not_asked_for_again(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
) -> None:
    model.script = [Cut]
    found = await turn(asking, scene_of(), reask=2)
    assert (found.parsed.code, found.parsed.valid) == ("cut", False)
    assert len(model.asked) == 1


async def test_429s_are_not_attempts_cost_nothing_and_need_no_budget_of_their_own(
    asking: TurnModel, model: Model, ledger: MemoryLedger, scene_of: Callable[..., Scene]
) -> None:
    model.script = [[("rate_limited", 429)] * 5, ACT]
    found = await asking.ask(due(scene_of()), scene_of(), Budget(calls=1))
    assert isinstance(found, TurnReply)
    assert (found.parsed.code, found.attempt, ledger.of("experiment-1").calls) == ("ok", 1, 1)
    assert ledger.marks == {}


async def test_what_a_failed_request_had_reserved_is_free_for_its_repeat(
    model: Model, ledger: MemoryLedger, scene_of: Callable[..., Scene]
) -> None:
    """Seen: a budget that held one worst case stopped after a 500 without usage."""
    priced = msgspec.structs.replace(CATALOGUE.models["fake"], input_price=Decimal(1), output_price=Decimal(1))
    blobs: Any = Blobs(ledger)
    calls = DurableCalls(cast("Any", model), ledger, blobs, MemoryBatchCalls(ledger))
    asking = TurnModel(calls, Catalogue({"fake": priced}), blobs, ALONE)
    model.usage, model.entry = None, priced
    await asking.ask(due(scene_of()), scene_of(), Budget(money="9"))
    worst = str(ledger.of("experiment-1").money)
    model.script = [[("server_error", 500)], ACT]
    tight = [spec(run=run, experiment="experiment-2") for run in ("agora-2", "agora-3")]
    found = await asking.ask(AgentTurn(tight[0], 12, "merchant_01"), scene_of(), Budget(money=worst))
    assert isinstance(found, TurnReply)
    assert found.attempt == 2
    over = await asking.ask(AgentTurn(tight[1], 12, "merchant_01"), scene_of(), Budget(money=worst))
    assert isinstance(over, Halt), "a reply without figures holds its worst case"
    assert isinstance(over.stop, StopForBudget)


ASIDE = Interview(id="trust", at=(12,), ask=InterviewAsk(ko="믿습니까?"), scale=InterviewScale(from_=1, to=7))
FIVE = '{"answer": 5}'


async def aside(asking: TurnModel, scene: Scene, logged: int = 0, **changes: Any) -> Any:
    asked = AgentTurn(spec(**changes), scene.turn - 1, scene.agent, ASIDE)
    found = await asking.ask(asked, scene, Budget(), logged=logged)
    assert not isinstance(found, Halt), found
    return found


async def test_a_question_aside_is_asked_once_and_apart_from_the_turn(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
) -> None:
    model.script = [FIVE, ACT]
    first, second = [await aside(asking, scene_of()) for _ in range(2)]
    assert (first.parsed, len(model.asked)) == (second.parsed, 1)
    assert (first.parsed.code, first.parsed.value, first.cost) == ("ok", 5, "0.5")
    assert first.tokens.prompt == 10
    assert {call["interview"] for call in (*first.attempts, *second.attempts)} == {"trust"}
    assert second.attempts[0]["cache_hit"]
    assert (
        model.asked[0].all_headers()["X-PlayMolt-Turn"]
        == f"agora-1 interview:{scene_of().turn - 1}:merchant_01:trust ask"
    )
    taken = await turn(asking, scene_of())
    assert (taken.parsed.action, len(model.asked)) == ("speak", 2)


@pytest.mark.parametrize("decoding", ["prompt", "json_object", "json_schema"])
async def test_the_answer_is_asked_for_in_every_decoding(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene], decoding: Any
) -> None:
    model.script = [FIVE]
    assert (await aside(asking, scene_of(), decoding=decoding)).parsed.value == 5
    (asked,) = model.asked
    assert (asked.decoding, asked.schema is None) == (decoding, decoding == "prompt")
    assert '"answer"' in asked.messages[-1].content


@pytest.mark.parametrize("reask", [0, 1, 2])
async def test_an_unusable_answer_is_asked_for_again_as_the_plan_says(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene], reask: int
) -> None:
    model.script = ["no idea"]
    failed = await aside(asking, scene_of(), reask=reask)
    assert (failed.parsed.code, len(model.asked), len(failed.attempts)) == ("parse_error", 1 + reask, 1 + reask)
    assert failed.cost == str(0.5 * (1 + reask)).removesuffix(".0")
    model.script = ["no idea", FIVE]
    if reask:
        assert (await aside(asking, scene_of(), reask=reask, run="agora-2")).parsed.code == "reasked"


@pytest.mark.parametrize(
    ("said", "code"),
    [(Failed, "refusal"), (Cut, "cut"), (("timeout", None), "timeout")],
    ids=["refusal", "cut", "timeout"],
)
async def test_a_question_that_fails_is_not_asked_again(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene], said: Any, code: str
) -> None:
    model.script = [said]
    assert (await aside(asking, scene_of(), reask=2)).parsed.code == code
    assert len(model.asked) == 1


async def test_a_lost_question_is_told_of_the_question_and_not_of_a_turn(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
) -> None:
    model.script = [Killed]
    scene = scene_of()
    asked = AgentTurn(spec(), scene.turn, scene.agent, ASIDE)
    with pytest.raises(Killed):
        await asking.ask(asked, scene, Budget())
    assert await lost(asking, scene) is None
    assert await asking.lost(asked, Budget(), 0) == LOST | {"interview": "trust"}


async def test_a_model_that_is_away_pauses_and_is_no_answer(
    asking: TurnModel, model: Model, scene_of: Callable[..., Scene]
) -> None:
    model.script = [("server_error", 503)]
    found = await asking.ask(AgentTurn(spec(), 1, "merchant_01", ASIDE), scene_of(), Budget())
    assert isinstance(found, Halt)
    assert found.code == "model_away"

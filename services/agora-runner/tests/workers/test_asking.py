"""What is asked of a model, and what is known already (agora.md, Cache)."""

import json
from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest
from playmolt_agora.scripted import residents
from playmolt_agora.turn.reply import TurnReply
from playmolt_agora.turn.scene import Scene
from playmolt_agora.workers.asking import Asking, Halt
from playmolt_agora.workers.budget_reservations import BudgetReservations
from playmolt_agora.workers.prompt_store import PromptStore
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_core.llm.port import Attempt, AttemptOutcome, Failed, ModelRequest, Record, Reply, Usage
from playmolt_schemas.agora.plan import Budget
from playmolt_schemas.agora.turn import RunSpec, Sampling, Seat

CATALOGUE = Catalogue({"fake": ModelEntry(base_url="http://127.0.0.1:1/v1", model="mini")})
ACT = json.dumps({"thought": "so", "action": "speak", "target": None, "content": "hello"})


class Blobs:
    """A store in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    async def put(self, texts: Iterable[str]) -> list[str]:
        return list(texts)

    async def reply(self, key: str) -> str | None:
        return self.kept.get(key)

    async def keep_reply(self, key: str, body: str) -> None:
        self.kept[key] = body


class Model:
    """Says what it is told to, the last for ever; a failure code is a call that came to nothing."""

    def __init__(self) -> None:
        self.script: list[Any] = [ACT]
        self.asked: list[ModelRequest] = []

    def get(self, alias: str) -> "Model | None":
        return self if alias in CATALOGUE.models else None

    async def ask(self, request: ModelRequest, record: Record) -> Reply | Failed:
        self.asked.append(request)
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        refused = said is Failed
        await record(_attempt("refusal" if refused else "ok", "" if refused else said))
        if refused:
            return Failed(code="refused", detail="no", attempts=1)
        return Reply(text=said, tool_calls=(), attempts=1)


def _attempt(outcome: AttemptOutcome, text: str) -> Attempt:
    return Attempt(
        number=1, alias="fake", model_asked="mini", model_answered="mini-2", headers={}, request={}, decoding="prompt",
        outcome=outcome, status=200, detail="", reply=text, tool_calls=(), finish_reason="stop",
        usage=Usage(10, 5), cost="0.5", latency_ms=7,
    )  # fmt: skip


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def asking(model: Model) -> Asking:
    blobs: Any = Blobs()
    reservations = BudgetReservations(cast("Any", None), CATALOGUE)  # without a budget nobody counts
    return Asking(cast("Any", model), residents.cast(), CATALOGUE, blobs, PromptStore(blobs), reservations)


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


async def turn(asking: Asking, scene: Scene, lost: int = 0, **changes: Any) -> TurnReply:
    found = await asking.turn(spec(**changes), scene, Budget(), lost)
    assert not isinstance(found, Halt), found
    return found


async def test_a_reply_that_is_known_is_not_asked_for_again(
    asking: Asking, model: Model, scene_of: Callable[..., Scene]
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
        ({}, {"lost": 1}),
        ({}, {"sampling": Sampling(temperature="0.1")}),
        ({}, {"decoding": "json_schema"}),
        ({"treasury": 9}, {}),
    ],
    ids=["turn", "agent", "run", "attempt", "sampling", "decoding", "prompt"],
)
async def test_another_replicate_or_setting_is_another_call(
    asking: Asking, model: Model, scene_of: Callable[..., Scene], scene: Any, changes: Any
) -> None:
    await turn(asking, scene_of())
    other = await turn(asking, scene_of(**scene), **changes)
    assert (len(model.asked), other.cache_hit) == (2, False)


@pytest.mark.parametrize("said", [Failed, "I'm sorry, but I cannot take part in this."])
async def test_a_refusal_is_not_kept(asking: Asking, model: Model, scene_of: Callable[..., Scene], said: Any) -> None:
    model.script = [said, ACT]
    first, second = [await turn(asking, scene_of()) for _ in range(2)]
    assert (first.parsed.code, second.parsed.code, len(model.asked)) == ("refusal", "ok", 2)


async def test_a_second_question_shows_the_first_reply_and_is_a_call_of_its_own(
    asking: Asking, model: Model, scene_of: Callable[..., Scene]
) -> None:
    model.script = ["no object at all", ACT]
    first, second = [await turn(asking, scene_of()) for _ in range(2)]
    assert (first.parsed.code, first.attempt, len(first.attempts)) == ("reasked", 2, 2)
    assert (second.parsed.code, second.cache_hit, len(model.asked)) == ("reasked", True, 2)
    assert [message.content for message in model.asked[1].messages][2] == "no object at all"
    assert (first.tokens.prompt, first.tokens.completion, first.cost) == (20, 10, "1")


async def test_scripted_models_are_never_kept(asking: Asking, model: Model, scene_of: Callable[..., Scene]) -> None:
    seats = (Seat(agent="merchant_01", model="scripted-steady", persona="merchant", home="market"),)
    found = [await turn(asking, scene_of(), seats=seats) for _ in range(2)]
    assert [each.cache_hit for each in found] == [False, False]
    assert model.asked == []

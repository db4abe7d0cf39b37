"""Scripted models: pure functions of seed and request, true to every schema the games use."""

from typing import Any

import msgspec
import pytest
from playmolt_core.llm.conversation import Answered, ask_object
from playmolt_core.llm.parsing import Parsed, parse_arguments, parse_object
from playmolt_core.llm.port import Attempt, ChatMessage, Failed, ModelRequest, Reply, Tool, TurnHeader
from playmolt_core.llm.scripted.model import Cast, Said, ScriptedModel, ScriptedTurn
from playmolt_core.llm.scripted.replies import true_to

STATEMENT = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "maxLength": 40},
        "basis": {"anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 1}, {"const": "Unknown"}]},
        "issue": {"type": ["string", "null"]},
    },
    "required": ["text", "basis", "issue"],
    "additionalProperties": False,
}
SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"Findings": {"type": "array", "items": STATEMENT, "minItems": 2, "maxItems": 3}}},
    {"$defs": {"s": STATEMENT}, "type": "object", "properties": {"a": {"$ref": "#/$defs/s"}}, "required": ["a"]},
    {
        "type": "object",
        "properties": {
            "topics": {"type": "array", "items": {"enum": ["mercy", "proof"]}, "uniqueItems": True, "maxItems": 3},
            "sure": {"type": "boolean"},
            "count": {"type": "integer", "minimum": 3, "maximum": 9, "multipleOf": 3},
            "long": {"type": "string", "minLength": 300},
            "nothing": {"type": "array", "maxItems": 0},
        },
        "required": ["topics", "sure", "count", "long", "nothing"],
        "additionalProperties": False,
    },
]
LOOK = Tool("look", "Looks.", {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "string"}}}})


def request(text: str = "Who did it?", **parts: Any) -> ModelRequest:
    return ModelRequest(**({"alias": "scripted", "messages": (ChatMessage("user", text),)} | parts))


async def ask(asked: ModelRequest, cast: Cast | None = None, seed: str = "0") -> tuple[Reply | Failed, list[Attempt]]:
    attempts: list[Attempt] = []

    async def record(attempt: Attempt) -> None:
        attempts.append(attempt)

    return await ScriptedModel(cast or Cast(), seed).ask(asked, record), attempts


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("seed", ["0", "1", "2", "3"])
async def test_the_generic_character_is_true_to_the_schema(schema: dict[str, Any], seed: str) -> None:
    answer, _ = await ask(request(schema=schema), seed=seed)
    assert isinstance(answer, Reply)
    assert isinstance(parse_object(answer.text, schema), Parsed)


async def test_the_same_request_and_seed_give_the_same_attempt_and_others_differ() -> None:
    asked = request(schema=SCHEMAS[0])
    assert await ask(asked) == await ask(asked)
    said = {str((await ask(asked, seed=str(seed)))[0]) for seed in range(8)}
    told = {str((await ask(request(f"q{n}", schema=SCHEMAS[0])))[0]) for n in range(8)}
    assert len(said) > 1
    assert len(told) > 1


async def test_it_speaks_the_language_of_the_conversation() -> None:
    korean, _ = await ask(request("누가 했습니까?"))
    english, _ = await ask(request())
    assert isinstance(korean, Reply)
    assert isinstance(english, Reply)
    assert not korean.text.isascii()
    assert english.text.isascii()


async def test_an_attempt_is_recorded_like_any_other_and_costs_nothing() -> None:
    answer, (attempt,) = await ask(request(schema=SCHEMAS[0], turn=TurnHeader("s-1", "JUDGE_R1")))
    assert isinstance(answer, Reply)
    assert (attempt.outcome, attempt.cost, attempt.latency_ms, attempt.reply) == ("ok", "0", 0, answer.text)
    assert attempt.headers == {"X-PlayMolt-Turn": "s-1 JUDGE_R1 ask"}
    assert attempt.usage is not None
    assert attempt.usage.total > 0


@pytest.mark.parametrize("choice", ["required", "look"])
async def test_a_tool_that_is_demanded_is_called_with_true_arguments(choice: str) -> None:
    answer, _ = await ask(request(tools=(LOOK,), tool_choice=choice))
    assert isinstance(answer, Reply)
    (call,) = answer.tool_calls
    assert call.name == "look"
    assert isinstance(parse_arguments(call, LOOK.parameters), Parsed)


async def test_free_tools_are_sometimes_used_but_never_after_a_result_or_when_forbidden() -> None:
    def called(answer: Reply | Failed) -> bool:
        return isinstance(answer, Reply) and bool(answer.tool_calls)

    free = [called((await ask(request(f"q{n}", tools=(LOOK,))))[0]) for n in range(20)]
    assert {*free} == {True, False}
    after = [
        called(
            (await ask(request(messages=(ChatMessage("user", f"q{n}"), ChatMessage("tool", "r")), tools=(LOOK,))))[0]
        )
        for n in range(20)
    ]
    none = [called((await ask(request(f"q{n}", tools=(LOOK,), tool_choice="none")))[0]) for n in range(20)]
    assert not any(after + none)


async def test_characters_play_the_turns_they_were_given_the_last_one_added_first() -> None:
    cast = Cast()
    cast.add(lambda turn: Said(f"judge {turn.kind}"), turn="JUDGE_*")
    cast.add(lambda _: Said("round two"), turn="*_R2")
    cast.add(lambda _: Said("hawk"), alias="scripted-hawk")
    cast.add(lambda _: Said("topics"), schema="classify")

    async def said(**parts: Any) -> str:
        answer, _ = await ask(request(**parts), cast)
        assert isinstance(answer, Reply)
        return answer.text

    assert await said(turn=TurnHeader("s", "JUDGE_R1", "repair")) == "judge repair"
    assert await said(turn=TurnHeader("s", "JUDGE_R2")) == "round two"
    assert await said(alias="scripted-hawk") == "hawk"
    assert await said(schema_name="classify", turn=TurnHeader("s", "JUDGE_R1")) == "topics"
    assert cast.knows("scripted-hawk")
    assert not cast.knows("scripted-dove")


async def test_an_unknown_character_is_a_model_that_is_not_there() -> None:
    answer, attempts = await ask(request(alias="scripted-dove"))
    assert isinstance(answer, Failed)
    assert (answer.code, answer.attempts, attempts) == ("model_unavailable", 0, [])


@pytest.mark.parametrize(
    ("said", "code", "outcome"),
    [(Said("never", refusal=True), "refused", "refusal"), (Said(" "), "invalid_reply", "empty")],
)
async def test_a_character_may_misbehave_like_a_model(said: Said, code: str, outcome: str) -> None:
    cast = Cast()
    cast.add(lambda _: said)
    answer, (attempt,) = await ask(request(), cast)
    assert isinstance(answer, Failed)
    assert (answer.code, attempt.outcome) == (code, outcome)


async def test_a_character_that_talks_nonsense_first_is_repaired() -> None:
    def clumsy(turn: ScriptedTurn) -> Said:
        return Said("{}" if turn.kind == "repair" else "nonsense")

    cast = Cast()
    cast.add(clumsy)
    attempts: list[Attempt] = []

    async def record(attempt: Attempt) -> None:
        attempts.append(attempt)

    asked = request(schema={"type": "object"}, turn=TurnHeader("s", "t"))
    answer = await ask_object(ScriptedModel(cast), asked, record)
    assert isinstance(answer, Answered)
    assert (answer.repairs, [attempt.reply for attempt in attempts]) == (1, ["nonsense", "{}"])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^[0-9]{4}$"},
        {"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}}}},
    ],
)
def test_a_schema_beyond_the_generic_character_asks_for_one_of_its_own(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="add a character"):
        true_to(schema, lambda _, bound: bound - 1)


def test_a_scene_can_be_described_without_its_request() -> None:
    turn = ScriptedTurn(request(), "0")
    assert (turn.name, turn.kind) == ("", "ask")
    assert msgspec.structs.astuple(turn)[1] == "0"

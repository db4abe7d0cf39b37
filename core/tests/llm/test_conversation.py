"""An object is asked for until the reply is one, at most twice more."""

from typing import Any

import pytest
from playmolt_core.llm.conversation import Answered, ask_object
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.port import Attempt, ChatMessage, Failed, ModelRequest, TurnHeader

from core.tests.clock import Clock
from core.tests.llm.fake_server import FakeServer, Step, fenced, huge, reply, status

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
GOOD = reply('{"a":1}')
REQUEST = ModelRequest(
    alias="fake",
    messages=(ChatMessage("system", "s"), ChatMessage("user", "q")),
    turn=TurnHeader("legal-1", "JUDGE_R1"),
    schema=SCHEMA,
)


async def ask(*steps: Step, **parts: Any) -> tuple[Answered | Failed, FakeServer, list[Attempt]]:
    attempts: list[Attempt] = []

    async def record(attempt: Attempt) -> None:
        attempts.append(attempt)

    clock = Clock()

    async with FakeServer(*steps) as server:
        server.otherwise = reply("nobody should ask for this")
        model = OpenAIModel(server.entry(), "", MemoryLimits(clock=clock), sleep=clock.sleep)
        answer = await ask_object(model, REQUEST, record, **parts)
        await model.close()
        return answer, server, attempts


@pytest.mark.parametrize("step", [GOOD, fenced({"a": 1})])
async def test_a_good_object_needs_one_request(step: Step) -> None:
    answer, server, _ = await ask(step)
    assert isinstance(answer, Answered)
    assert (answer.value, answer.attempts, answer.repairs, len(server.received)) == ({"a": 1}, 1, 0, 1)


async def test_a_game_may_take_more_than_it_asks_for() -> None:
    answer, server, _ = await ask(
        reply('{"b":2}'), accepted={"type": "object", "properties": {"b": {"type": "integer"}}}
    )
    assert isinstance(answer, Answered)
    assert (answer.value, len(server.received)) == ({"b": 2}, 1)
    assert server.received[0].body["response_format"]["json_schema"]["schema"] == SCHEMA


async def test_a_bad_reply_is_asked_for_again_with_itself_and_its_fault() -> None:
    answer, server, attempts = await ask(reply('{"a":"x"}'), GOOD)
    assert isinstance(answer, Answered)
    assert (answer.attempts, answer.repairs) == (2, 1)
    assert [asked.turn for asked in server.received] == ["legal-1 JUDGE_R1 ask", "legal-1 JUDGE_R1 repair"]
    *before, bad, demand = server.received[1].body["messages"]
    assert before == server.received[0].body["messages"]
    assert bad == {"role": "assistant", "content": '{"a":"x"}'}
    assert "a: is a string, has to be integer" in demand["content"]
    assert [attempt.outcome for attempt in attempts] == ["ok", "ok"]


async def test_the_second_repair_holds_only_the_newest_bad_reply() -> None:
    _, server, _ = await ask(reply("first"), reply("second"), GOOD)
    assert [message["content"] for message in server.received[2].body["messages"]][2:3] == ["second"]
    assert len(server.received[2].body["messages"]) == 4


async def test_after_two_repairs_the_turn_fails_with_the_last_fault() -> None:
    answer, server, _ = await ask(*[reply("no")] * 2, reply('{"b":1}'), GOOD)
    assert isinstance(answer, Failed)
    assert (answer.code, answer.attempts, len(server.received), answer.reply) == ("invalid_reply", 3, 3, '{"b":1}')
    assert '"a" are missing' in answer.detail


@pytest.mark.parametrize("bad", [reply(""), reply(refusal="never"), huge(), reply('{"a":1,"a":2}'), reply("[]")])
async def test_whatever_does_not_parse_is_repaired(bad: Step) -> None:
    answer, server, _ = await ask(bad, GOOD)
    assert isinstance(answer, Answered)
    assert len(server.received) == 2


async def test_a_huge_reply_is_not_sent_back_whole() -> None:
    _, server, _ = await ask(huge(), GOOD)
    assert len(str(server.received[1].body)) < 10_000


@pytest.mark.parametrize(("last", "code"), [(reply(refusal="never"), "refused"), (reply("no"), "invalid_reply")])
async def test_a_turn_is_refused_when_its_last_reply_was_a_refusal(last: Step, code: str) -> None:
    answer, _, _ = await ask(reply(refusal="never"), reply("no"), last)
    assert isinstance(answer, Failed)
    assert answer.code == code


async def test_a_model_that_goes_away_is_not_repaired() -> None:
    answer, server, attempts = await ask(reply("no"), *[status(500)] * 4)
    assert isinstance(answer, Failed)
    assert (answer.code, answer.attempts, len(server.received)) == ("model_unavailable", 5, 5)
    assert [attempt.outcome for attempt in attempts] == ["ok", *["server_error"] * 4]


async def test_faults_of_transport_do_not_use_up_repairs() -> None:
    answer, _, _ = await ask(status(500), reply("no"), status(429), reply("no"), status(500), GOOD)
    assert isinstance(answer, Answered)
    assert (answer.attempts, answer.repairs) == (6, 2)


async def test_a_game_may_demand_more_than_the_schema() -> None:
    answer, server, _ = await ask(
        GOOD, reply('{"a":2}'), check=lambda value: None if value["a"] == 2 else "a: has to be 2", korean=True
    )
    assert isinstance(answer, Answered)
    assert answer.value == {"a": 2}
    assert "직전 답변은 사용할 수 없습니다: a: has to be 2" in server.received[1].last


@pytest.mark.parametrize("half", ['{"a":', "", "<think>Well"])
async def test_a_reply_that_was_cut_is_not_asked_for_again(half: str) -> None:
    answer, server, attempts = await ask(reply(half, finish_reason="length"), GOOD)
    assert isinstance(answer, Failed)
    assert (answer.code, answer.attempts, len(server.received)) == ("invalid_reply", 1, 1)
    assert "raise `max_tokens`" in answer.detail
    assert ("turn its thinking off" in answer.detail) == (half != '{"a":'), "where there was some"
    assert [attempt.outcome for attempt in attempts] == ["cut"]


async def test_a_repair_after_an_empty_reply_is_one_message_with_the_question() -> None:
    _, server, _ = await ask(reply(""), GOOD)
    system, user = server.received[1].body["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert user["content"].startswith("q\n\nYour last reply cannot be used")

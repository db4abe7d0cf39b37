"""A model behind a server: what is tried again, what is taken, what is told."""

import asyncio
import json
import time

import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.llm.limits import FIRST_HOLD_SECONDS, MAX_WAIT_SECONDS, Allowance, MemoryLimits
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.port import (
    REPLY_BYTES,
    Attempt,
    ChatMessage,
    Failed,
    Reply,
    SamplingParameters,
    Tool,
    ToolCall,
    TurnHeader,
    Usage,
)
from playmolt_schemas.canonical import canonical_json
from typing_extensions import override

from core.tests.llm.connected_model import Connect, request
from core.tests.llm.fake_server import (
    Canned,
    ReceivedRequest,
    Step,
    hang,
    huge,
    raw,
    reply,
    status,
    truncated,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
LOOK = Tool("look", "Looks at evidence.", {"type": "object", "properties": {"id": {"type": "string"}}})

TOOLS_IN_WORDS = (
    "Tools you can use:\n- look: Looks at evidence. "
    'Arguments: {"type":"object","properties":{"id":{"type":"string"}}}\n'
    'Reply with exactly one JSON object.\nTo use a tool: {"tool": "NAME", "arguments": {…}}\n'
    'To answer without one: {"text": "…"}'
)


async def test_a_reply_is_recorded_as_it_came_with_its_cost(connected: Connect) -> None:
    one = connected(reply('{"a":1}'), input_price="0.15", output_price="0.60")
    turn = TurnHeader("legal-1", "JUDGE_R1")
    answer = await one.ask(schema=SCHEMA, turn=turn, sampling=SamplingParameters(temperature="0.7", seed=7))
    assert answer == Reply(text='{"a":1}', tool_calls=(), attempts=1)
    (attempt,) = one.attempts
    assert (attempt.outcome, attempt.number, attempt.status) == ("ok", 1, 200)
    assert (attempt.model_asked, attempt.model_answered) == ("fake-model", "fake-model-1")
    assert (attempt.reply, attempt.finish_reason, attempt.decoding) == ('{"a":1}', "stop", "json_schema")
    assert (attempt.usage, attempt.cost) == (Usage(10, 5), "0.0000045")
    assert attempt.request["temperature"] == "0.7"
    assert attempt.headers == {"X-PlayMolt-Turn": "legal-1 JUDGE_R1 ask"}
    assert one.server.received[0].turn == "legal-1 JUDGE_R1 ask"
    assert one.server.received[0].body["temperature"] == 0.7
    assert one.server.received[0].body["seed"] == 7


async def test_an_attempt_is_canonical_json_without_floats(connected: Connect) -> None:
    one = connected(reply("x"))
    schema = {"type": "object", "properties": {"p": {"type": "number", "const": 0.25}}}
    await one.ask(schema=schema, sampling=SamplingParameters(temperature="0.10", top_p="1", seed=2**60))
    seen = json.loads(canonical_json(one.attempts[0]), parse_float=lambda text: pytest.fail(f"float {text}"))
    assert seen["request"]["seed"] == str(2**60)
    assert '"const":"0.25"' in canonical_json(seen).decode()


async def test_a_cost_is_never_guessed(connected: Connect) -> None:
    unpriced, unused = connected(reply("x")), connected(reply("x", usage=None), input_price="1", output_price="1")
    await unpriced.ask()
    await unused.ask()
    assert (unpriced.attempts[0].cost, unused.attempts[0].cost, unused.attempts[0].usage) == (None, None, None)


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (status(429), "rate_limited"),
        (status(500), "server_error"),
        (status(503), "server_error"),
        (raw(b"x" * 3 * 1024 * 1024, 502), "server_error"),
        (truncated(), "connection"),
        (raw(b"no json"), "malformed"),
        (raw(b"5"), "malformed"),
        (raw(b'{"choices":[]}'), "server_error"),
        (raw(b'{"choices":[{"message":{"content":5}}]}'), "malformed"),
        (raw(b'{"error":"busy"}'), "server_error"),
        (raw(b"\xff\xfe"), "malformed"),
    ],
)
async def test_a_transport_fault_is_tried_again_three_times_then_the_model_is_unavailable(
    connected: Connect, fault: Canned, outcome: str
) -> None:
    one = connected(*[fault] * 4, reply("too late"))
    answer = await one.ask()
    assert isinstance(answer, Failed)
    assert (answer.code, answer.attempts) == ("model_unavailable", 4)
    assert "try again later" in answer.detail
    assert one.outcomes == [outcome] * 4
    assert [attempt.number for attempt in one.attempts] == [1, 2, 3, 4]
    assert one.waits == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("faults", "within", "sent"),
    [
        ([status(429)] * 4, 1.2, 2),  # pauses of 0.5 and 1 s
        ([status(429)] * 4, 60.0, 4),
        ([status(429, retry_after="30")] * 4, 20.0, 1),
        ([status(429, retry_after="30")] * 4, 40.0, 2),
        ([status(500)] * 4, 0.4, 1),
        ([status(400, "response_format is unknown", param="response_format")] * 4, 0.0, 1),
    ],
)
async def test_no_request_is_sent_after_the_time_in_which_a_reply_counts(
    connected: Connect, faults: list[Canned], within: float, sent: int
) -> None:
    one = connected(*faults, reply("too late"))
    answer = await one.ask(within=within, schema={"type": "object"})
    assert isinstance(answer, Failed)
    assert (answer.code, len(one.attempts), len(one.server.received)) == ("model_unavailable", sent, sent)
    assert sum(one.waits) <= within


async def test_a_slot_that_comes_free_too_late_is_not_waited_for(connected: Connect) -> None:
    one = connected(reply("first"), reply("second"), requests_per_minute=1)
    assert isinstance(await one.ask(), Reply)
    answer = await one.ask(within=5.0)
    assert isinstance(answer, Failed)
    assert "within" in answer.detail
    assert (len(one.server.received), sum(one.waits) <= 5) == (1, True)


async def test_a_model_that_comes_back_is_answered_by(connected: Connect) -> None:
    one = connected(status(500), truncated(), raw(b"{}"), reply("here"))
    assert await one.ask() == Reply(text="here", tool_calls=(), attempts=4)
    assert one.outcomes == ["server_error", "connection", "server_error", "ok"]


@pytest.mark.parametrize(("concurrent", "stream", "tries"), [(4, False, 4), (1, False, 1), (1, True, 4)])
async def test_a_server_that_hangs_is_given_up_at_the_timeout(
    connected: Connect, concurrent: int, stream: bool, tries: int
) -> None:
    """A stream ends when its reader leaves. Any other reply is computed to its end: a server that takes one request
    at a time is not asked for a second one behind it."""
    one = connected(*[hang()] * 4, timeout_s="0.2", concurrent=concurrent, stream=stream)
    start = time.monotonic()
    answer = await one.ask(streamable=True)
    assert isinstance(answer, Failed)
    assert (answer.code, one.outcomes) == ("model_unavailable", ["timeout"] * tries)
    assert ("may still be computing" in answer.detail) is (tries == 1)
    assert time.monotonic() - start < 60
    assert all(attempt.latency_ms >= 200 for attempt in one.attempts)


async def test_a_server_that_is_not_there_is_a_broken_connection(connected: Connect) -> None:
    one = connected()
    await one.server.__aexit__(None, None, None)
    answer = await one.ask()
    assert isinstance(answer, Failed)
    assert (answer.code, one.outcomes) == ("model_unavailable", ["connection"] * 4)
    await one.server.__aenter__()


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("2", 2.0),
        ("0", FIRST_HOLD_SECONDS),
        ("1.5", 1.5),
        ("86400", 60.0),
        ("Thu, 01 Jan 2026 00:00:00 GMT", FIRST_HOLD_SECONDS),
        ("Thu, 01 Jan 2026 00:00:00 -0000", FIRST_HOLD_SECONDS),
        ("Wed, 31 Dec 2098 23:59:59 GMT", 60.0),
        ("Wednesday, 31-Dec-68 23:59:59 GMT", 60.0),
        ("soon", 0.5),
        ("-3", 0.5),
    ],
)
async def test_retry_after_is_honoured_up_to_a_minute(connected: Connect, header: str, wait: float) -> None:
    one = connected(status(429, retry_after=header), reply("here"))
    assert isinstance(await one.ask(), Reply)
    assert wait / 2 < sum(one.waits) <= wait


@pytest.mark.parametrize(
    ("step", "outcome", "code"),
    [
        (reply(refusal="I will not."), "refusal", "refused"),
        (reply("", finish_reason="content_filter"), "refusal", "refused"),
        (reply(""), "empty", "invalid_reply"),
        (reply(None), "empty", "invalid_reply"),
        (reply(" \n"), "empty", "invalid_reply"),
        (reply(tool_calls=[("look", {})]), "empty", "invalid_reply"),
        (huge(), "too_large", "invalid_reply"),
        (huge(3 * 1024 * 1024), "too_large", "invalid_reply"),
    ],
)
async def test_what_is_not_a_reply_is_reported_and_not_tried_again(
    connected: Connect, step: Step, outcome: str, code: str
) -> None:
    one = connected(step, reply("no more"))
    answer = await one.ask()
    assert isinstance(answer, Failed)
    assert (answer.code, answer.attempts, one.outcomes, one.waits) == (code, 1, [outcome], [])
    assert len(one.attempts[0].reply.encode()) <= REPLY_BYTES


async def test_a_refusal_is_kept_in_its_words(connected: Connect) -> None:
    one = connected(reply(refusal="I will not."))
    await one.ask()
    assert one.attempts[0].reply == "I will not."


async def test_what_postgres_cannot_hold_is_replaced(connected: Connect) -> None:
    one = connected(reply("a\x00b\ud800c"))
    assert await one.ask() == Reply(text="a\ufffdb\ufffdc", tool_calls=(), attempts=1)


async def test_words_that_stop_at_their_longest_are_words(connected: Connect) -> None:
    answer = await connected(reply("I think that", finish_reason="length")).ask()
    assert isinstance(answer, Reply)


@pytest.mark.parametrize("words", ["I think that", "나는 그가", "证据链断了，而且", "I have doubts. But you", "Well,"])
async def test_prose_that_stops_within_a_sentence_is_cut(connected: Connect, words: str) -> None:
    one = connected(reply(words, finish_reason="length"))
    answer = await one.ask(prose=True)
    assert isinstance(answer, Failed)
    assert (answer.code, answer.cut, answer.attempts, one.outcomes) == ("invalid_reply", True, 1, ["cut"])


@pytest.mark.parametrize(
    "words", ["I doubt it.", "의심이 남습니다.", "存疑。", "“Why?” ", "So be it! 🙂", "*Enough.*", "(He was alive…)"]
)
async def test_prose_that_ends_with_a_sentence_is_whole_at_its_longest(connected: Connect, words: str) -> None:
    answer = await connected(reply(words, finish_reason="length")).ask(prose=True)
    assert isinstance(answer, Reply)


async def test_half_a_call_is_cut(connected: Connect) -> None:
    one = connected(reply(None, tool_calls=[("look", '{"id"')], finish_reason="length"))
    answer = await one.ask(tools=(LOOK,))
    assert isinstance(answer, Failed)
    assert (answer.code, answer.cut, one.outcomes) == ("invalid_reply", True, ["cut"])


@pytest.mark.parametrize(
    ("rejected", "advice"), [(status(401), "MY_KEY"), (status(404), "base_url"), (status(400, "bad"), "bad")]
)
async def test_a_request_that_the_server_refuses_is_not_repeated(
    connected: Connect, rejected: Step, advice: str
) -> None:
    one = connected(rejected, api_key_env="MY_KEY")
    answer = await one.ask()
    assert isinstance(answer, Failed)
    assert (answer.code, one.outcomes) == ("model_unavailable", ["rejected"])
    assert advice in answer.detail


async def test_the_key_goes_to_the_server_and_nowhere_else(connected: Connect) -> None:
    one = connected(status(401, "wrong key sk-secret"), key="sk-secret")
    answer = await one.ask()
    assert one.server.received[0].headers["authorization"] == "Bearer sk-secret"
    assert b"sk-secret" not in canonical_json([one.attempts[0], answer])


async def test_without_a_key_nothing_of_the_environment_is_sent(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(variable, "leak")
    one = connected()
    await one.ask()
    assert "leak" not in str(one.server.received[0].headers)
    assert "authorization" not in one.server.received[0].headers


async def test_best_decoding_goes_down_to_what_the_server_takes_and_remembers_it(connected: Connect) -> None:
    one = connected()
    one.server.rejects = {"json_schema"}
    for _ in range(2):
        assert isinstance(await one.ask(schema=SCHEMA), Reply)
    assert one.formats() == ["json_schema", "json_object", "json_object"]
    assert one.outcomes == ["rejected", "ok", "ok"]
    assert [attempt.decoding for attempt in one.attempts] == ["json_schema", "json_object", "json_object"]


async def test_a_schema_is_sent_without_what_strict_servers_refuse(connected: Connect) -> None:
    text = {"type": "string", "minLength": 1, "maxLength": 16_000, "title": "T", "default": "x"}
    name = {"type": "string", "minLength": 1, "maxLength": 16}
    schema = {
        "type": "object",
        "properties": {"title": text, "default": {"type": "array", "items": name, "maxItems": 2}, "e": {"enum": ["a"]}},
        "required": ["title", "default", "e"],
        "additionalProperties": False,
        "$defs": {"maxLength": {"enum": ["a", 1]}},
    }
    one = connected()
    await one.ask(schema=schema)
    sent = one.server.received[0].body["response_format"]["json_schema"]
    assert sent["strict"] is True
    assert sent["schema"] == schema | {
        "properties": {
            "title": {"type": "string"},
            "default": {"type": "array", "items": {"type": "string", "maxLength": 16}, "maxItems": 2},
            "e": {"type": "string", "enum": ["a"]},
        },
    }


async def test_long_texts_are_bounded_where_the_catalogue_says_so(connected: Connect) -> None:
    text = {"type": "string", "minLength": 1, "maxLength": 16_000, "pattern": "\\S"}
    name = {"type": "string", "minLength": 1, "maxLength": 16}
    schema = {"type": "object", "properties": {"text": text, "id": name, "issue": {"type": "string"}}}
    one = connected(text_chars=400)
    await one.ask(schema=schema)
    sent = one.server.received[0].body["response_format"]["json_schema"]["schema"]["properties"]
    assert sent == {
        "text": {"type": "string", "maxLength": 400},
        "id": {"type": "string", "maxLength": 16},
        "issue": {"type": "string", "maxLength": 400},
    }


async def test_a_service_that_refuses_bounds_is_sent_the_schema_without_any(connected: Connect) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string", "maxLength": 9}}, "required": ["id"]}
    words = "Invalid schema for response_format 'reply': In context=('properties', 'id'), 'maxLength' is not permitted."
    one = connected(status(400, words), reply('{"id": "a"}'), reply('{"id": "b"}'))
    for _ in range(2):
        assert isinstance(await one.ask(schema=schema), Reply)
    sent = [got.body["response_format"]["json_schema"]["schema"]["properties"]["id"] for got in one.server.received]
    assert sent == [{"type": "string", "maxLength": 9}, {"type": "string"}, {"type": "string"}]
    assert one.outcomes == ["rejected", "ok", "ok"]


async def test_a_server_that_rejects_the_parameter_is_asked_without_it(connected: Connect) -> None:
    one = connected()
    one.server.rejects = {"response_format"}
    assert isinstance(await one.ask(schema=SCHEMA), Reply)
    assert one.formats() == ["json_schema", "json_object", "prompt"]


async def test_a_refusal_for_another_reason_teaches_nothing(connected: Connect) -> None:
    one = connected(status(400, "too long", error="context_length_exceeded"), reply("x"))
    assert isinstance(await one.ask(schema=SCHEMA), Failed)
    assert isinstance(await one.ask(schema=SCHEMA), Reply)
    assert one.formats() == ["json_schema", "json_schema"]


async def test_what_the_catalogue_says_of_the_server_is_believed(connected: Connect) -> None:
    one = connected(decoding="json_object")
    await one.ask(schema=SCHEMA)
    await one.ask()
    assert one.formats() == ["json_object", "prompt"]


@pytest.mark.parametrize("decoding", ["prompt", "json_object", "json_schema"])
async def test_a_decoding_that_was_asked_for_is_never_changed(connected: Connect, decoding: str) -> None:
    one = connected()
    one.server.rejects = {"json_object", "json_schema"}
    answer = await one.ask(schema=SCHEMA, decoding=decoding)
    assert isinstance(answer, Reply if decoding == "prompt" else Failed)
    assert one.formats() == [decoding]


async def test_a_server_that_knows_only_the_newer_limit_gets_it(connected: Connect) -> None:
    one = connected()
    one.server.rejects = {"max_tokens"}
    for _ in range(2):
        assert isinstance(await one.ask(max_tokens=77), Reply)
    assert [each.body.get("max_completion_tokens") for each in one.server.received] == [None, 77, 77]


@pytest.mark.parametrize(("asked", "sent"), [(4096, 1500), (77, 77)])
async def test_a_reply_is_asked_for_no_longer_than_the_model_may_speak(
    connected: Connect, asked: int, sent: int
) -> None:
    one = connected(reply_tokens=1500)
    await one.ask(max_tokens=asked)
    assert one.server.received[0].body["max_tokens"] == sent


async def test_a_sampling_setting_that_is_rejected_is_not_dropped(connected: Connect) -> None:
    one = connected()
    one.server.rejects = {"temperature"}
    answer = await one.ask(schema=SCHEMA, sampling=SamplingParameters(temperature="0"))
    assert isinstance(answer, Failed)
    assert "temperature" in answer.detail
    assert len(one.attempts) == 1


async def test_tool_calls_are_given_as_they_came(connected: Connect) -> None:
    one = connected(reply(None, tool_calls=[("look", '{"id": broken'), ("look", {"id": "E1"})]))
    answer = await one.ask(tools=(LOOK,))
    assert isinstance(answer, Reply)
    assert answer.tool_calls == (
        ToolCall("call_1", "look", '{"id": broken'),
        ToolCall("call_2", "look", '{"id": "E1"}'),
    )
    assert one.attempts[0].tool_calls == answer.tool_calls
    assert one.server.received[0].body["tools"][0]["function"]["name"] == "look"


async def test_results_of_tools_go_back_under_their_calls(connected: Connect) -> None:
    one = connected()
    call = ToolCall("c1", "look", '{"id":"E1"}')
    await one.ask(
        messages=(
            ChatMessage("user", "q"),
            ChatMessage("assistant", "", (call,)),
            ChatMessage("tool", "a knife", (), "c1"),
        ),
        tools=(LOOK,),
    )
    assistant, result = one.server.received[0].body["messages"][1:]
    assert assistant["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"id":"E1"}'}
    assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", "c1", "a knife")


async def test_while_tools_are_on_offer_the_reply_is_not_bound_to_a_schema(connected: Connect) -> None:
    one = connected()
    await one.ask(tools=(LOOK,), schema=SCHEMA)
    await one.ask(tools=(LOOK,), schema=SCHEMA, tool_choice="none")
    assert one.formats() == ["prompt", "json_schema"]
    assert "tools" not in one.server.received[1].body


def _in_words(request: ReceivedRequest) -> Canned:
    return reply('{"tool": "look", "arguments": {"id": "E1"}}' if "tools" not in request.body else "well")


@pytest.mark.parametrize("choice", ["required", "look"])
async def test_a_server_that_ignores_tools_is_asked_in_words_and_remembered(connected: Connect, choice: str) -> None:
    one = connected()
    one.server.ignores_tools = True
    one.server.otherwise = _in_words
    for _ in range(2):
        answer = await one.ask(tools=(LOOK,), tool_choice=choice)
        assert isinstance(answer, Reply)
        assert (answer.text, answer.tool_calls) == ("", (ToolCall("call_1", "look", '{"id":"E1"}'),))
    assert ["tools" in each.body for each in one.server.received] == [True, False, False]
    assert "Looks at evidence." in one.server.received[1].last


async def test_a_server_that_rejects_tools_is_asked_in_words_and_may_answer_without(connected: Connect) -> None:
    one = connected()
    one.server.rejects = {"tools"}
    one.server.script(reply('{"text": "Innocent."}'), _in_words)
    first = await one.ask(tools=(LOOK,))
    second = await one.ask(tools=(LOOK,))
    assert (isinstance(first, Reply) and first.text, isinstance(second, Reply) and second.text) == ("Innocent.", "")
    assert one.outcomes == ["rejected", "ok", "ok"]


async def test_a_conversation_with_tools_is_put_in_words_for_such_a_server(connected: Connect) -> None:
    one = connected(_in_words)
    one.server.rejects = {"tools"}
    call = ToolCall("c1", "look", '{"id":"E1"}')
    history = (
        ChatMessage("user", "q"),
        ChatMessage("assistant", "", (call,)),
        ChatMessage("tool", "a knife", (), "c1"),
    )
    await one.ask(messages=history, tools=(LOOK,))
    said = [(message["role"], message["content"]) for message in one.server.received[1].body["messages"][1:3]]
    assert said == [
        ("assistant", '{"tool": "look", "arguments": {"id":"E1"}}'),
        ("user", f"Result of look: a knife\n\n{TOOLS_IN_WORDS}"),
    ]
    assert len(one.server.received[1].body["messages"]) == 3


async def test_a_model_that_never_uses_the_tool_it_must_fails_visibly(connected: Connect) -> None:
    one = connected(*[reply("no")] * 2)
    answer = await one.ask(tools=(LOOK,), tool_choice="required")
    assert isinstance(answer, Failed)
    assert (answer.code, answer.attempts) == ("invalid_reply", 2)


async def test_free_choice_of_tools_takes_a_text_for_an_answer(connected: Connect) -> None:
    one = connected(reply("Innocent."))
    assert await one.ask(tools=(LOOK,)) == Reply(text="Innocent.", tool_calls=(), attempts=1)


async def test_calls_at_once_stay_within_the_limit(connected: Connect) -> None:
    one = connected()
    one.server.otherwise = reply("x", delay=0.05)
    model = OpenAIModel(one.server.entry(concurrent=2), "", MemoryLimits())
    await asyncio.gather(*(model.ask(request(), one.record) for _ in range(6)))
    await model.close()
    assert one.server.most_at_once == 2


class TakenLimits(MemoryLimits):
    """Limits whose slots are in use for good."""

    @override
    async def admit(self, alias: str, allowance: Allowance, tokens: int) -> float:
        return 0.5


@pytest.mark.parametrize(("timeout_s", "waited"), [(60, MAX_WAIT_SECONDS), (600, 600)])
async def test_a_call_waits_for_a_slot_as_long_as_the_reply_before_it_may_take(
    connected: Connect, timeout_s: int, waited: float
) -> None:
    one = connected()
    model = OpenAIModel(one.server.entry(concurrent=1, timeout_s=timeout_s), "", TakenLimits(), sleep=one.wait)
    answer = await model.ask(request(), one.record)
    await model.close()
    assert isinstance(answer, Failed)
    assert (answer.code, answer.attempts, len(one.server.received)) == ("model_unavailable", 0, 0)
    assert "raise its limits" in answer.detail
    assert "`timeout_s`" in answer.detail
    assert sum(one.waits) == pytest.approx(waited)


async def test_an_attempt_that_cannot_be_recorded_ends_the_ask(connected: Connect) -> None:
    one = connected(status(500), reply("x"))

    async def away(attempt: Attempt) -> None:
        raise LogUnavailable("away")

    with pytest.raises(LogUnavailable):
        await one.model.ask(request(), away)
    assert len(one.server.received) == 1


SPELT = [
    '<tools>{"name": "look", "arguments": {"id": "E1"}}</tools>',
    '{"tool_calls": [{"type": "function", "function": {"name": "look", "arguments": {"id": "E1"}}}]}',
    '[TOOL_CALLS]look{"id": "E1"}',
    '[TOOL_CALLS]look[ARGS]{"id": "E1"}',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{"id": "E1"}\n```'
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>{"id": "E1"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    '<tool_call>{"name": "look", "arguments": {"id": "E1"}}</tool_call>',
    '<tool_call>\n{"name": "look", "arguments": {"id": "E1"}}\n',
    'Let me see. <tool_call>{"name": "look", "arguments": "{\\"id\\": \\"E1\\"}"}</tool_call>',
    '{"name": "look", "arguments": {"id": "E1"}}',
    '{"name": "look", "parameters": {"id": "E1"}}',
    '{"tool": "look", "arguments": {"id": "E1"}}',
    '```json\n{"name": "look", "arguments": {"id": "E1"}}\n```',
    '{"type": "function", "function": {"name": "look", "arguments": {"id": "E1"}}}',
    '[TOOL_CALLS] [{"name": "look", "arguments": {"id": "E1"}}]',
    '<|python_tag|>{"name": "look", "parameters": {"id": "E1"}}',
    '<function=look>{"id": "E1"}</function>',
    "<tool_call>\n<function=look>\n<parameter=id>\nE1\n</parameter>\n</function>\n</tool_call>",
    '<think>I should look.</think><tool_call>{"name": "look", "arguments": {"id": "E1"}}</tool_call>',
]


@pytest.mark.parametrize("text", SPELT)
async def test_a_call_that_is_spelt_out_is_that_call(connected: Connect, text: str) -> None:
    answer = await connected(reply(text)).ask(tools=(LOOK,))
    assert isinstance(answer, Reply)
    assert [(call.name, json.loads(call.arguments)) for call in answer.tool_calls] == [("look", {"id": "E1"})]
    assert answer.text in ("", "Let me see.")


async def test_two_calls_that_are_spelt_out_are_two(connected: Connect) -> None:
    call = '<tool_call>{"name": "look", "arguments": {"id": "%s"}}</tool_call>'
    answer = await connected(reply(call % "E1" + call % "E2")).ask(tools=(LOOK,))
    assert isinstance(answer, Reply)
    assert [call.id for call in answer.tool_calls] == ["call_1", "call_2"]


@pytest.mark.parametrize("text", [*(text for text in SPELT if not text.startswith("Let")), "<tool_call>{broken"])
async def test_a_call_that_nobody_asked_for_is_not_a_word_of_a_reply(connected: Connect, text: str) -> None:
    one = connected(reply(text))
    answer = await one.ask(tools=(LOOK,), tool_choice="none")
    assert isinstance(answer, Failed)
    assert (answer.code, one.outcomes) == ("invalid_reply", ["empty"])
    assert "answer in words" in answer.detail


async def test_an_object_that_names_no_tool_is_a_reply(connected: Connect) -> None:
    text = '{"name": "Kim", "arguments": ["alibi"]}'
    assert await connected(reply(text)).ask(tools=(LOOK,)) == Reply(text=text, tool_calls=(), attempts=1)


async def test_messages_of_one_role_are_one(connected: Connect) -> None:
    one = connected()
    await one.ask(messages=(ChatMessage("system", "s"), ChatMessage("user", "q"), ChatMessage("user", "again")))
    assert one.server.received[0].body["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "q\n\nagain"},
    ]


@pytest.mark.parametrize(
    "words",
    [
        "System role not supported",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "messages[0].role: only 'user' and 'assistant' are allowed",
    ],
)
async def test_a_server_that_knows_no_system_role_gets_its_text_from_the_user(connected: Connect, words: str) -> None:
    one = connected(status(400, words))
    for _ in range(2):
        answer = await one.ask(messages=(ChatMessage("system", "s"), ChatMessage("user", "q")), schema=SCHEMA)
        assert isinstance(answer, Reply)
    assert [[message["content"] for message in each.body["messages"]] for each in one.server.received] == [
        ["s", "q"], ["s\n\nq"], ["s\n\nq"],
    ]  # fmt: skip
    assert one.formats() == ["json_schema"] * 3


async def test_the_catalogue_may_say_that_there_is_no_system_role(connected: Connect) -> None:
    one = connected(system="user")
    await one.ask(messages=(ChatMessage("system", "s"), ChatMessage("user", "q")))
    assert one.server.received[0].body["messages"] == [{"role": "user", "content": "s\n\nq"}]


@pytest.mark.parametrize("streams", [False, True])
async def test_a_speech_alone_is_asked_for_as_it_comes(connected: Connect, streams: bool) -> None:
    one = connected(stream=streams)
    for told in (True, False):
        assert isinstance(await one.ask(streamable=told), Reply)
    speech, other = (each.body for each in one.server.received)
    assert (speech["stream"], "stream_options" in speech) == (streams, streams)
    assert (other["stream"], "stream_options" in other) == (False, False)


async def test_a_server_that_refuses_to_stream_is_asked_without(connected: Connect) -> None:
    one = connected(status(400, "stream_options is not supported"), stream=True)
    for _ in range(2):
        assert isinstance(await one.ask(streamable=True, schema=SCHEMA), Reply)
    assert [each.body["stream"] for each in one.server.received] == [True, False, False]
    assert one.formats() == ["json_schema"] * 3


async def test_a_prompt_that_is_counted_too_small_twice_in_a_row_is_warned_of(connected: Connect) -> None:
    one = connected(*[reply("x", usage=(99, 1))] * 2, reply("x", usage=(100, 1)), *[reply("x", usage=(99, 1))] * 2)
    for _ in range(5):
        await one.ask(messages=(ChatMessage("user", "q" * 1200),))
    assert [attempt.warnings for attempt in one.attempts] == [(), ("prompt_cut",), (), (), ("prompt_cut",)]


async def test_the_key_is_in_no_reply(connected: Connect) -> None:
    one = connected(reply("Your key is sk-secret."), key="sk-secret")
    answer = await one.ask()
    assert b"sk-secret" not in canonical_json([one.attempts[0], answer])


async def test_a_seed_that_a_request_can_do_without_is_left_out_for_a_server_that_rejects_it(
    connected: Connect,
) -> None:
    one = connected()
    one.server.rejects = {"seed"}
    seeded = SamplingParameters(seed=7)
    for _ in range(2):
        assert isinstance(await one.ask(sampling=seeded, drawn_by="7"), Reply)
    assert isinstance(await one.ask(sampling=seeded), Failed)  # a plan that asks for a seed is not changed
    assert [each.body.get("seed") for each in one.server.received] == [7, None, None, 7]

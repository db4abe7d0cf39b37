"""Model servers and proxies that behave as the table of `docs/models.md` says, row by row."""

import json
from typing import Any

import pytest
from playmolt_core.llm.openai.model import published
from playmolt_core.llm.port import PROMPT_TOO_LONG, REPLY_UNREAD, UNCHARGED, Failed, Reply

from core.tests.llm.connected_model import Connect
from core.tests.llm.fake_server import Canned, reply, status

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
GOOD = '{"a": 1}'


def canned(code: int, body: Any) -> Canned:
    return Canned(status=code, body=json.dumps(body).encode())


def error(code: int, message: str, **more: Any) -> Canned:
    return canned(code, {"error": {"code": code, "message": message, **more}})


UNREAD = [
    error(500, 'Failed to parse input at pos 14: "a": "b" "c"}', type="server_error"),
    error(500, "The model produced output that does not match the expected peg-native format", type="server_error"),
    error(500, "error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input", type="api_error"),
    Canned(
        status=500,
        body=json.dumps({"error": "internal", "usage": {"prompt_tokens": 9, "completion_tokens": 40}}).encode(),
    ),
]


@pytest.mark.parametrize("unread", UNREAD)
async def test_a_reply_that_its_server_could_not_read_is_paid_and_asked_for_in_another_form(
    connected: Connect, unread: Canned
) -> None:
    one = connected(unread, reply(GOOD))
    assert isinstance(await one.ask(schema=SCHEMA), Reply)
    assert one.formats() == ["json_schema", "json_object"]
    assert [attempt.code for attempt in one.attempts] == [REPLY_UNREAD, ""]
    assert one.attempts[0].outcome not in UNCHARGED, "it was written, and costs what a reply costs"


async def test_a_reply_that_is_never_readable_ends_after_each_form_once(connected: Connect) -> None:
    one = connected()
    one.server.otherwise = lambda _: UNREAD[0]
    failed = await one.ask(schema=SCHEMA)
    assert isinstance(failed, Failed)
    assert failed.code == "model_unavailable"
    assert "could not read" in failed.detail
    assert failed.reply == "", "a repair quotes what the model said, and never its server"
    assert one.formats() == ["json_schema", "json_object", "prompt"]


@pytest.mark.parametrize("message", ["Failed to parse messages: Missing 'content'", "Failed to parse grammar", "boom"])
async def test_another_500_is_repeated_as_before(connected: Connect, message: str) -> None:
    one = connected(error(500, message), reply(GOOD))
    assert isinstance(await one.ask(schema=SCHEMA), Reply)
    assert one.formats() == ["json_schema", "json_schema"]


TOO_LONG = [
    (
        error(
            400, "the request exceeds the available context size. try increasing it", type="exceed_context_size_error",
            n_prompt_tokens=5012, n_ctx=4096,
        ),
        ("5012", "4096"),
    ),
    (
        status(400, "This model's maximum context length is 4096 tokens. However, you requested 5012 tokens."),
        ("5012", "4096"),
    ),
    (status(400, "too long", error="context_length_exceeded"), ("too long",)),
    (status(413, "Prompt is too long: 5012 tokens > 4096 maximum"), ("5012", "4096")),
    (error(500, "the request exceeds the available context size, try increasing it"), ("context size",)),
    (
        canned(200, {"error": {"code": 400, "message": "input length 5012 exceeds the context window of 4096"}}),
        ("5012", "4096"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "figures"), TOO_LONG)
async def test_too_long_a_prompt_is_one_request_and_one_refusal_with_the_figures(
    connected: Connect, answer: Canned, figures: tuple[str, ...]
) -> None:
    one = connected(answer)
    failed = await one.ask(schema=SCHEMA)
    assert isinstance(failed, Failed)
    assert (failed.code, failed.attempts, len(one.server.received)) == ("model_unavailable", 1, 1)
    assert one.attempts[0].code == PROMPT_TOO_LONG
    assert all(figure in failed.detail for figure in ("the prompt is too long", "reply_tokens", *figures))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("/srv/models/SmolLM2-135M.gguf", "SmolLM2-135M.gguf"),
        ("C:\\Users\\someone\\m.gguf", "m.gguf"),
        ("./m.gguf", "m.gguf"),
        ("~/models/m/", "m"),
        ("models/m.gguf", "m.gguf"),
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
        ("openai/gpt-5.4", "openai/gpt-5.4"),
        ("gpt-5.4", "gpt-5.4"),
    ],
)  # fmt: skip
async def test_a_path_as_a_models_name_is_shown_by_its_last_part(connected: Connect, model: str, name: str) -> None:
    assert published(model) == name
    one = connected(reply("x", model=model), model=model)
    await one.ask()
    attempt = one.attempts[0]
    assert (attempt.model_asked, attempt.model_answered, attempt.request["model"]) == (name, name, name)
    assert one.server.received[0].body["model"] == model, "the server knows it by its path"
    if name != model:
        kept = json.dumps([attempt.raw, attempt.detail, dict(attempt.request)])
        assert model not in attempt.raw
        assert "someone" not in kept


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_details", "thinking"])
@pytest.mark.parametrize("reason", ["stop", "length"])
async def test_the_field_in_which_a_reply_lay_is_named(connected: Connect, field: str, reason: str) -> None:
    said: Any = [{"type": "reasoning.text", "text": GOOD}] if field == "reasoning_details" else GOOD
    choice = {"index": 0, "message": {"role": "assistant", "content": None, field: said}, "finish_reason": reason}
    one = connected(Canned(body=json.dumps({"model": "m", "choices": [choice]}).encode()))
    failed = await one.ask(schema=SCHEMA)
    assert isinstance(failed, Failed)
    assert f"`{field}`" in failed.detail
    assert one.attempts[0].reasoning == GOOD


async def test_thoughts_within_the_content_are_named_by_it(connected: Connect) -> None:
    one = connected(reply("<think>well</think>"))
    failed = await one.ask()
    assert isinstance(failed, Failed)
    assert "only thought, in `content`" in failed.detail


async def test_what_bounds_a_reply_that_was_cut_is_named(connected: Connect) -> None:
    one = connected(reply('{"a":', finish_reason="length"), reply_tokens=400)
    failed = await one.ask(schema=SCHEMA)
    assert isinstance(failed, Failed)
    assert "spent its 400 tokens" in failed.detail
    assert "raise `reply_tokens` of the alias" in failed.detail
    assert "max_tokens" not in failed.detail
    assert "thinking" not in failed.detail


async def test_a_proxys_wait_is_that_of_its_provider(connected: Connect) -> None:
    """LiteLLM passes Retry-After on under another name."""
    limited = status(429, "litellm.RateLimitError", error="throttling_error")
    one = connected(Canned(status=429, body=limited.body, headers={"llm_provider-retry-after": "7"}), reply("x"))
    assert isinstance(await one.ask(), Reply)
    assert one.attempts[0].retry_after_ms == 7000


async def test_a_limit_without_an_end_says_so(connected: Connect) -> None:
    one = connected()
    one.server.otherwise = lambda _: status(429, "litellm.RateLimitError", error="throttling_error")
    failed = await one.ask()
    assert isinstance(failed, Failed)
    assert "out of credit, or limited for good" in failed.detail
    assert len(one.server.received) == 4

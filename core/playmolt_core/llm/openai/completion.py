"""Reading what a server answered to a chat completion request."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from playmolt_schemas.canonical import canonical_json

from playmolt_core.llm.port import REPLY_BYTES, AttemptOutcome, ToolCall, Usage
from playmolt_core.ops.json_values import parse_json

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class _Function(msgspec.Struct):
    name: str
    arguments: str | dict[str, Any] | None = None


class _Call(msgspec.Struct):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int = 0


class _Body(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, judged. `text` and the calls are storable as they are."""

    outcome: AttemptOutcome
    detail: str = ""
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    model: str | None = None
    usage: Usage | None = None


def read_completion(body: bytes) -> Completion:
    """Judges the body of a 200: ok, refusal, empty, too_large, or malformed when it is no completion."""
    try:
        read = msgspec.convert(parse_json(body), type=_Body)
    except (ValueError, RecursionError) as error:
        return _malformed(body, str(error))
    if not read.choices:
        return _malformed(body, "it has no choices")
    choice = read.choices[0]
    usage = read.usage and Usage(read.usage.prompt_tokens, read.usage.completion_tokens)
    calls = tuple(_tool_call(call, number) for number, call in enumerate(choice.message.tool_calls or (), 1))
    outcome, detail, text = _judged(choice, calls)
    return Completion(
        outcome=outcome,
        detail=detail,
        text=storable(text),
        tool_calls=() if outcome == "too_large" else calls,
        finish_reason=choice.finish_reason and storable(choice.finish_reason),
        model=read.model and storable(read.model),
        usage=usage or None,
    )


def _judged(choice: _Choice, calls: tuple[ToolCall, ...]) -> tuple[AttemptOutcome, str, str]:
    message, text = choice.message, choice.message.content or ""
    if message.refusal or choice.finish_reason == "content_filter":
        return "refusal", "the model refused to answer", message.refusal or text
    size = len(text.encode(errors="replace")) + sum(
        len(call.arguments.encode()) + len(call.name.encode()) for call in calls
    )
    if size > REPLY_BYTES:
        return "too_large", f"the reply has {size} bytes, {REPLY_BYTES} are read: be shorter", text
    if not text.strip() and not calls:
        return "empty", "the reply is empty", text
    return "ok", "", text


def _tool_call(call: _Call, number: int) -> ToolCall:
    arguments = call.function.arguments
    text = arguments if isinstance(arguments, str) else canonical_json(arguments or {}).decode()
    return ToolCall(storable(call.id or f"call_{number}"), storable(call.function.name), storable(text, limit=None))


def _malformed(body: bytes, reason: str) -> Completion:
    return Completion(
        outcome="malformed",
        detail=f"the server's answer is no chat completion: {storable(reason)[:200]}",
        text=storable(body[:2000].decode(errors="replace")),
    )


def storable(text: str, limit: int | None = REPLY_BYTES) -> str:
    """The text as Postgres and UTF-8 can carry it, cut at so many bytes."""
    return _UNSTORABLE.sub("\ufffd", text).encode()[:limit].decode("utf-8", "ignore")


def error_of(body: bytes) -> Mapping[str, str]:
    """The `message`, `param` and `code` of an OpenAI error body where they are texts, whatever else it holds."""
    try:
        document = parse_json(body)
    except (ValueError, RecursionError):
        return {"message": storable(body[:500].decode(errors="replace"))}
    error = document.get("error", document) if isinstance(document, dict) else document
    if isinstance(error, str):
        return {"message": storable(error[:500])}
    if not isinstance(error, dict):
        return {}
    return {key: storable(error[key][:500]) for key in ("message", "param", "code") if isinstance(error.get(key), str)}

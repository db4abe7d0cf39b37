"""Reads answers to chat completion requests; readable parts count, whatever the rest is."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from playmolt_core.llm.openai.answer_body import document_of
from playmolt_core.llm.openai.content import Content, content_of
from playmolt_core.llm.openai.content_filters import ends_filtered
from playmolt_core.llm.openai.server_errors import ServerError, error_in
from playmolt_core.llm.openai.storing import json_text, storable
from playmolt_core.llm.port import CONTENT_FILTER, REPLY_BYTES, AttemptOutcome, ToolCall, Usage

CUT_REASONS: Final = frozenset(
    {"length", "max_tokens", "model_length", "max_output_tokens", "max_completion_tokens", "token_limit", "incomplete"}
)
_LARGEST: Final = 2**53
FILTERED: Final = "the content filter of the model's service refused the text"


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """A classified reply. `text`, the thoughts and the calls are storable; `code` is that of an error."""

    outcome: AttemptOutcome
    detail: str = ""
    text: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    model: str | None = None
    usage: Usage | None = None
    code: str = ""
    reasoning_fields: tuple[str, ...] = ()
    """The fields of the message in which the thoughts lay."""

    @property
    def cut(self) -> bool:
        """Whether the reply reached the token limit."""
        return (self.finish_reason or "").lower() in CUT_REASONS


def read_completion(body: bytes) -> Completion:
    """Classify the body of a 200: ok, refusal, empty, too_large, the error in it, or malformed if it is not a
    completion."""
    try:
        document = document_of(body)
    except (ValueError, RecursionError) as error:
        return _malformed(body, str(error))
    if not isinstance(document, dict):
        return _malformed(body, f"it is a {type(document).__name__}")
    choice = _choice(document.get("choices"))
    model, usage = _text(document.get("model")), _usage(document.get("usage"))
    found = error_in(document, choice)
    if found is not None or choice is None:
        return _failed(found or ServerError(), body, model, usage, paid=usage is None and _has_written(choice))
    message = choice.get("message") or choice.get("delta")
    if not isinstance(message, dict):
        message = {"content": message if isinstance(message, str) else choice.get("text")}
    try:
        content = content_of(message)
    except ValueError as fault:
        return _malformed(body, str(fault))
    reason = _text(choice.get("finish_reason"))
    calls = _tool_calls(message)
    outcome, detail, text = _judged(content, reason, calls)
    return Completion(
        outcome=outcome,
        detail=detail,
        text=storable(text),
        reasoning=content.reasoning and storable(content.reasoning),
        tool_calls=() if outcome == "too_large" else calls,
        finish_reason=reason,
        model=model,
        usage=usage,
        code=CONTENT_FILTER if detail == FILTERED else "",
        reasoning_fields=content.reasoning_fields,
    )


def read_usage(body: bytes) -> Usage | None:
    """The figures in the body of an error."""
    try:
        document = document_of(body)
    except (ValueError, RecursionError):
        return None
    return _usage(document.get("usage")) if isinstance(document, dict) else None


def _choice(choices: object) -> Mapping[str, object] | None:
    return next((each for each in choices if isinstance(each, dict)), None) if isinstance(choices, list) else None


def _text(value: object) -> str | None:
    return storable(value) if isinstance(value, str) and value else None


def _usage(value: object) -> Usage | None:
    """Read the figures independently: a figure that is not a non-negative integer is unknown."""
    if not isinstance(value, dict):
        return None
    prompt = _whole(value.get("prompt_tokens", value.get("input_tokens")))
    completion = _whole(value.get("completion_tokens", value.get("output_tokens")))
    if prompt is None and completion is None:
        return None
    return Usage(
        prompt,
        completion,
        _part(value, ("prompt_tokens_details", "input_tokens_details"), "cached_tokens", prompt),
        _part(value, ("completion_tokens_details", "output_tokens_details"), "reasoning_tokens", completion),
    )


def _part(usage: dict[str, Any], details: tuple[str, ...], name: str, whole: int | None) -> int | None:
    """A part of a figure's tokens, capped at the figure."""
    found: dict[str, Any] = next((usage[each] for each in details if isinstance(usage.get(each), dict)), {})
    part = _whole(found.get(name))
    return part if part is None or whole is None else min(part, whole)


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= _LARGEST:  # NaN is in no range
        return None
    return int(value) if value == int(value) else None


def _judged(content: Content, reason: str | None, calls: tuple[ToolCall, ...]) -> tuple[AttemptOutcome, str, str]:
    text = content.text
    if ends_filtered(reason):
        return "refusal", FILTERED, content.refusal or text
    if content.refusal:
        return "refusal", "the model refused to answer", content.refusal
    size = len(text.encode(errors="replace")) + sum(
        len(call.arguments.encode()) + len(call.name.encode()) for call in calls
    )
    if size > REPLY_BYTES:
        return "too_large", f"the reply has {size} bytes, {REPLY_BYTES} are read: be shorter", text
    if not text.strip() and not calls:
        return "empty", empty_detail(content.reasoning_fields), text
    return "ok", "", text


def empty_detail(reasoning_fields: tuple[str, ...]) -> str:
    """What an empty reply was instead, and where it lay."""
    if not reasoning_fields:
        return "the reply is empty"
    return f"the reply is empty: the model only thought, in {named(reasoning_fields)}; turn its thinking off"


def named(fields: tuple[str, ...]) -> str:
    return " and ".join(f"`{field}`" for field in fields)


def _tool_calls(message: Mapping[str, object]) -> tuple[ToolCall, ...]:
    listed = message.get("tool_calls") or []
    if not listed and message.get("function_call"):
        listed = [{"function": message["function_call"]}]
    if isinstance(listed, dict):
        listed = [listed]
    calls = [_tool_call(call, number) for number, call in enumerate(listed if isinstance(listed, list) else (), 1)]
    return tuple(call for call in calls if call is not None)


def _tool_call(call: object, number: int) -> ToolCall | None:
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not isinstance(call, dict):
        return None
    known = _text(call.get("id")) or f"call_{number}"
    return ToolCall(known, storable(function["name"]), arguments_text(function.get("arguments")))


def arguments_text(arguments: object) -> str:
    """The arguments of a call as text, whatever form the server sent."""
    if isinstance(arguments, str):
        return storable(arguments, limit=None)
    return storable(json_text(arguments or {}), limit=None)


def _has_written(choice: Mapping[str, object] | None) -> bool:
    """Whether the model had written a part of its reply."""
    message = (choice.get("message") or choice.get("delta")) if choice else None
    if isinstance(message, dict):
        return any(value for name, value in message.items() if name != "role")
    return bool(message)


def _failed(error: ServerError, body: bytes, model: str | None, usage: Usage | None, *, paid: bool) -> Completion:
    """`paid`: without figures, a server's error after a part of the reply may have cost as much as a whole one."""
    coded = f" {error.code}" if error.code else ""
    return Completion(
        outcome="malformed" if paid and error.outcome == "server_error" else error.outcome,
        detail=storable(f"the server answered 200 with an error{coded}: {error.full_message}"),
        text=storable(body[:2000].decode(errors="replace")),
        model=model,
        usage=usage,
        code=CONTENT_FILTER if error.filtered else error.code,
    )


def _malformed(body: bytes, reason: str) -> Completion:
    return Completion(
        outcome="malformed",
        detail=f"the server's answer is not a chat completion: {storable(reason)[:200]}",
        text=storable(body[:2000].decode(errors="replace")),
    )

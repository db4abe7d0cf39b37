"""Model calls of the log as Inspect's model events, and uses of tools as its tool events."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from playmolt_cli.inspect.sample import Data, Happened, Json

_STOPPED: Final[Mapping[str, str]] = {
    "stop": "stop", "length": "max_tokens", "tool_calls": "tool_calls", "content_filter": "content_filter",
}  # fmt: skip
_UNSAID: Final = "unknown"
_CHOICES: Final = ("auto", "none", "any")


class CallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model as the platform stores it. `messages` replace those of the request that lie elsewhere."""

    at: datetime
    attempt: Data
    agent: str
    role: str
    key: str
    """Identifies the call within its log."""
    messages: Sequence[Data] | None = None
    about: Mapping[str, object] = {}


def model_event(record: CallRecord) -> Happened:
    """The call with its input, output, tokens and cost. A failed one has an error and whatever was received."""
    attempt = record.attempt
    request: Data = attempt.get("request") or {}
    asked = record.messages if record.messages is not None else request.get("messages") or ()
    model = str(attempt.get("model_answered") or attempt.get("model_asked") or attempt.get("alias") or _UNSAID)
    outcome = attempt.get("outcome", "ok")
    seconds = (attempt.get("latency_ms") or 0) / 1000
    choice = str(request.get("tool_choice", "auto"))
    fields: Json = {
        "event": "model",
        "model": model,
        "role": record.role,
        "input": _messages(asked, record.key),
        "tools": [_tool(tool["function"]) for tool in request.get("tools") or ()],
        "tool_choice": choice if choice in _CHOICES else "any" if choice == "required" else {"name": choice},
        "config": _config(request),
        "output": _output(attempt, model, record.key, seconds),
        "working_time": seconds,
    }
    if outcome != "ok":
        fields["error"] = f"{outcome}: {attempt.get('detail', '')}".removesuffix(": ")
    if attempt.get("raw"):
        fields["call"] = {"request": dict(request), "response": {"body": attempt["raw"]}}
    about = {name: attempt[name] for name in ("alias", "outcome", "status", "code") if attempt.get(name)}
    began = record.at - timedelta(seconds=seconds)
    return Happened(at=began, ended=record.at, agent=record.agent, fields=fields, about={**about, **record.about})


def tool_event(at: datetime, agent: str, identifier: str, name: str, given: Json, result: str) -> Happened:
    """A tool that an agent used, with what it got."""
    fields: Json = {"event": "tool", "id": identifier, "function": name, "arguments": given, "result": result}
    return Happened(at=at, ended=at, agent=agent, fields=fields)


def _messages(asked: Sequence[Data], key: str) -> list[Json]:
    """The messages of the chat API; a tool's answer also names the tool."""
    found: list[Json] = []
    tools: dict[str, str] = {}
    for number, message in enumerate(asked, 1):
        calls = [_tool_call(call) for call in message.get("tool_calls") or ()]
        tools |= {str(call["id"]): str(call["function"]) for call in calls}
        one: Json = {"id": f"{key}-{number}", "role": message["role"], "content": _content(message)}
        if calls:
            one["tool_calls"] = calls
        if message["role"] == "tool":
            answered = str(message.get("tool_call_id", ""))
            one |= {"tool_call_id": answered, "function": tools.get(answered)}
        found.append(one)
    return found


def _content(message: Data) -> str:
    if "content" not in message and "sha256" in message:
        return f"(text of {message['bytes']} bytes that the log does not hold; SHA-256 {message['sha256']})"
    return str(message.get("content") or "")


def _tool_call(call: Data) -> Json:
    """A call in the chat API's form, or as the platform stores it."""
    named = call.get("function", call)
    found: Json = {"id": call["id"], "function": named["name"], "arguments": {}, "type": "function"}
    try:
        given = msgspec.json.decode(named["arguments"] or "{}")
    except msgspec.DecodeError as error:
        return found | {"arguments": {"raw": named["arguments"]}, "parse_error": str(error)}
    return found | {"arguments": given if isinstance(given, dict) else {"raw": given}}


def _tool(tool: Data) -> Json:
    parameters = tool.get("parameters") or {}
    shown: Json = {"type": "object", "properties": parameters.get("properties") or {}}
    return {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": shown | {"required": list(parameters.get("required") or ()), "additionalProperties": False},
    }


def _config(request: Data) -> Json:
    """Sampling parameters; the log stores fractions as text."""
    numbers = {name: float(request[name]) for name in ("temperature", "top_p") if request.get(name) is not None}
    return numbers | {name: request[name] for name in ("max_tokens", "seed") if request.get(name) is not None}


def _output(attempt: Data, model: str, key: str, seconds: float) -> Json:
    calls = [_tool_call(call) for call in attempt.get("tool_calls") or ()]
    reply, reasoning = str(attempt.get("reply") or ""), attempt.get("reasoning")
    content: object = reply
    if reasoning:
        content = [{"type": "reasoning", "reasoning": reasoning}, {"type": "text", "text": reply}]
    said: Json = {"id": f"{key}-reply", "role": "assistant", "content": content, "source": "generate", "model": model}
    if calls:
        said["tool_calls"] = calls
    stopped = _STOPPED.get(str(attempt.get("finish_reason")), _UNSAID)
    output: Json = {"model": model, "time": seconds, "choices": [{"message": said, "stop_reason": stopped}]}
    if attempt.get("usage"):
        output["usage"] = _usage(attempt["usage"], attempt.get("cost"))
    return output


def _usage(usage: Mapping[str, int | None], cost: str | None) -> Json:
    """Inspect counts cached tokens apart from the other tokens of the prompt; the log counts them among them."""
    prompt, completion = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    cached = usage.get("cached_tokens")
    found: Json = {
        "input_tokens": prompt - (cached or 0),
        "output_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if cached is not None:
        found["input_tokens_cache_read"] = cached
    if usage.get("reasoning_tokens") is not None:
        found["reasoning_tokens"] = usage["reasoning_tokens"]
    return found if cost is None else found | {"total_cost": float(cost)}

"""Tools described in the prompt, for servers that ignore or reject the `tools` parameter.

The conversation becomes plain messages, and the model answers with one object: a tool and its arguments, or a text.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from playmolt_core.llm.parsing import Parsed, parse_object
from playmolt_core.llm.port import ChatMessage, ModelRequest, Tool, ToolCall

_CALL = 'To use a tool: {"tool": "NAME", "arguments": {…}}'
_TEXT = 'To answer without one: {"text": "…"}'
_OBJECT = "To answer without one: the JSON object asked for above"


def flattened(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Tool calls and their results as messages of the assistant and the user."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    return tuple(part for message in messages for part in _flat(message, names))


def _flat(message: ChatMessage, names: Mapping[str, str]) -> tuple[ChatMessage, ...]:
    if message.role == "tool":
        name = names.get(message.tool_call_id, "tool")
        return (ChatMessage("user", f"Result of {name}: {message.content}"),)
    if not message.tool_calls:
        return (message,)
    said = (ChatMessage(message.role, message.content),) if message.content.strip() else ()
    calls = tuple(
        ChatMessage(message.role, f'{{"tool": "{call.name}", "arguments": {call.arguments or "{}"}}}')
        for call in message.tool_calls
    )
    return said + calls


def tool_messages(request: ModelRequest) -> tuple[ChatMessage, ...]:
    """The description of the tools and of the reply's format."""
    tools = "\n".join(
        f"- {tool.name}: {tool.description} Arguments: {msgspec.json.encode(tool.parameters).decode()}"
        for tool in _offered(request)
    )
    answer = "" if demands_tool(request) else f"\n{_OBJECT if request.schema else _TEXT}"
    return (ChatMessage("user", f"Tools you can use:\n{tools}\nReply with exactly one JSON object.\n{_CALL}{answer}"),)


def tool_schema(request: ModelRequest) -> dict[str, object]:
    """One format per tool, and one for a reply without a tool if none is required."""
    return _any_of(_call_forms(request) + ([] if demands_tool(request) else [dict(request.schema or _TEXT_FORM)]))


def read_tool_text(request: ModelRequest, text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Parse a reply as (text, calls). If it is not a tool call, the whole reply is text."""
    call = parse_object(text, _any_of(_call_forms(request)))
    if isinstance(call, Parsed):
        arguments = msgspec.json.encode(call.value["arguments"]).decode()
        number = 1 + sum(len(message.tool_calls) for message in request.messages)
        return "", (ToolCall(f"call_{number}", call.value["tool"], arguments),)
    plain = parse_object(text, _TEXT_FORM) if request.schema is None else call
    return (plain.value["text"] if isinstance(plain, Parsed) else text), ()


def demands_tool(request: ModelRequest) -> bool:
    """Whether a tool call is required."""
    return bool(request.tools) and request.tool_choice not in ("auto", "none")


def _offered(request: ModelRequest) -> tuple[Tool, ...]:
    named = tuple(tool for tool in request.tools if tool.name == request.tool_choice)
    return named or request.tools


def _call_forms(request: ModelRequest) -> list[dict[str, object]]:
    return [_closed({"tool": {"const": tool.name}, "arguments": dict(tool.parameters)}) for tool in _offered(request)]


def _any_of(forms: list[dict[str, object]]) -> dict[str, object]:
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def _closed(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT_FORM: Final = _closed({"text": {"type": "string"}})

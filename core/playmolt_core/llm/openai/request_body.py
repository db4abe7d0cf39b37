"""Request bodies of chat completions, in the forms that different servers support."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec

from playmolt_core.llm.openai.portable_schema import portable
from playmolt_core.llm.openai.tool_text import flattened, tool_messages, tool_schema
from playmolt_core.llm.port import ChatMessage, Decoding, ModelRequest, Tool

DECODINGS: Final[tuple[Decoding, ...]] = ("json_schema", "json_object", "prompt")
"""From the strictest to the one that every server supports."""


class Form(msgspec.Struct, frozen=True):
    """The form of requests to a server: the decoding of the reply, whether tools are sent as parameters or in words,
    the field that limits the reply, whether there is a system role, whether speeches are streamed, the bound of long
    texts in schemas, and whether schemas have bounds at all."""

    decoding: Decoding
    tools: Literal["native", "text"] = "native"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Older and newer servers reject each other's field."""
    system: Literal["system", "user"] = "system"
    stream: bool = False
    text_chars: int | None = None
    bounds: bool = True
    seed: bool = True
    """Whether a seed is sent that the request can do without."""


def body_of(request: ModelRequest, model: str, form: Form) -> dict[str, object]:
    messages = flattened(request.messages) if form.tools == "text" else request.messages
    offered = offered_tools(request)
    if spelt(request, form):
        messages = (*messages, *tool_messages(request))
    if form.system == "user":
        messages = tuple(
            msgspec.structs.replace(message, role="user") if message.role == "system" else message
            for message in messages
        )
    body: dict[str, Any] = {"model": model, "messages": [_message(message) for message in _alternating(messages)]}
    streams = form.stream and bool(request.streamable)
    body |= {"stream": streams, form.limit: request.max_tokens} | _sampling(request, form)
    if streams:
        body["stream_options"] = {"include_usage": True}
    if offered and form.tools == "native":
        body |= {"tools": [_tool(tool, form) for tool in offered], "tool_choice": _choice(request.tool_choice)}
    schema = tool_schema(request) if spelt(request, form) else request.schema
    return body | response_format(schema, request.schema_name, form)


def content_bytes(body: Mapping[str, Any]) -> int:
    """The length of the messages of a body in UTF-8."""
    return sum(len(str(message["content"]).encode(errors="replace")) for message in body["messages"])


def offered_tools(request: ModelRequest) -> tuple[Tool, ...]:
    """The tools that the model may use in this request."""
    return request.tools if request.tool_choice != "none" else ()


def spelt(request: ModelRequest, form: Form) -> bool:
    """Whether the tools are described in the prompt, so that the reply must be searched for calls."""
    return form.tools == "text" and bool(offered_tools(request))


def constrained(request: ModelRequest, form: Form) -> bool:
    """Whether the body has a `response_format`."""
    return form.decoding != "prompt" and (request.schema is not None or spelt(request, form))


def response_format(schema: Mapping[str, object] | None, name: str, form: Form) -> dict[str, object]:
    """The parameter that constrains the reply to the schema; none for plain text or decoding by prompt."""
    if schema is None or form.decoding == "prompt":
        return {}
    if form.decoding == "json_object":
        return {"response_format": {"type": "json_object"}}
    sent = portable(schema, form.text_chars, bounds=form.bounds)
    described = {"name": name, "schema": sent, "strict": is_strict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def is_strict(schema: object) -> bool:
    """Whether a schema can be sent as strict: all its objects are closed and require all keys."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(
            properties or ()
        )
        is_object = isinstance(properties, Mapping) or schema.get("type") == "object"
        return (closed or not is_object) and all(is_strict(part) for part in schema.values())
    if isinstance(schema, Sequence) and not isinstance(schema, str):
        return all(is_strict(part) for part in schema)
    return True


def stored(value: Any) -> Any:
    """The storable form of a body: floats and integers beyond 2**53 become decimal strings."""
    match value:
        case float():
            return f"{Decimal(repr(value)):f}"
        case bool() | str() | None:
            return value
        case int():
            return value if abs(value) <= 2**53 else str(value)
        case Mapping():
            return {str(key): stored(item) for key, item in value.items()}
        case _:
            return [stored(item) for item in value]


def expected_tokens(request: ModelRequest) -> int:
    """The expected number of tokens: one per three bytes of prompt, plus a complete reply."""
    return _prompt_bytes(request) // 3 + 8 * len(request.messages) + request.max_tokens


def most_prompt_tokens(request: ModelRequest) -> int:
    """An upper bound of the prompt's tokens for budgets: no tokenizer makes more tokens than bytes."""
    return _prompt_bytes(request) + 16 * (len(request.messages) + len(request.tools))


def _prompt_bytes(request: ModelRequest) -> int:
    return len(msgspec.json.encode((request.messages, request.tools, request.schema)))


def _alternating(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Merge consecutive messages of one role, which many templates reject; tool results have ids and stay separate."""
    joined: list[ChatMessage] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is None or last.role != message.role or last.role == "tool" or last.tool_calls or message.tool_calls:
            joined.append(message)
        else:
            joined[-1] = ChatMessage(message.role, f"{last.content}\n\n{message.content}")
    return joined


def _message(message: ChatMessage) -> dict[str, object]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return body | ({"tool_call_id": message.tool_call_id} if message.role == "tool" else {})


def _sampling(request: ModelRequest, form: Form) -> dict[str, object]:
    sampling = request.sampling
    numbers = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    given: dict[str, object] = {name: float(text) for name, text in numbers.items() if text is not None}
    left_out = sampling.seed is None or (request.seed_is_optional and not form.seed)
    return given if left_out else {**given, "seed": sampling.seed}


def _tool(tool: Tool, form: Form) -> dict[str, Any]:
    parameters = portable(tool.parameters, form.text_chars, bounds=form.bounds)
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _choice(choice: str) -> object:
    return choice if choice in ("auto", "none", "required") else {"type": "function", "function": {"name": choice}}

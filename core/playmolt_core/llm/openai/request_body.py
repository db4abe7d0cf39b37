"""The body of a chat completion request, in the forms that servers differ in."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec

from playmolt_core.llm.openai.tool_text import flattened, tool_messages, tool_schema
from playmolt_core.llm.port import Decoding, Message, ModelRequest, Tool

DECODINGS: Final[tuple[Decoding, ...]] = ("json_schema", "json_object", "prompt")
"""From the strictest to the one that every server can do."""
_UNPORTABLE: Final = frozenset({"minLength", "maxLength", "default", "title"})
_LOOKAROUND: Final = "(?"
_SHORT: Final = 64
_NAMED: Final = frozenset({"properties", "$defs"})
"""Keywords whose value maps names to schemas: a field may be called `title`."""


class Form(msgspec.Struct, frozen=True):
    """How a request is put to one server: how its reply is decoded, whether tools are sent or spelt out in words,
    which field limits the reply, whether the system text has a role of its own, whether a speech comes in pieces, to
    how many characters a schema bounds each long text."""

    decoding: Decoding
    tools: Literal["native", "text"] = "native"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Older and newer servers each reject the other's field."""
    system: Literal["system", "user"] = "system"
    stream: bool = False
    text_chars: int | None = None


def body_of(request: ModelRequest, model: str, form: Form) -> dict[str, Any]:
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
    streams = form.stream and bool(request.told)
    body |= {"stream": streams, form.limit: request.max_tokens} | _sampling(request)
    if streams:
        body["stream_options"] = {"include_usage": True}
    if offered and form.tools == "native":
        body |= {"tools": [_tool(tool) for tool in offered], "tool_choice": _choice(request.tool_choice)}
    schema = tool_schema(request) if spelt(request, form) else request.schema
    return body | response_format(schema, request.schema_name, form.decoding, form.text_chars)


def content_bytes(body: Mapping[str, Any]) -> int:
    """How long the messages of a body are, in UTF-8."""
    return sum(len(str(message["content"]).encode(errors="replace")) for message in body["messages"])


def offered_tools(request: ModelRequest) -> tuple[Tool, ...]:
    """The tools that the model may use in this request."""
    return request.tools if request.tool_choice != "none" else ()


def spelt(request: ModelRequest, form: Form) -> bool:
    """Whether the tools on offer stand in the prompt, and the reply is to be read for them."""
    return form.tools == "text" and bool(offered_tools(request))


def constrained(request: ModelRequest, form: Form) -> bool:
    """Whether the body carries a `response_format`."""
    return form.decoding != "prompt" and (request.schema is not None or spelt(request, form))


def response_format(
    schema: Mapping[str, Any] | None, name: str, decoding: Decoding, text_chars: int | None = None
) -> dict[str, Any]:
    """The parameter that constrains a reply to the schema; none for plain text or decoding by prompt."""
    if schema is None or decoding == "prompt":
        return {}
    if decoding == "json_object":
        return {"response_format": {"type": "json_object"}}
    described = {"name": name, "schema": portable(schema, text_chars), "strict": is_strict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def portable(schema: Any, text_chars: int | None = None) -> Any:
    """A schema in the words that servers bind a model with; what is left out, the reply is still judged by.

    Strict servers refuse bounds of texts, defaults and an enum without a type. Bounds of short texts, as of ids, are
    said by a pattern; of long ones a grammar would repeat each of 16,000 characters. `text_chars` bounds those: a small
    model that goes round in circles ends its text there, where it would else be cut at the end of its tokens.
    """
    if isinstance(schema, Mapping):
        kept = {
            word: {name: portable(part, text_chars) for name, part in value.items()}
            if word in _NAMED
            else value
            if word == "enum"
            else portable(value, text_chars)
            for word, value in schema.items()
            if word not in _UNPORTABLE and not (word == "pattern" and _LOOKAROUND in str(value))
        }
        if all(isinstance(value, str) for value in kept.get("enum", (None,))):
            return {"type": "string", **kept}
        longest = schema.get("maxLength")
        short = isinstance(longest, int) and longest <= _SHORT
        if short and "pattern" not in kept:
            return {**kept, "pattern": f"^.{{{schema.get('minLength', 0)},{longest}}}$"}
        if text_chars and not short and kept.get("type") == "string" and "enum" not in kept:
            # A pattern beside it would be read in its place.
            kept.pop("pattern", None)
            bound = min(text_chars, longest or text_chars)
            return {**kept, "minLength": schema.get("minLength", 0), "maxLength": bound}
        return kept
    return [portable(part, text_chars) for part in schema] if isinstance(schema, list) else schema


def is_strict(schema: object) -> bool:
    """Whether a schema may be sent as strict: every object of it is closed and requires all its keys."""
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
    """A body as it may be stored: floats and integers past 2**53 as decimal strings."""
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
    """A guess, reply included: one token for three bytes of prompt, and a whole reply."""
    return _prompt_bytes(request) // 3 + 8 * len(request.messages) + request.max_tokens


def most_prompt_tokens(request: ModelRequest) -> int:
    """A bound of the prompt's tokens for budgets: no tokenizer makes more tokens than bytes."""
    return _prompt_bytes(request) + 16 * (len(request.messages) + len(request.tools))


def _prompt_bytes(request: ModelRequest) -> int:
    return len(msgspec.json.encode((request.messages, request.tools, request.schema)))


def _alternating(messages: Sequence[Message]) -> list[Message]:
    """Never two of one role in a row, which many templates refuse; results of tools have an id each and stay apart."""
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is None or last.role != message.role or last.role == "tool" or last.tool_calls or message.tool_calls:
            joined.append(message)
        else:
            joined[-1] = Message(message.role, f"{last.content}\n\n{message.content}")
    return joined


def _message(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return body | ({"tool_call_id": message.tool_call_id} if message.role == "tool" else {})


def _sampling(request: ModelRequest) -> dict[str, Any]:
    sampling = request.sampling
    numbers = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    given: dict[str, Any] = {name: float(text) for name, text in numbers.items() if text is not None}
    return given | ({} if sampling.seed is None else {"seed": sampling.seed})


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _choice(choice: str) -> object:
    return choice if choice in ("auto", "none", "required") else {"type": "function", "function": {"name": choice}}

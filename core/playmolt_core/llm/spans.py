"""A span for each request to a model, following OpenTelemetry's conventions for generative AI.

Prompts and replies are in the span or in an event of it only where OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT
says so, because they may contain secrets of running games. Those of sealed sessions are in neither: traces cannot be
erased.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import msgspec
from opentelemetry import _logs, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import AnyValue
from playmolt_schemas.identifiers import is_sealed_type

from playmolt_core.llm.figures import MODEL_METRICS
from playmolt_core.llm.port import TRANSPORT_FAULTS, Attempt, AttemptOutcome, ModelRequest, session_of
from playmolt_core.settings import TRACE_CONTENT, content_places

CONTENT_EVENT: Final = "gen_ai.client.inference.operation.details"
_OUTPUT: Final = "gen_ai.output.messages"
"""Repeated as `output.value`: without that, Phoenix shows the model's name as the output of a call."""
_BODIES: Final[frozenset[AttemptOutcome]] = TRANSPORT_FAULTS | {"rejected"}
"""Outcomes whose reply is not the model's, but the beginning of the server's body."""
_Part = dict[str, AnyValue]


def attempt_span(
    request: ModelRequest, provider: str, model: str, server: str = "", port: int = 0
) -> AbstractContextManager[Span]:
    """The span of one request; `finish` writes its result."""
    tracer = trace.get_tracer("playmolt.llm")
    if isinstance(tracer, trace.ProxyTracer):  # nothing is traced
        return nullcontext(trace.INVALID_SPAN)
    sampling = request.sampling
    numbers = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.output.type": "json" if request.schema else "text",
        "playmolt.model.alias": request.alias,
    }
    attributes |= {f"gen_ai.request.{name}": float(text) for name, text in numbers.items() if text is not None}
    if sampling.seed is not None:
        attributes["gen_ai.request.seed"] = sampling.seed
    if request.turn:
        attributes |= {"gen_ai.conversation.id": request.turn.session, "playmolt.turn": request.turn.value}
    if server:
        attributes |= {"server.address": server, "server.port": port}
    return tracer.start_as_current_span(f"chat {model}", kind=SpanKind.CLIENT, attributes=attributes)


def finish(span: Span, attempt: Attempt, environment: Mapping[str, str] = os.environ) -> None:
    """Write an attempt's result to its span, and count it."""
    MODEL_METRICS.observe(attempt)
    if not span.is_recording():
        return
    known: dict[str, Any] = {
        "gen_ai.response.model": attempt.model_answered,
        "gen_ai.usage.input_tokens": attempt.usage and attempt.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": attempt.usage and attempt.usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": attempt.usage and attempt.usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": attempt.usage and attempt.usage.reasoning_tokens,
        "gen_ai.response.finish_reasons": attempt.finish_reason and [attempt.finish_reason],
        "http.response.status_code": attempt.status,
        "playmolt.model.cost": attempt.cost,
    }
    span.set_attributes({name: value for name, value in known.items() if value is not None})
    span.set_attributes({"playmolt.model.outcome": attempt.outcome, "playmolt.model.attempt": attempt.number})
    if attempt.outcome != "ok":
        span.set_attribute("error.type", attempt.outcome)
        span.set_status(Status(StatusCode.ERROR, attempt.outcome))
    places = content_places(environment.get(TRACE_CONTENT, ""))
    if not places or is_sealed_type(session_of(attempt)):
        return
    texts = _texts(attempt)
    if "span" in places:
        encoded = {name: msgspec.json.encode(value).decode() for name, value in texts.items()}
        if _OUTPUT in encoded:
            encoded |= {"output.value": encoded[_OUTPUT], "output.mime_type": "application/json"}
        span.set_attributes(encoded)
    if "event" in places:
        _logs.get_logger("playmolt.llm").emit(event_name=CONTENT_EVENT, attributes=texts)


def _texts(attempt: Attempt) -> dict[str, AnyValue]:
    """The messages of an attempt in the form of the conventions: roles, and parts with a type."""
    messages: Sequence[Mapping[str, Any]] = attempt.request.get("messages", [])
    system = [part for message in messages if message["role"] == "system" for part in _parts(message)]
    asked = [{"role": message["role"], "parts": _parts(message)} for message in messages if message["role"] != "system"]
    calls = [
        {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}} for call in attempt.tool_calls
    ]
    body = attempt.outcome in _BODIES or (attempt.outcome == "refusal" and attempt.finish_reason is None)
    said = [] if body else _parts({"role": "assistant", "content": attempt.reply, "tool_calls": calls})
    texts: dict[str, AnyValue] = {}
    if system:
        texts["gen_ai.system_instructions"] = system
    if asked:
        texts["gen_ai.input.messages"] = asked
    if said:
        answer: dict[str, AnyValue] = {
            "role": "assistant",
            "parts": said,
            "finish_reason": attempt.finish_reason or "error",
        }
        texts[_OUTPUT] = [answer]
    return texts


def _parts(message: Mapping[str, Any]) -> list[_Part]:
    """The parts of a message of the chat API."""
    content = message.get("content") or ""
    if message["role"] == "tool":
        return [{"type": "tool_call_response", "id": message.get("tool_call_id", ""), "response": content}]
    text: list[_Part] = [{"type": "text", "content": content}] if content else []
    return text + [
        {
            "type": "tool_call",
            "id": call["id"],
            "name": call["function"]["name"],
            "arguments": _arguments(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls") or ()
    ]


def _arguments(text: str) -> object:
    """A call's arguments as an object; the text itself where it is not JSON."""
    try:
        return msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return text

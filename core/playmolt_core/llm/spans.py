"""A span for each request to a model, following OpenTelemetry's conventions for generative AI.

Spans contain prompts and replies only if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is `true`, because they may
contain secrets of running games. Those of sealed sessions are never included, because traces cannot be erased.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from playmolt_schemas.identifiers import is_sealed_type

from playmolt_core.llm.figures import MODEL_METRICS
from playmolt_core.llm.port import Attempt, ModelRequest, session_of

CONTENT_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@contextmanager
def attempt_span(request: ModelRequest, provider: str, model: str, server: str = "", port: int = 0) -> Iterator[Span]:
    """The span of one request; `finish` writes its result."""
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
    tracer = trace.get_tracer("playmolt.llm")
    with tracer.start_as_current_span(f"chat {model}", kind=SpanKind.CLIENT, attributes=attributes) as span:
        yield span


def finish(span: Span, attempt: Attempt, environment: Mapping[str, str] = os.environ) -> None:
    """Write an attempt's result to its span, and count it."""
    MODEL_METRICS.observe(attempt)
    known: dict[str, Any] = {
        "gen_ai.response.model": attempt.model_answered,
        "gen_ai.usage.input_tokens": attempt.usage and attempt.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": attempt.usage and attempt.usage.completion_tokens,
        "gen_ai.response.finish_reasons": attempt.finish_reason and [attempt.finish_reason],
        "http.response.status_code": attempt.status,
        "playmolt.model.cost": attempt.cost,
    }
    span.set_attributes({name: value for name, value in known.items() if value is not None})
    span.set_attributes({"playmolt.model.outcome": attempt.outcome, "playmolt.model.attempt": attempt.number})
    if attempt.outcome != "ok":
        span.set_attribute("error.type", attempt.outcome)
        span.set_status(Status(StatusCode.ERROR, attempt.outcome))
    if environment.get(CONTENT_VARIABLE, "").lower() == "true" and not is_sealed_type(session_of(attempt)):
        messages = msgspec.json.encode(attempt.request.get("messages", [])).decode()
        span.set_attributes({"gen_ai.input.messages": messages, "gen_ai.output.messages": attempt.reply})

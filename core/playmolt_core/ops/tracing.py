"""Traces by OpenTelemetry: one action from HTTP through its decision, commit and relay to its viewers.

The context travels as W3C traceparent text: in the request's header, in `Call.trace`, in the event's `metadata.trace`
and in a header of the public NATS message. Spans are made only where OTEL_EXPORTER_OTLP_ENDPOINT names a collector
(OTLP over HTTP) and only of sampled requests; everything else pays one comparison. Spans hold ids, types and sizes,
never a payload.
"""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from opentelemetry import context, trace
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags, Tracer
from playmolt_schemas.this_machine import names_this_machine

from playmolt_core.ops import telemetry
from playmolt_core.settings import TRACE_CONTENT, TRACE_ENDPOINTS, TRACE_SHARE, content_places, trace_share

if TYPE_CHECKING:
    import requests
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

TRACES_A_SECOND: Final = 20
"""The most requests that a process traces in a second, whatever callers ask for: tracing costs work."""
_EXPORT_SECONDS: Final = 3.0
_LENGTH: Final = len("00-") + 32 + 1 + 16 + len("-01")
_SAMPLED: Final = frozenset("13579bdf")

Attributes = Mapping[str, str | int]


class _SpanExport:
    """The export of spans, with a limit on how many start."""

    def __init__(self, provider: "TracerProvider", share: float, clock: Callable[[], float]) -> None:
        self.provider = provider
        self.tracer: Tracer = provider.get_tracer("playmolt")
        self._share = share
        self._clock = clock
        self._second = 0
        self._begun = 0

    def admits(self, asked: bool) -> bool:
        """Whether one more request is traced now; `asked`: its caller sent a sampled context."""
        if not asked and random.random() >= self._share:  # noqa: S311 -- picks samples, guards nothing
            return False
        second = int(self._clock())
        if second != self._second:
            self._second, self._begun = second, 0
        self._begun += 1
        return self._begun <= TRACES_A_SECOND


_exporting: _SpanExport | None = None
_closing: list[Callable[[], object]] = []
"""Ends the exports beside that of spans."""


def configure(service: str, environment: Mapping[str, str] = os.environ, *, all_tracers: bool = True) -> None:
    """Export this process's spans if the environment names a collector; otherwise do nothing.

    `all_tracers`: also export spans of code that gets its tracer from OpenTelemetry (model calls). Not in the gateway:
    FastAPI makes three spans of each request, sampled or not.
    OTEL_SDK_DISABLED, OTEL_RESOURCE_ATTRIBUTES and the OTEL_EXPORTER_OTLP_* and OTEL_BSP_* variables mean what
    OpenTelemetry says.
    """
    if not _endpoint(environment) or environment.get("OTEL_SDK_DISABLED", "") == "true":
        return
    # Costs a third of a second and 20 MB, only with a collector; the same holds for the imports of `install`.
    import requests  # noqa: PLC0415
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    share = trace_share(environment.get(TRACE_SHARE, ""))
    session = requests.Session()
    session.trust_env = not names_this_machine(_endpoint(environment))
    install(service, BatchSpanProcessor(OTLPSpanExporter(timeout=_EXPORT_SECONDS, session=session)), share)
    if all_tracers and _exporting is not None:
        trace.set_tracer_provider(_exporting.provider)
        if "event" in content_places(environment.get(TRACE_CONTENT, "")):
            _export_events(session, _exporting.provider)


def _export_events(session: "requests.Session", provider: "TracerProvider") -> None:
    """Export events, too, which OpenTelemetry sends as log records."""
    from opentelemetry._logs import set_logger_provider  # noqa: PLC0415
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter  # noqa: PLC0415
    from opentelemetry.sdk._logs import LoggerProvider  # noqa: PLC0415
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor  # noqa: PLC0415

    events = LoggerProvider(resource=provider.resource, shutdown_on_exit=False)
    events.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(timeout=_EXPORT_SECONDS, session=session)))
    set_logger_provider(events)
    _closing.append(events.shutdown)


def _endpoint(environment: Mapping[str, str]) -> str:
    return next((environment[name] for name in reversed(TRACE_ENDPOINTS) if environment.get(name)), "")


def install(
    service: str, processor: "SpanProcessor", share: float = 1.0, clock: Callable[[], float] = time.monotonic
) -> None:
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415

    global _exporting  # noqa: PLW0603 -- as OpenTelemetry's own provider: one for the process, set once at its start
    provider = TracerProvider(
        resource=Resource.create({"service.name": service, "service.namespace": "playmolt"}), shutdown_on_exit=False
    )
    provider.add_span_processor(processor)
    _exporting = _SpanExport(provider, share, clock)


def close(seconds: float = _EXPORT_SECONDS) -> None:
    """Send the buffered spans, then make no more. An unavailable collector delays this by at most `seconds`."""
    global _exporting  # noqa: PLW0603 -- see install
    if _exporting is None:
        return
    flushing = [threading.Thread(target=end, daemon=True) for end in (_exporting.provider.shutdown, *_closing)]
    _exporting = None
    _closing.clear()
    end = time.monotonic() + seconds
    for each in flushing:
        each.start()
    for each in flushing:
        each.join(max(0.0, end - time.monotonic()))


def on() -> bool:
    return _exporting is not None


def sampled(carried: str) -> bool:
    """Whether spans are made for a context (W3C traceparent; "" for none)."""
    return _exporting is not None and carried[-1:] in _SAMPLED


def carried_by(span: Span) -> str:
    """A span's context as W3C traceparent."""
    own = span.get_span_context()
    return f"00-{own.trace_id:032x}-{own.span_id:016x}-{int(own.trace_flags):02x}"


def _parent(carried: str) -> context.Context:
    """Parse `traceparent`; an invalid one starts a new trace."""
    if len(carried) != _LENGTH:
        return context.Context()
    remote = SpanContext(int(carried[3:35], 16), int(carried[36:52], 16), True, TraceFlags(int(carried[53:], 16)))
    return trace.set_span_in_context(NonRecordingSpan(remote), context.Context())


def serve(carried: str, name: str) -> tuple[Span | None, str]:
    """Start the span of a request with a trace context ("" for none). Returns it and the context to pass on.

    None: the request is not traced, neither here nor by later services. `answered` ends the span.
    """
    if _exporting is None:
        return None, carried
    asked = sampled(carried)
    if (carried and not asked) or not _exporting.admits(asked):
        return None, f"{carried[:-2]}00" if carried else ""
    span = _exporting.tracer.start_span(name, _parent(carried), SpanKind.SERVER, {"playmolt.route": name})
    return span, carried_by(span)


def answered(span: Span, status: int) -> None:
    """End the span of a request with its HTTP status."""
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_status(Status(StatusCode.ERROR))
    span.end()


def record(carried: str, name: str, started: int, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL) -> None:
    """Write a span of a sampled context that lasted from `started` (nanoseconds since the epoch) until now."""
    if _exporting is not None:
        _exporting.tracer.start_span(name, _parent(carried), kind, attributes, start_time=started).end()


@contextmanager
def fulfilling(kind: str, stream: str, attempt: int) -> Iterator[None]:
    """Trace the fulfilment of an effect; spans of model calls inside belong to it, as do its log lines."""
    if _exporting is None:
        yield
        return
    attributes: Attributes = {"playmolt.stream": stream, "playmolt.effect.attempt": attempt}
    span = _exporting.tracer.start_span(f"effect {kind}", attributes=attributes)
    # The message of an error may hold secrets: it stays out of the span.
    inside = trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False)
    with inside, telemetry.about(carried_by(span)):
        yield

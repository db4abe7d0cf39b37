"""Which requests make spans, what these hold, and what a process without a collector pays: nothing."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from playmolt_core.ops import telemetry, tracing
from playmolt_core.settings import InvalidSettings, from_environment

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00"
Install = Callable[..., InMemorySpanExporter]


@pytest.fixture
def install() -> Iterator[Install]:
    def give(share: float = 1.0, **options: Any) -> InMemorySpanExporter:
        exporter = InMemorySpanExporter()
        tracing.install("tests", SimpleSpanProcessor(exporter), share, **options)
        return exporter

    yield give
    tracing.close()


def test_without_a_collector_contexts_pass_and_nothing_is_made() -> None:
    tracing.configure("tests", {})
    assert not tracing.on()
    assert not tracing.sampled(SAMPLED)
    assert tracing.serve(SAMPLED, "act") == (None, SAMPLED)
    tracing.record(SAMPLED, "decide ox", 0, {})
    with tracing.fulfilling("turn", "legal-1", 1):
        tracing.close()


def test_a_disabled_sdk_makes_nothing() -> None:
    tracing.configure("tests", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"})
    assert not tracing.on()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("OTEL_TRACES_SAMPLER_ARG", share) for share in ("many", "2", "-1", "nan")),
        *(
            ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", place)
            for place in ("yes", "span_only", "SPAN", "True", "1")
        ),
        *(("OTEL_EXPORTER_OTLP_ENDPOINT", url) for url in ("collector:4318", "grpc://collector", "http://")),
    ],
)
def test_telemetry_that_makes_no_sense_is_refused_before_a_service_starts(name: str, value: str) -> None:
    with pytest.raises(InvalidSettings, match=f"{name}='{value}'"):
        from_environment({name: value})


def test_a_sampled_request_is_gone_on_with(install: Install) -> None:
    exporter = install()
    span, carried = tracing.serve(SAMPLED, "act")
    assert span is not None
    assert carried.startswith(f"00-{TRACE}-")
    assert tracing.sampled(carried)
    tracing.record(carried, "decide ox", 5, {"playmolt.op": "act"})
    tracing.answered(span, 503)
    inner, outer = exporter.get_finished_spans()
    assert outer.parent is not None
    assert inner.parent is not None
    assert f"{outer.parent.span_id:016x}" == SPAN
    assert (inner.parent.span_id, inner.start_time) == (outer.context.span_id, 5)
    assert not outer.status.is_ok
    assert dict(outer.attributes or {})["http.response.status_code"] == 503


def test_who_asks_for_no_trace_gets_none(install: Install) -> None:
    exporter = install()
    assert tracing.serve(UNSAMPLED, "act") == (None, UNSAMPLED)
    assert not tracing.sampled(UNSAMPLED)
    assert not tracing.sampled("")
    assert exporter.get_finished_spans() == ()


def test_the_share_decides_where_the_caller_does_not(install: Install) -> None:
    install(share=0)
    assert tracing.serve("", "act") == (None, "")
    assert tracing.serve(SAMPLED, "act")[0] is not None
    install(share=1)
    assert tracing.serve("", "act")[0] is not None


def test_nobody_makes_the_house_trace_more_than_its_bound(install: Install) -> None:
    now = [7.5]
    install(clock=lambda: now[0])
    served = [tracing.serve(SAMPLED, "act") for _ in range(tracing.TRACES_A_SECOND + 3)]
    assert sum(span is not None for span, _ in served) == tracing.TRACES_A_SECOND
    assert served[-1] == (None, UNSAMPLED), "and the others further on are told so"
    now[0] = 8.0
    assert tracing.serve(SAMPLED, "act")[0] is not None


def test_an_effect_names_its_trace_in_log_lines_and_keeps_an_errors_words_to_itself(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    exporter = install()
    telemetry.configure("tests")

    def fail() -> None:
        with tracing.fulfilling("turn", "legal-1", 2):
            telemetry.log("here").warning("inside")
            raise ValueError("a secret move")

    with pytest.raises(ValueError, match="secret"):
        fail()
    telemetry.log("here").warning("outside", trace_id="")
    inside, outside = map(json.loads, capsys.readouterr().err.splitlines())
    (span,) = exporter.get_finished_spans()
    assert inside["trace_id"] == f"{span.context.trace_id:032x}"
    assert "trace_id" not in outside
    assert "secret" not in span.to_json()

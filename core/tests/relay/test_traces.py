"""The trace of an event on its public message: named where traces are made, of no weight where streams are compared."""

from collections.abc import Iterator

import msgspec
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from playmolt_core.bus.batches import StreamMessage
from playmolt_core.engine.feed import event_message, public_message
from playmolt_core.ops import tracing
from playmolt_core.relay.feeds import same
from playmolt_schemas.records import Metadata
from playmolt_schemas.subjects import CLOSES_HEADER, TRACE_HEADER

SAMPLED = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNSAMPLED = f"{SAMPLED[:-1]}0"


def shown(trace: str, *, public: bytes | None = b'{"version":1}', closes: bool = False) -> StreamMessage:
    return public_message("ox-1", public, "", msgspec.json.encode(Metadata(command_id="c", trace=trace)), closes)


@pytest.fixture
def traced() -> Iterator[None]:
    tracing.install("relay", SimpleSpanProcessor(InMemorySpanExporter()))
    yield
    tracing.close()


@pytest.mark.usefixtures("traced")
def test_a_sampled_trace_is_named() -> None:
    assert shown(SAMPLED).headers == {TRACE_HEADER: SAMPLED}
    assert shown(SAMPLED, closes=True).headers == {CLOSES_HEADER: "1", TRACE_HEADER: SAMPLED}


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("trace", ["", UNSAMPLED, "junk"])
def test_no_other_is(trace: str) -> None:
    assert shown(trace).headers == {}


@pytest.mark.usefixtures("traced")
def test_what_has_no_public_form_names_nothing() -> None:
    assert shown(SAMPLED, public=None).headers == {}


def test_a_relay_without_traces_finds_the_stream_of_one_with_them_true(traced: None) -> None:
    named = shown(SAMPLED, closes=True)
    tracing.close()
    plain = shown(SAMPLED, closes=True)
    assert plain.headers == {CLOSES_HEADER: "1"}
    assert named != plain
    assert same(named, plain)
    assert same(plain, named)
    assert not same(plain, shown(SAMPLED)), "but not one that does not close"
    assert not same(plain, event_message("ox-1", "reveal", plain.body))

"""The trace of an event on its public message: named where traces are made, of no weight where streams are compared."""

from collections.abc import Iterator

import msgspec
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from playmolt_core.log.port import OutgoingRecord
from playmolt_core.ops import tracing
from playmolt_core.relay.feeds import event_message, public_message, same
from playmolt_schemas.records import ZERO_HASH, Metadata, Record
from playmolt_schemas.subjects import CLOSES_HEADER, TRACE_HEADER

SAMPLED = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNSAMPLED = f"{SAMPLED[:-1]}0"


def entry(
    trace: str, *, data: bytes = b"{}", public: bytes | None = b'{"version":1}', closes: bool = False
) -> OutgoingRecord:
    metadata = msgspec.json.encode(Metadata(command_id="c", trace=trace))
    record = Record(
        stream="ox-1", version=1, position=1, type="reveal", schema_version=1, data=msgspec.Raw(data),
        metadata=msgspec.Raw(metadata), at="2026-01-01T00:00:00.000000Z",
        salt="", prev_hash=ZERO_HASH, hash=ZERO_HASH,
    )  # fmt: skip
    return OutgoingRecord(1, "ox-1", "reveal", msgspec.json.encode(record), public, None, closes)


@pytest.fixture
def traced() -> Iterator[None]:
    tracing.install("relay", SimpleSpanProcessor(InMemorySpanExporter()))
    yield
    tracing.close()


@pytest.mark.usefixtures("traced")
def test_a_sampled_trace_is_named() -> None:
    assert public_message(entry(SAMPLED)).headers == {TRACE_HEADER: SAMPLED}
    assert public_message(entry(SAMPLED, closes=True)).headers == {CLOSES_HEADER: "1", TRACE_HEADER: SAMPLED}


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("trace", ["", UNSAMPLED, "junk"])
def test_no_other_is(trace: str) -> None:
    assert public_message(entry(trace)).headers == {}


@pytest.mark.usefixtures("traced")
def test_what_looks_like_a_trace_in_an_event_is_none() -> None:
    data = msgspec.json.encode({"trace": SAMPLED, "metadata": {"trace": SAMPLED}})
    assert public_message(entry("", data=data)).headers == {}


@pytest.mark.usefixtures("traced")
def test_what_has_no_public_form_names_nothing() -> None:
    assert public_message(entry(SAMPLED, public=None)).headers == {}


def test_a_relay_without_traces_finds_the_stream_of_one_with_them_true(traced: None) -> None:
    named = public_message(entry(SAMPLED, closes=True))
    tracing.close()
    plain = public_message(entry(SAMPLED, closes=True))
    assert plain.headers == {CLOSES_HEADER: "1"}
    assert named != plain
    assert same(named, plain)
    assert same(plain, named)
    assert not same(plain, public_message(entry(SAMPLED))), "but not one that does not close"
    assert not same(plain, event_message(entry(SAMPLED)))

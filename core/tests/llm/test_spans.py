"""What a trace tells of a request to a model, and what it keeps to itself."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest
from opentelemetry import _logs, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.port import (
    Attempt,
    ChatMessage,
    ModelRequest,
    SamplingParameters,
    ToolCall,
    TurnHeader,
    Usage,
)
from playmolt_core.llm.spans import attempt_span, finish
from playmolt_core.settings import TRACE_CONTENT

from core.tests.llm.fake_server import FakeServer, reply, status

REQUEST = ModelRequest(
    alias="fake",
    messages=(ChatMessage("user", "a secret question"),),
    turn=TurnHeader("agora-1", "JUDGE_R1"),
    sampling=SamplingParameters(temperature="0.5", seed=3),
)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> InMemoryLogRecordExporter:
    exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]  # its library has no annotation there
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    monkeypatch.setattr(_logs, "get_logger", provider.get_logger)
    return exporter


async def asked(exporter: InMemorySpanExporter, request: ModelRequest = REQUEST) -> tuple[ReadableSpan, ...]:
    async def record(_: Attempt) -> None:
        return

    async def no_wait(_: float) -> None:
        return

    async with FakeServer(status(500, "a secret fault"), reply("a secret answer")) as server:
        model = OpenAIModel(server.entry(input_price="1", output_price="1"), "sk-secret", MemoryLimits(), sleep=no_wait)
        await model.ask(request, record)
        await model.close()
    return exporter.get_finished_spans()


async def test_each_attempt_is_a_span(spans: InMemorySpanExporter) -> None:
    failed, done = await asked(spans)
    assert (failed.name, failed.kind) == ("chat fake-model", trace.SpanKind.CLIENT)
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "server_error"
    assert failed.attributes["http.response.status_code"] == 500
    assert failed.status.status_code == trace.StatusCode.ERROR
    assert done.attributes is not None
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "fake-model",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.seed": 3,
        "gen_ai.request.max_tokens": 2048,
        "gen_ai.response.model": "fake-model-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.conversation.id": "agora-1",
        "server.address": "127.0.0.1",
        "playmolt.model.alias": "fake",
        "playmolt.model.attempt": 2,
        "playmolt.model.cost": "0.000015",
    }
    assert expected.items() <= dict(done.attributes).items()


async def test_content_is_out_of_it_unless_asked_for(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "secret" not in " ".join(span.to_json() for span in await asked(spans))
    for nowhere in ("", "NO_CONTENT"):
        spans.clear()
        monkeypatch.setenv(TRACE_CONTENT, nowhere)
        assert "secret" not in " ".join(span.to_json() for span in await asked(spans))


@pytest.mark.parametrize(
    ("places", "in_span", "in_event"),
    [
        ("SPAN_ONLY", True, False),
        ("true", True, False),
        ("SPAN_AND_EVENT", True, True),
        ("EVENT_ONLY", False, True),
    ],
)
async def test_content_is_where_it_is_asked_for(
    spans: InMemorySpanExporter, events: InMemoryLogRecordExporter, monkeypatch: pytest.MonkeyPatch, places: str,
    in_span: bool, in_event: bool,
) -> None:  # fmt: skip
    monkeypatch.setenv(TRACE_CONTENT, places)
    failed, done = await asked(spans)
    assert done.attributes is not None
    question = [{"role": "user", "parts": [{"type": "text", "content": "a secret question"}]}]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "a secret answer"}], "finish_reason": "stop"}]
    if in_span:
        assert failed.attributes is not None
        assert not {"gen_ai.output.messages", "output.value"} & set(failed.attributes), (
            "a server's error is not a reply"
        )
        assert done.attributes["output.value"] == done.attributes["gen_ai.output.messages"]
        assert msgspec.json.decode(str(done.attributes["gen_ai.input.messages"])) == question
        assert msgspec.json.decode(str(done.attributes["gen_ai.output.messages"])) == answer
    else:
        assert "secret" not in done.to_json()
    records = [entry.log_record for entry in events.get_finished_logs()]
    assert bool(records) is in_event
    if in_event:
        last = records[-1]
        assert (last.event_name, last.span_id) == ("gen_ai.client.inference.operation.details", done.context.span_id)
        sent = msgspec.json.decode(msgspec.json.encode(_plain(last.attributes)))
        assert (sent["gen_ai.input.messages"], sent["gen_ai.output.messages"]) == (question, answer)
    assert "sk-secret" not in done.to_json()


def _plain(value: object) -> object:
    """Attributes of a record as lists and dicts."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value


async def test_tools_and_the_system_prompt_have_parts_of_their_own(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRACE_CONTENT, "SPAN_ONLY")
    messages = (
        ChatMessage("system", "You are a juror."),
        ChatMessage("user", "Speak."),
        ChatMessage("assistant", "", (ToolCall("call_1", "read", '{"page": 3}'), ToolCall("call_2", "read", "{page"))),
        ChatMessage("tool", "Page three.", tool_call_id="call_1"),
        ChatMessage("tool", "No such page.", tool_call_id="call_2"),
    )
    _, done = await asked(spans, msgspec.structs.replace(REQUEST, messages=messages))
    assert done.attributes is not None
    system = msgspec.json.decode(str(done.attributes["gen_ai.system_instructions"]))
    assert system == [{"type": "text", "content": "You are a juror."}]
    assert msgspec.json.decode(str(done.attributes["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "text", "content": "Speak."}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "tool_call", "id": "call_1", "name": "read", "arguments": {"page": 3}},
                {"type": "tool_call", "id": "call_2", "name": "read", "arguments": "{page"},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "Page three."}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_2", "response": "No such page."}]},
    ]


@pytest.mark.parametrize("places", ["SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT", "true"])
@pytest.mark.parametrize("session", ["legal-1", "jury-1"])
async def test_content_of_a_session_stays_out_whatever_is_asked_for(
    spans: InMemorySpanExporter, events: InMemoryLogRecordExporter, monkeypatch: pytest.MonkeyPatch, places: str,
    session: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(TRACE_CONTENT, places)
    request = msgspec.structs.replace(REQUEST, turn=TurnHeader(session, "JUDGE_R1"))
    assert "secret" not in " ".join(span.to_json() for span in await asked(spans, request))
    assert not events.get_finished_logs()


def test_cached_and_reasoning_tokens_are_named(spans: InMemorySpanExporter) -> None:
    usage = Usage(prompt_tokens=90, completion_tokens=20, cached_tokens=64, reasoning_tokens=12)
    attempt = Attempt(
        number=1, alias="fake", model_asked="fake", model_answered="fake", headers={}, request={}, decoding="prompt",
        outcome="ok", status=200, detail="", reply="x", tool_calls=(), finish_reason="stop", usage=usage, cost=None,
        latency_ms=1,
    )  # fmt: skip
    with attempt_span(REQUEST, "openai", "fake") as span:
        finish(span, attempt)
    [done] = spans.get_finished_spans()
    assert done.attributes is not None
    figures = {name: value for name, value in done.attributes.items() if name.startswith("gen_ai.usage.")}
    assert figures == {
        "gen_ai.usage.input_tokens": 90, "gen_ai.usage.output_tokens": 20, "gen_ai.usage.cache_read.input_tokens": 64,
        "gen_ai.usage.reasoning.output_tokens": 12,
    }  # fmt: skip


def test_without_tracing_no_span_is_made() -> None:
    with attempt_span(REQUEST, "openai", "fake") as span:
        assert span is trace.INVALID_SPAN

"""What a trace tells of a request to a model, and what it keeps to itself."""

import msgspec
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.port import Attempt, ChatMessage, ModelRequest, SamplingParameters, TurnHeader
from playmolt_core.llm.spans import CONTENT_VARIABLE

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
    spans.clear()
    monkeypatch.setenv(CONTENT_VARIABLE, "true")
    told = " ".join(span.to_json() for span in await asked(spans))
    assert "a secret question" in told
    assert "a secret answer" in told
    assert "sk-secret" not in told


async def test_content_of_a_session_stays_out_whatever_is_asked_for(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONTENT_VARIABLE, "true")
    request = msgspec.structs.replace(REQUEST, turn=TurnHeader("legal-1", "JUDGE_R1"))
    assert "secret" not in " ".join(span.to_json() for span in await asked(spans, request))

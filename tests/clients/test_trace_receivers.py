"""Model calls in Phoenix and MLflow, as their users start them: seen as calls with model, messages and tokens."""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from playmolt_cli.local.embedded import free_port
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.port import Attempt, ChatMessage, ModelRequest, SamplingParameters, Tool, ToolCall, TurnHeader
from playmolt_core.settings import TRACE_CONTENT

from core.tests.llm.fake_server import FakeServer, reply, status
from core.tests.waiting import wait_until
from tests.clients.conftest import HASHED, LOCKS, environment

START_SECONDS = 280
"""Each imports for ten seconds and more on a machine that does nothing else."""
PAUSE_SECONDS = 0.2
"""Between two looks: a starting server needs the processor itself."""
CALLS = 4
QUESTION, ANSWER, FAULT = "What does the page say?", "It says so.", "a fault of the server"
READ = Tool("read", "Read a page.", {"type": "object", "properties": {"page": {"type": "integer"}}})
MESSAGES = (
    ChatMessage("system", "You are a juror."), ChatMessage("user", QUESTION),
    ChatMessage("assistant", "", (ToolCall("call_1", "read", '{"page": 3}'),)),
    ChatMessage("tool", "Page three.", tool_call_id="call_1"),
)  # fmt: skip
pytestmark = pytest.mark.timeout(START_SECONDS * 3)


@contextmanager
def running(command: Sequence[str | Path], folder: Path, **variables: str) -> Iterator[None]:
    quiet = {"DO_NOT_TRACK": "1", "PYTHONWARNINGS": "ignore", "HOME": str(folder)}
    own = {**os.environ, **quiet, **variables}
    with (folder / "log").open("wb") as log, subprocess.Popen(
        list(map(str, command)), cwd=folder, env=own, stdout=log, stderr=log, start_new_session=True
    ) as process:  # fmt: skip
        try:
            yield
        finally:
            os.killpg(process.pid, 15)
            process.wait(60)


def _made(name: str) -> Path:
    return environment(LOCKS / f"{name}.lock", *HASHED)


@pytest.fixture(scope="module")
def receivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The addresses of a Phoenix and of an MLflow."""
    with ThreadPoolExecutor(2) as threads:
        phoenix, mlflow = threads.map(_made, ("phoenix", "mlflow"))
    ports = free_port(), free_port(), free_port()
    folders = tmp_path_factory.mktemp("phoenix"), tmp_path_factory.mktemp("mlflow")
    variables = {
        "PHOENIX_WORKING_DIR": str(folders[0]), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(ports[0]),
        "PHOENIX_GRPC_PORT": str(ports[1]), "PHOENIX_TELEMETRY_ENABLED": "false",
    }  # fmt: skip
    serve = [mlflow.with_name("mlflow"), "server", "--backend-store-uri", "sqlite:///mlflow.db", "--workers", "1"]
    serve += ["--host", "127.0.0.1", "--port", str(ports[2])]
    urls = tuple(f"http://127.0.0.1:{port}" for port in (ports[0], ports[2]))
    with (
        running([phoenix.with_name("phoenix"), "serve"], folders[0], **variables),
        running(serve, folders[1], MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false"),
    ):
        for address in (f"{urls[0]}/healthz", f"{urls[1]}/health"):
            _wait(partial(_answers, address), START_SECONDS)
        yield urls[0], urls[1]


def _wait(condition: Callable[[], bool], seconds: float) -> None:
    async def holds() -> bool:
        await asyncio.sleep(PAUSE_SECONDS)
        return condition()

    asyncio.run(wait_until(holds, seconds))


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=20).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def sent(receivers: tuple[str, str]) -> tuple[str, str]:
    """The receivers, with the spans of four requests: a failed one, its repeat, a tool call, one of a jury."""
    provider = TracerProvider(resource=Resource.create({"service.name": "agora-runner"}))
    phoenix, mlflow = (f"{url}/v1/traces" for url in receivers)
    for exporter in (OTLPSpanExporter(phoenix), OTLPSpanExporter(mlflow, headers={"x-mlflow-experiment-id": "0"})):
        provider.add_span_processor(SimpleSpanProcessor(exporter))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "get_tracer", provider.get_tracer)
        patch.setenv(TRACE_CONTENT, "SPAN_ONLY")
        asyncio.run(_ask())
    provider.shutdown()
    _wait(lambda: len(_of_phoenix(receivers[0])) == len(_of_mlflow(receivers[1])) == CALLS, START_SECONDS)
    return receivers


async def _ask() -> None:
    async def record(_: Attempt) -> None:
        return

    async def no_wait(_: float) -> None:
        return

    plain = ModelRequest(
        alias="fake", messages=MESSAGES, tools=(READ,), turn=TurnHeader("agora-1", "T1"),
        sampling=SamplingParameters(temperature="0.5"),
    )  # fmt: skip
    asks = reply(tool_calls=[("read", {"page": 4})], finish_reason="tool_calls", usage=(90, 7))
    steps = (status(500, FAULT), reply(ANSWER, usage=(120, 30)), asks, reply("a sealed answer", usage=(11, 3)))
    async with FakeServer(*steps) as server:
        model = OpenAIModel(server.entry(input_price="1", output_price="1"), "sk", MemoryLimits(), sleep=no_wait)
        for turn in (TurnHeader("agora-1", "T1"), TurnHeader("agora-1", "T2"), TurnHeader("jury-1", "chat:anna")):
            await model.ask(replace(plain, turn=turn), record)
        await model.close()


def _of_phoenix(url: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{url}/v1/projects/default/spans", params={"limit": 50}, timeout=60)
    if answer.status_code == 404:  # before the first span
        return []
    found: list[dict[str, Any]] = answer.raise_for_status().json()["data"]
    return sorted(found, key=lambda span: str(span["start_time"]))


def test_phoenix_shows_them(sent: tuple[str, str]) -> None:
    spans = _of_phoenix(sent[0])
    failed, answered, asked, sealed = (span["attributes"] for span in spans)
    assert {span["span_kind"] for span in spans} == {"LLM"}
    assert [span["status_code"] for span in spans] == ["ERROR", "UNSET", "UNSET", "UNSET"]
    tokens = [[each.get(f"llm.token_count.{name}") for name in ("prompt", "completion")] for each in (failed, answered)]
    assert tokens == [[None, None], [120, 30]]
    assert {each["llm.model_name"] for each in (answered, asked, sealed)} == {"fake-model"}
    assert (answered["llm.input_messages.0.message.role"], answered["llm.input_messages.1.message.content"]) == (
        "system", QUESTION,
    )  # fmt: skip
    assert answered["llm.input_messages.3.message.content"] == "Page three."
    assert answered["llm.output_messages.0.message.content"] == ANSWER
    assert ANSWER in answered["output.value"], "the column of outputs shows the reply, not the model's name"
    called = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    assert (asked[f"{called}.name"], json.loads(asked[f"{called}.arguments"])) == ("read", {"page": 4})
    assert not [name for name in failed if name.startswith("llm.output_messages")], "a server's error is not a reply"
    assert answered["session.id"] == "agora-1"
    assert (sealed["llm.token_count.prompt"], sealed["llm.token_count.completion"]) == (11, 3)
    assert QUESTION not in json.dumps(sealed)
    assert "sealed" not in json.dumps(spans)


def _of_mlflow(url: str) -> list[dict[str, Any]]:
    """Traces with their spans, in the order of time."""
    place = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "0"}}
    body = {"locations": [place]}
    answer = httpx.post(f"{url}/api/3.0/mlflow/traces/search", json=body, timeout=60).raise_for_status().json()
    found = sorted(answer.get("traces", []), key=lambda each: str(each["request_time"]))
    return [_trace(url, each["trace_id"]) for each in found]


def _trace(url: str, identifier: str) -> dict[str, Any]:
    query = {"trace_id": identifier}
    answer = httpx.get(f"{url}/api/3.0/mlflow/traces/get", params=query, timeout=60).raise_for_status().json()
    found: dict[str, Any] = answer["trace"]
    return found


def _attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def test_mlflow_shows_them(sent: tuple[str, str]) -> None:
    traces = _of_mlflow(sent[1])
    assert [each["trace_info"]["state"] for each in traces] == ["ERROR", "OK", "OK", "OK"]
    metadata = [each["trace_info"]["trace_metadata"] for each in traces]
    usage = [json.loads(each.get("mlflow.trace.tokenUsage", "null")) for each in metadata]
    assert usage[0] is None
    assert [[each["input_tokens"], each["output_tokens"]] for each in usage[1:]] == [[120, 30], [90, 7], [11, 3]]
    assert [each["mlflow.trace.session"] for each in metadata] == ["agora-1"] * 3 + ["jury-1"]
    failed, answered, asked, sealed = (_attributes(each["spans"][0]) for each in traces)
    assert {each["mlflow.spanType"] for each in (failed, answered, asked, sealed)} == {"CHAT_MODEL"}
    assert QUESTION in json.dumps(answered["mlflow.spanInputs"])
    assert ANSWER in json.dumps(answered["mlflow.spanOutputs"])
    assert "tool_call" in json.dumps(asked["mlflow.spanOutputs"])
    assert "mlflow.spanOutputs" not in failed, "a server's error is not a reply"
    assert QUESTION not in json.dumps(sealed)

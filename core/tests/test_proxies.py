"""Requests to this machine never go through a proxy of the environment; requests to model servers elsewhere do."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from playmolt_core.effects.callbacks.client import CallbackAnswer, CallbackClient
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.openai.batches import Batches
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.port import Attempt, ChatMessage, Failed, ModelRequest, Reply
from playmolt_core.log.copies.buckets import Access, Bucket, PlaceUnavailable
from playmolt_core.ops import tracing
from playmolt_core.settings import TRACE_ENDPOINTS

from core.tests.counting_proxy import PROXY_VARIABLES, CountingProxy
from core.tests.llm.fake_server import FakeServer

ELSEWHERE = "http://models.example/v1"
EXCEPTIONS = ("no_proxy", "NO_PROXY")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingProxy]:
    """The only proxy that the environment names, under no variable yet."""
    for name in (*PROXY_VARIABLES, *EXCEPTIONS):
        monkeypatch.delenv(name, raising=False)
    with CountingProxy() as proxy:
        yield proxy


async def asked(base_url: str, server: FakeServer) -> Reply | Failed:
    entry = server.entry(base_url=base_url, timeout_s=5)

    async def ignored(_: Attempt) -> None:
        pass

    async def at_once(_: float) -> None:
        pass

    model = OpenAIModel(entry, "", MemoryLimits(), sleep=at_once)
    try:
        return await model.ask(ModelRequest(alias="fake", messages=(ChatMessage("user", "hello"),)), ignored)
    finally:
        await model.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"])
@pytest.mark.parametrize("variable", PROXY_VARIABLES)
async def test_a_model_on_this_machine_is_asked_directly(
    proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch, variable: str, host: str
) -> None:
    monkeypatch.setenv(variable, proxy.url)
    async with FakeServer() as server:
        answer = await asked(server.base_url.replace("127.0.0.1", host), server)
        batches = Batches(server.entry(), "")
        assert await batches.found("none") is None
        await batches.close()
    assert isinstance(answer, Reply), answer
    assert proxy.hosts == []


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
async def test_a_model_elsewhere_is_asked_through_the_proxy(
    proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, proxy.url)
    async with FakeServer() as server:
        proxy.target = server.base_url.removesuffix("/v1")
        answer = await asked(ELSEWHERE, server)
    assert isinstance(answer, Reply), answer
    assert proxy.hosts == ["models.example"]


async def test_a_model_elsewhere_over_tls_is_asked_through_the_proxy(
    proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    async with FakeServer() as server:
        answer = await asked("https://models.example/v1", server)
    assert isinstance(answer, Failed)
    assert set(proxy.hosts) == {"models.example:443"}


@pytest.mark.parametrize("variable", EXCEPTIONS)
async def test_no_proxy_still_excepts_a_model_elsewhere(
    proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv(variable, "other.example,models.example")
    async with FakeServer() as server:
        answer = await asked(ELSEWHERE, server)
    assert isinstance(answer, Failed), "no resolver knows this name"
    assert proxy.hosts == []


@pytest.mark.parametrize("unusable", ["socks5://127.0.0.1:9", "secret:bar:baz", "http://[::1"])
async def test_a_model_behind_an_unusable_proxy_fails_with_what_to_do(
    proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch, unusable: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", unusable)
    async with FakeServer() as server:
        answer = await asked(ELSEWHERE, server)
    assert isinstance(answer, Failed)
    assert "set HTTP_PROXY, HTTPS_PROXY and ALL_PROXY to a URL such as" in answer.detail
    assert "secret" not in answer.detail


async def test_a_bucket_on_this_machine_is_asked_directly_and_one_elsewhere_is_not(
    proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, url in proxy.variables().items():
        monkeypatch.setenv(name, url)
    async with FakeServer() as server:
        near = Access(endpoint=server.base_url.removesuffix("/v1"), region="r", key="k", secret="s")
        with pytest.raises((PlaceUnavailable, ValueError)):  # it answers as a model, not as a bucket
            await Bucket("s3://bucket", near).names()
    assert proxy.hosts == []
    far = Access(endpoint="http://objects.example", region="r", key="k", secret="s")
    with pytest.raises(PlaceUnavailable):
        await Bucket("s3://bucket", far).get("missing")
    assert set(proxy.hosts) == {"objects.example"}


async def test_a_callback_is_posted_directly(proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, url in proxy.variables().items():
        monkeypatch.setenv(name, url)
    client = CallbackClient(private=True)
    async with FakeServer() as server:
        answer = await client.call(server.base_url, "secret", b"{}", "key")
    await client.close()
    assert isinstance(answer, CallbackAnswer), answer
    assert proxy.hosts == []


@pytest.mark.parametrize("name", TRACE_ENDPOINTS)
async def test_spans_go_to_a_collector_on_this_machine_directly(
    proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for variable, url in proxy.variables().items():
        monkeypatch.setenv(variable, url)
    for host, seen in (("127.0.0.1:9", []), ("collector.example", ["collector.example"])):
        monkeypatch.setenv(name, f"http://{host}")
        tracing.configure("tests", all_tracers=False)
        span, _ = tracing.serve("", "a request")
        assert span is not None
        tracing.answered(span, 200)
        tracing.close()
        assert sorted(set(proxy.hosts)) == seen
    assert trace.get_current_span() is not span

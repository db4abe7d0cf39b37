"""A traced request hands its own span on to the engine, on the way of actions and on that of all other routes."""

from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{CALLER}-01", f"00-{TRACE}-{CALLER}-00"


async def ask(platform: Any, game: str, route: str, context: str) -> str:
    """Send a request of a route and give the context that its engine got."""
    _, key = platform.agent()
    headers = key | {"traceparent": context}
    if route == "act":
        await platform.send("POST", f"/api/games/{game}/actions", json={}, headers=headers)
    else:
        await platform.send("GET", f"/api/games/{game}/state", headers=headers)
    return str(platform.last().trace)


@pytest.mark.parametrize("route", ["act", "read_state"])
async def test_a_sampled_request(platform: Any, game: str, spans: InMemorySpanExporter, route: str) -> None:
    carried = await ask(platform, game, route, SAMPLED)
    (span,) = spans.get_finished_spans()
    assert span.parent is not None
    assert (span.name, f"{span.parent.span_id:016x}") == (route, CALLER)
    assert carried == f"00-{TRACE}-{span.context.span_id:016x}-01"
    assert dict(span.attributes or {})["http.response.status_code"] == 200


@pytest.mark.parametrize("route", ["act", "read_state"])
async def test_one_that_is_not_sampled(platform: Any, game: str, spans: InMemorySpanExporter, route: str) -> None:
    assert await ask(platform, game, route, UNSAMPLED) == UNSAMPLED
    assert spans.get_finished_spans() == ()


@pytest.mark.parametrize("route", ["act", "read_state"])
async def test_without_a_collector_the_callers_context_goes_on(platform: Any, game: str, route: str) -> None:
    assert await ask(platform, game, route, SAMPLED) == SAMPLED


async def test_probes_make_no_spans(platform: Any, spans: InMemorySpanExporter) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        await platform.send("GET", path)
    assert spans.get_finished_spans() == ()

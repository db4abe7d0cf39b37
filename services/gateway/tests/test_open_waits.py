"""What a key or an address may hold open at once; an MCP wait ends with its client."""

import asyncio
import json
from collections import Counter
from typing import Any

import httpx
import pytest
from playmolt_gateway.settings import GatewaySettings
from playmolt_schemas.limits import WAIT_SECONDS

from core.tests.waiting import wait_until

DEFAULTS = GatewaySettings()
NEWS = {"version": 4, "turn": None, "games": []}
CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "state", "arguments": {"after": 4, "wait": WAIT_SECONDS}},
}  # fmt: skip


def engine(game: str, call: Any) -> tuple[int, Any]:
    del game
    return 200, {"messages": [], "version": 4, "closed": False} if call.op == "feed" else NEWS


async def known(platform: Any) -> tuple[str, dict[str, str]]:
    """An agent whose key the gateway has seen: hundreds of calls at once shall not wait for one lookup."""
    agent, key = platform.agent()
    assert (await platform.send("GET", "/api/agents/me", headers=key)).status_code == 200
    return agent, key


async def waiting(platform: Any, count: int) -> None:
    await wait_until(lambda: len(platform.gateway.services.waits) == count, 30)


async def answered(platform: Any, asked: list[asyncio.Task[httpx.Response]]) -> list[httpx.Response]:
    """What those are told that do not wait; then the gateway stops, and the others end."""
    waits = platform.gateway.services.waits
    await wait_until(lambda: sum(task.done() for task in asked) + len(waits) == len(asked), 60)
    refused = [task.result() for task in asked if task.done()]
    platform.gateway.close()
    assert {(await task).status_code for task in asked} == {200, 429}
    return refused


def asked(platform: Any, count: int, path: str, **options: Any) -> list[asyncio.Task[httpx.Response]]:
    return [asyncio.create_task(platform.send("GET", path, **options)) for _ in range(count)]


@pytest.mark.parametrize("path", ["/api/games/{game}/state?after=4&wait=30", "/api/games/{game}/stream"])
async def test_a_key_holds_so_many_waits_and_no_more(make_platform: Any, problem: Any, game: str, path: str) -> None:
    platform = make_platform(deadline_seconds=60)
    platform.bus.engine = engine
    agent, key = await known(platform)
    refused = await answered(platform, asked(platform, 800, path.format(game=game), headers=key))
    assert len(refused) == 800 - DEFAULTS.waits_per_key
    assert {problem(each) for each in refused} == {(429, "rate_limited")}
    assert refused[0].headers["retry-after"] == "5"
    assert refused[0].json()["ratelimit"] == {
        "key": f"waits:{agent}",
        "limit": DEFAULTS.waits_per_key,
        "seconds": WAIT_SECONDS,
    }


async def test_another_key_and_the_operator_wait_all_the_same(make_platform: Any, game: str) -> None:
    platform = make_platform(waits_per_key=1)
    platform.bus.engine = engine
    (_, ada), (_, bob) = platform.agent(), platform.agent("Bob")
    path = f"/api/games/{game}/state?after=4&wait=30"
    first = asked(platform, 1, path, headers=ada)
    await waiting(platform, 1)
    assert (await platform.send("GET", path, headers=ada)).status_code == 429
    assert (await platform.send("GET", f"/api/games/{game}/state", headers=ada)).status_code == 200
    others = [
        task for key in (bob, platform.operator, platform.operator) for task in asked(platform, 1, path, headers=key)
    ]
    await waiting(platform, 4)
    first[0].cancel()
    await waiting(platform, 3)
    again = asked(platform, 1, path, headers=ada)
    await waiting(platform, 4)
    platform.gateway.close()
    assert [(await task).status_code for task in (*others, *again)] == [200] * 4


async def test_an_address_holds_so_many_event_streams_whatever_its_keys(make_platform: Any, game: str) -> None:
    platform = make_platform(deadline_seconds=60)
    platform.bus.engine = engine
    keys = [(await known(platform))[1] for _ in range(20)]
    streams = [each for key in keys for each in asked(platform, 40, f"/api/games/{game}/stream", headers=key)]
    refused = await answered(platform, streams)
    assert len(refused) == 800 - DEFAULTS.streams_per_address
    assert refused[0].json()["ratelimit"]["key"] == "streams:127.0.0.1"


async def test_the_address_is_the_one_that_a_trusted_proxy_tells(make_platform: Any, game: str) -> None:
    platform = make_platform(waits_per_address=1, trusted_proxies="127.0.0.1")
    platform.bus.engine = engine
    path = f"/api/games/{game}/state?after=4&wait=30"
    told = ("203.0.113.1", "203.0.113.2", "203.0.113.1")
    polls = [task for name in told for task in asked(platform, 1, path, headers={"X-Forwarded-For": name})]
    refused = await answered(platform, polls)
    assert [each.json()["ratelimit"]["key"] for each in refused] == ["waits:203.0.113.1"]


async def test_a_stream_that_is_not_opened_holds_nothing(platform: Any, game: str) -> None:
    platform.bus.engine = lambda _game, _call: (404, {"code": "not_found"})
    _, key = platform.agent()
    for _ in range(DEFAULTS.waits_per_key + 1):
        assert (await platform.send("GET", f"/api/games/{game}/stream", headers=key)).status_code == 404


async def call_tool(port: int, game: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    arguments = {**CALL["params"]["arguments"], "game_id": game}
    body = json.dumps({**CALL, "params": {**CALL["params"], "arguments": arguments}}).encode()
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    writer.write(
        f"{head}Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )
    return reader, writer


async def test_an_mcp_wait_is_counted_and_ends_with_its_client(platform: Any, port: int, game: str) -> None:
    platform.bus.engine = engine
    _, writer = await call_tool(port, game)
    await waiting(platform, 1)
    page = (await platform.send("GET", "/metrics")).text
    assert "playmolt_gateway_open_waits 1" in page
    writer.close()
    async with asyncio.timeout(20):
        await waiting(platform, 0)
    assert not platform.bus.watches[game]


async def test_an_address_holds_so_many_mcp_calls_and_no_more(platform: Any, port: int, game: str) -> None:
    platform.bus.engine = engine
    calls = [await call_tool(port, game) for _ in range(500)]
    lines = [asyncio.create_task(reader.readline()) for reader, _ in calls]
    await waiting(platform, DEFAULTS.waits_per_address)
    await wait_until(lambda: sum(line.done() for line in lines) == 500 - DEFAULTS.waits_per_address, 60)
    platform.gateway.close()
    statuses = Counter([(await line).split()[1] for line in lines])
    assert statuses == {b"200": DEFAULTS.waits_per_address, b"429": 500 - DEFAULTS.waits_per_address}
    for _, writer in calls:
        writer.close()


async def test_registration_by_mcp_is_counted_by_address(make_platform: Any) -> None:
    platform = make_platform(registration_limit="1/60", limit_loopback=True, trusted_proxies="127.0.0.1")
    body = {**CALL, "params": {"name": "register", "arguments": {"name": "Ada"}}}
    headers = {"Accept": "application/json, text/event-stream", "X-Forwarded-For": "203.0.113.7", "Host": "localhost"}
    told = [(await platform.send("POST", "/mcp", json=body, headers=headers)).json()["result"] for _ in range(2)]
    assert [each.get("isError", False) for each in told] == [False, True]
    assert told[1]["structuredContent"]["ratelimit"]["key"] == "registration:203.0.113.7"


OPEN = {"legal": "/api/sessions", "jury": "/api/jury/sessions"}


@pytest.mark.parametrize("game", OPEN)
async def test_a_key_opens_so_many_sessions_and_no_more(make_platform: Any, problem: Any, game: str) -> None:
    platform = make_platform(sessions_per_key=3)
    platform.bus.engine = lambda _game, call: (400 if b'"bad"' in call.body else 201, {})
    (agent, key), (_, other) = platform.agent(), platform.agent("Bob")

    async def opens(body: Any, **headers: str) -> httpx.Response:
        response: httpx.Response = await platform.send("POST", OPEN[game], json=body, headers=headers)
        return response

    for _ in range(5):
        assert (await opens({"seed": "bad"}, **key)).status_code == 400
    for number in range(3):
        assert (await opens({}, **key, **{"Idempotency-Key": str(number)})).status_code == 201
    refused = await opens({}, **key)
    assert problem(refused) == (429, "rate_limited")
    assert refused.json()["ratelimit"]["key"] == f"sessions:{game}:{agent}"
    assert (await opens({}, **key, **{"Idempotency-Key": "1"})).status_code == 201
    assert (await opens({}, **other)).status_code == 201

"""The gateway on a real socket: what only HTTP over TCP can show."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.ops.connections import Bounds
from playmolt_core.ops.service import stop_signals
from playmolt_gateway.server.serving import listening, serve
from playmolt_gateway.settings import GatewaySettings
from playmolt_schemas.limits import BODY_BYTES

from core.tests.waiting import wait_until


class Server:
    def __init__(self, task: "asyncio.Task[None]", port: int, platform: Any) -> None:
        self.task, self.port, self.platform = task, port, platform
        self.client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60)


@pytest.fixture
async def server(platform: Any) -> AsyncIterator[Server]:
    settings = GatewaySettings(port=0, deadline_seconds=2)
    sock = listening(settings, None)
    port = sock.getsockname()[1]
    with stop_signals() as stopping:
        task = asyncio.create_task(serve(platform.gateway, settings, sock, Bounds(), stopping))
        running = Server(task, port, platform)
        async with running.client:
            yield running
        if not task.done():
            os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(60):
            await task


async def test_an_inherited_socket_is_served() -> None:
    with socket.create_server(("127.0.0.1", 0)) as parent:
        child = listening(GatewaySettings(), os.dup(parent.fileno()))
        assert child.getsockname() == parent.getsockname()
        child.close()


async def test_sigterm_ends_waits_at_once_and_the_server_after_them(server: Server, game: str) -> None:
    _, key = server.platform.agent()
    server.platform.bus.engine = lambda _game, call: (
        (200, {"messages": [], "version": 4, "closed": False}) if call.op == "feed" else (200, {"version": 4})
    )
    poll = asyncio.create_task(server.client.get(f"/api/games/{game}/state?after=4&wait=30"))
    stream = asyncio.create_task(server.client.get(f"/api/games/{game}/stream", headers=key))
    await wait_until(lambda: len(server.platform.gateway.services.waits) == 2)
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(20):
        assert (await poll).json() == {"version": 4}
        assert (await stream).status_code == 200
        await server.task


@pytest.mark.parametrize("framing", ["Content-Length: 9", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("path", ["/api/games/{game}/actions", "/api/games/{game}/leave", "/api/agents", "/mcp"])
async def test_a_body_that_is_not_whole_holds_no_stop(server: Server, game: str, path: str, framing: str) -> None:
    _, key = server.platform.agent()
    await server.client.get("/api/agents/me", headers=key)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"POST {path.format(game=game)} HTTP/1.1\r\nHost: x\r\nAuthorization: {key['Authorization']}\r\n"
    head += f"Host: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
    writer.write(head.replace("Host: x\r\n", "").encode() + f"{framing}\r\n\r\n".encode())
    deadlines = server.platform.gateway.services.bodies.deadlines
    async with asyncio.timeout(20):
        await wait_until(lambda: len(deadlines))
        os.kill(os.getpid(), signal.SIGTERM)
        answer = await reader.read()
        await server.task
    writer.close()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: " in answer
    assert b"application/problem+json" in answer


@pytest.mark.parametrize("path", ["actions", "leave"])
async def test_a_large_body_is_refused_cleanly(server: Server, problem: Any, game: str, path: str) -> None:
    """The client reads its 413 though it was still sending, and goes on with the same connection."""
    _, key = server.platform.agent()
    for _ in range(3):
        content = b"x" * (8 * BODY_BYTES)
        response = await server.client.post(f"/api/games/{game}/{path}", content=content, headers=key)
        assert problem(response) == (413, "body_too_large")
    assert (await server.client.get("/healthz")).status_code == 200


async def test_an_endless_body_loses_its_connection(server: Server, game: str) -> None:
    _, key = server.platform.agent()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"POST /api/games/{game}/actions HTTP/1.1\r\nHost: x\r\nAuthorization: {key['Authorization']}\r\n"
    writer.write(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
    writer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
    for _ in range(5):
        writer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("path", ["actions", "leave"])
async def test_a_body_that_does_not_come_is_not_waited_for(server: Server, game: str, path: str) -> None:
    deadlines = server.platform.gateway.services.bodies.deadlines
    deadlines.seconds, deadlines.sweep = 0.2, 0.05
    _, key = server.platform.agent()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"POST /api/games/{game}/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: {key['Authorization']}\r\n"
    writer.write(head.encode() + b"Content-Length: 5\r\n\r\n{")
    async with asyncio.timeout(20):
        answer = await reader.readuntil(b"\r\n")
    writer.close()
    assert answer.startswith(b"HTTP/1.1 400 ")
    sent = [(call.op, call.body, call.present) for _, call in server.platform.bus.calls]
    assert sent == [("state", b"{}", True)]  # the agent is present; the body stays here


async def test_a_client_that_goes_ends_its_wait(server: Server, game: str) -> None:
    server.platform.bus.engine = lambda _game, _call: (200, {"version": 4})
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET /api/games/{game}/state?after=4&wait=30 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    closing = server.platform.gateway.services.waits
    await wait_until(lambda: len(closing))
    writer.close()
    await wait_until(lambda: not len(closing))
    assert server.platform.bus.watches[game] == []


@pytest.mark.parametrize("path", ["stream", "log"])
async def test_what_is_cut_short_breaks_its_connection_and_is_not_a_bug(
    server: Server, game: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An engine that goes away in the middle is told as what it is, and not by uvicorn as an app that is at fault."""
    page = {"messages": [{"version": 1}], "version": 2, "closed": False, "records": [{}], "next_after": 1, "more": True}

    def engine(_game: str, call: Any) -> Any:
        return away if json.loads(call.body)["after"] else (200, page)

    away = BusUnavailable("away")
    server.platform.bus.engine = engine
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET /api/games/{game}/{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert not answer.endswith(b"0\r\n\r\n")
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []

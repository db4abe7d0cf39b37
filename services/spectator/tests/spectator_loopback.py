"""A spectator on loopback, in front of the fake bus."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from playmolt_core.ops.connections import Bounds
from playmolt_core.ops.process import listening
from playmolt_schemas.limits import PAGE_MAX
from playmolt_spectator.backfill import Backfill
from playmolt_spectator.http import Server
from playmolt_spectator.hub import Hub
from playmolt_spectator.lobby import Lobby
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.timeouts import Timeouts
from spectator_fakes import FakeBus
from websockets.asyncio.client import ClientConnection, connect

SECONDS = 8
"""Time limit that is shorter than the spectator's own limits."""


class Response:
    """An answer on a socket: status, headers, and the body as it arrives."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.status = 0
        self.headers: dict[str, str] = {}

    async def head(self) -> None:
        lines = (await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), SECONDS)).decode().split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:-2])}

    async def event(self) -> bytes:
        """One event or comment, without its blank line."""
        return (await asyncio.wait_for(self.reader.readuntil(b"\n\n"), SECONDS))[:-2]

    async def events(self, count: int) -> list[bytes]:
        return [await self.event() for _ in range(count)]

    async def rest(self) -> bytes:
        return await asyncio.wait_for(self.reader.read(), SECONDS)

    async def problem(self) -> dict[str, Any]:
        assert self.headers["content-type"] == "application/problem+json"
        problem: dict[str, Any] = json.loads(await self.rest())
        assert problem["status"] == self.status
        return problem


class Spectator:
    """A running spectator and its clients."""

    def __init__(self, bus: FakeBus, server: Server, port: int, metrics: Metrics) -> None:
        self.bus = bus
        self.server = server
        self.port = port
        self.metrics = metrics
        self.open: list[Response] = []

    def ws(self, path: str, **options: Any) -> connect:
        return connect(f"ws://127.0.0.1:{self.port}{path}", **options)

    async def send(self, request: bytes) -> Response:
        response = Response(*await asyncio.open_connection("127.0.0.1", self.port))
        self.open.append(response)
        response.writer.write(request)
        await response.head()
        return response

    async def get(self, path: str, method: str = "GET", **headers: str) -> Response:
        lines = [f"{method} {path} HTTP/1.1", "Host: x", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
        return await self.send("\r\n".join([*lines, "", ""]).encode())

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():
                await asyncio.sleep(0.005)


@asynccontextmanager
async def running(
    bus: FakeBus, timeouts: Timeouts, within: Bounds | None = None, page: int = PAGE_MAX
) -> AsyncIterator[Spectator]:
    metrics = Metrics()
    hub = Hub(bus, Backfill(bus, metrics, timeouts.connect), metrics, timeouts)
    lobby = Lobby(bus, metrics, timeouts, page)
    server = Server(bus, hub, lobby, metrics, timeouts, within or Bounds())
    tasks = [asyncio.create_task(lobby.run()), asyncio.create_task(hub.beat())]
    spectator = Spectator(bus, server, await server.listen(listening("127.0.0.1", 0)), metrics)
    try:
        yield spectator
    finally:
        for response in spectator.open:
            response.writer.close()
        await server.drain()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await hub.close()
        for response in spectator.open:
            with suppress(ConnectionError):
                await response.writer.wait_closed()


async def take(socket: ClientConnection, count: int) -> list[bytes]:
    """The next messages, as bytes."""
    async with asyncio.timeout(SECONDS):
        return [await socket.recv(decode=False) for _ in range(count)]


async def ended(socket: ClientConnection) -> int:
    """Read all remaining messages and return the close code."""
    await asyncio.wait_for(socket.wait_closed(), SECONDS)
    assert socket.close_code is not None
    return socket.close_code

"""The server's CPU time for one message to one watcher, with 1,000 WebSockets; `python -m bench.fanout`.

The floor only writes a prebuilt frame to each transport. The product is the spectator's own server with a bus in
memory. The other servers are what a user would write instead. Each server runs in its own process; this process plays
the watchers and reads everything. Rounds are interleaved, and ratios compare medians.
"""
# ruff: noqa: ARG002 -- a twin of the port takes what it ignores

import argparse
import asyncio
import json
import os
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import uvicorn
import uvloop
from playmolt_core.ops.connections import CONNECTIONS, Bounds
from playmolt_core.ops.metrics import Sample
from playmolt_core.ops.process import listening
from playmolt_schemas.envelopes import Answer, Op
from playmolt_spectator.backfill import Backfill
from playmolt_spectator.frames import text_frame
from playmolt_spectator.http import Server
from playmolt_spectator.hub import Hub
from playmolt_spectator.lobby import Lobby
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.timeouts import Timeouts
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.server import ServerConnection, broadcast
from websockets.asyncio.server import serve as serve_websockets
from websockets.utils import accept_key

from bench import Row

GAME = "ox-00000000-0000-7000-8000-000000000001"
PAUSE = 0.02
Send = Callable[[list[bytes]], None]
Serve = Callable[[], Awaitable[tuple[int, Send]]]


def message(version: int) -> bytes:
    return b'{"type":"progress","text":"%b","game_id":"%b","version":%d}' % (b"x" * 200, GAME.encode(), version)


class MemoryWatch:
    """Gives messages as the bus does."""

    def __init__(self) -> None:
        self.closed = False
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()

    async def next(self, timeout: float) -> bytes | None:
        if not self.queue.empty():
            return self.queue.get_nowait()
        try:
            async with asyncio.timeout(timeout):
                return await self.queue.get()
        except TimeoutError:
            return None

    async def close(self) -> None:
        self.closed = True


class MemorySource:
    """The source of one game, without past events."""

    def __init__(self) -> None:
        self.game = MemoryWatch()

    def samples(self) -> tuple[Sample, ...]:
        return ()

    def submit(
        self, game: str, op: Op, target: str, body: bytes = b"{}", *, invite: str = "", deadline: float | None = None
    ) -> "asyncio.Future[Answer]":
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        empty = b'{"games":[]}' if op == "games" else b'{"messages":[],"version":0,"closed":false}'
        future.set_result(Answer(0, 200, empty))
        return future

    async def history(self, game: str, identifier: str, after: int, limit: int) -> list[bytes]:
        return []

    async def watch(self, game: str, identifier: str) -> MemoryWatch:
        return self.game

    async def watch_lobby(self) -> MemoryWatch:
        return MemoryWatch()

    async def watch_moderation(self) -> MemoryWatch:
        return MemoryWatch()

    def present(self) -> frozenset[str]:
        return frozenset({"ox"})

    def connected(self) -> bool:
        return True


async def product() -> tuple[int, Send]:
    source, metrics, timeouts = MemorySource(), Metrics(), Timeouts()
    hub = Hub(source, Backfill(source, metrics, timeouts.connect), metrics, timeouts)
    server = Server(source, hub, Lobby(source, metrics, timeouts), metrics, timeouts, Bounds(per_address=CONNECTIONS))

    def send(messages: list[bytes]) -> None:
        for one in messages:
            source.game.queue.put_nowait(one)

    return await server.listen(listening("127.0.0.1", 0)), send


async def floor() -> tuple[int, Send]:
    transports: list[asyncio.Transport] = []

    class Bare(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            key = data.split(b"Sec-WebSocket-Key: ")[1].split(b"\r\n")[0].decode()
            self.transport.write(f"HTTP/1.1 101 Ok\r\nSec-WebSocket-Accept: {accept_key(key)}\r\n\r\n".encode())
            self.transport.set_write_buffer_limits(high=0)
            transports.append(self.transport)

    def send(messages: list[bytes]) -> None:
        frame = b"".join(map(text_frame, messages))
        for transport in transports:
            transport.write(frame)

    listener = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", 0, backlog=4096)
    return listener.sockets[0].getsockname()[1], send


async def websockets_broadcast() -> tuple[int, Send]:
    async def watch(connection: ServerConnection) -> None:
        await connection.wait_closed()

    server = await serve_websockets(watch, "127.0.0.1", 0, compression=None, ping_interval=None, backlog=4096)

    def send(messages: list[bytes]) -> None:
        for one in messages:
            broadcast(server.connections, one.decode())

    return next(iter(server.sockets)).getsockname()[1], send


async def starlette() -> tuple[int, Send]:
    watchers: set[WebSocket] = set()
    under_way: set[asyncio.Task[None]] = set()

    async def watch(connection: WebSocket) -> None:
        await connection.accept()
        watchers.add(connection)
        async for _ in connection.iter_text():
            pass

    async def tell(texts: list[str]) -> None:
        for text in texts:
            for watcher in watchers:
                await watcher.send_text(text)

    def send(messages: list[bytes]) -> None:
        task = asyncio.create_task(tell([one.decode() for one in messages]))
        under_way.add(task)
        task.add_done_callback(under_way.discard)

    app = Starlette(routes=[WebSocketRoute("/ws/games/{id}", watch)])
    config = uvicorn.Config(
        app, port=0, log_level="error", ws_per_message_deflate=False, ws_ping_interval=None, backlog=4096
    )
    server = uvicorn.Server(config)
    under_way.add(asyncio.create_task(server.serve()))
    while not server.started:  # noqa: ASYNC110 -- uvicorn has no event for it
        await asyncio.sleep(0.01)
    return server.servers[0].sockets[0].getsockname()[1], send


class Size(NamedTuple):
    sockets: int = 1_000
    events: int = 100
    rounds: int = 5


WHOLE = Size()
SHORT = Size(10, 20, 1)
KINDS: dict[str, Serve] = {
    "floor": floor,
    "product": product,
    "websockets broadcast": websockets_broadcast,
    "starlette": starlette,
}


async def serve(kind: str, events: int, burst: int) -> None:
    """Print the port, send all messages after a line of input, and after the next line print the CPU seconds."""
    port, send = await KINDS[kind]()
    print(port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    begun = time.process_time()
    for first in range(1, events + 1, burst):
        send([message(version) for version in range(first, first + burst)])
        await asyncio.sleep(PAUSE * burst / 2 if burst > 1 else PAUSE)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    print(time.process_time() - begun, flush=True)


def _watch(port: int, count: int) -> list[socket.socket]:
    ask = (
        f"GET /ws/games/{GAME} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    ).encode()
    watchers = []
    for _ in range(count):
        watcher = socket.create_connection(("127.0.0.1", port))
        watcher.sendall(ask)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += watcher.recv(1)
        watcher.setblocking(False)
        watchers.append(watcher)
    return watchers


def _read(watchers: list[socket.socket], expected: int) -> None:
    poll = selectors.DefaultSelector()
    for watcher in watchers:
        poll.register(watcher, selectors.EVENT_READ)
    end = time.monotonic() + 120
    while expected > 0:
        if time.monotonic() > end:
            raise TimeoutError(f"{expected} bytes did not come")
        for key, _ in poll.select(1):
            piece = key.fileobj.recv(262_144)  # type: ignore[union-attr]
            if not piece:
                raise ConnectionError("the server closed the connection of a watcher")
            expected -= len(piece)
    poll.close()


def cost(kind: str, sockets: int, events: int, burst: int) -> float:
    """The server's CPU microseconds for one message to one watcher."""

    arguments = [sys.executable, "-m", "bench.fanout", "--serve", kind, "--events", str(events), "--burst", str(burst)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as server:
        assert server.stdin
        assert server.stdout
        watchers = _watch(int(server.stdout.readline()), sockets)
        time.sleep(0.3)
        server.stdin.write("go\n")
        server.stdin.flush()
        _read(watchers, sockets * sum(len(text_frame(message(v))) for v in range(1, events + 1)))
        server.stdin.write("stop\n")
        server.stdin.flush()
        seconds = float(server.stdout.readline())
        server.kill()
        for watcher in watchers:
            watcher.close()
    return seconds / (sockets * events) * 1e6


def rows(size: Size) -> list[Row]:
    """Compare single messages with the floor, and messages that come in tens with single ones."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    taken: dict[tuple[str, int], list[float]] = {("floor", 1): [], ("product", 1): [], ("product", 10): []}
    for _ in range(size.rounds):
        for (kind, burst), costs in taken.items():
            costs.append(cost(kind, size.sockets, size.events, burst))
    floor, alone, together = taken.values()
    return [
        _row(f"a delivery to one of {size.sockets:,} watchers", alone, floor, "1.02"),
        _row("the same, ten messages at once, beside one", together, alone, "0.2"),
    ]


def _row(what: str, ours: list[float], theirs: list[float], wanted: str) -> Row:
    ratios = sorted(one / other for one, other in zip(ours, theirs, strict=True))
    mine, other = statistics.median(ours), statistics.median(theirs)
    ratio = f"{statistics.median(ratios):.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f}), wanted {wanted}"
    return what, f"{mine:.2f} µs", f"{other:.2f} µs", ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--sockets", type=int, default=WHOLE.sockets)
    parser.add_argument("--events", type=int, default=WHOLE.events)
    parser.add_argument("--burst", type=int, default=0, help="messages at once; 0 measures 1 and 10")
    parser.add_argument("--rounds", type=int, default=WHOLE.rounds)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if options.serve:
        uvloop.run(serve(options.serve, options.events, options.burst))
        return
    results = []
    for burst in [options.burst] if options.burst else [1, 10]:
        taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(options.rounds):
            for kind in KINDS:
                taken[kind].append(cost(kind, options.sockets, options.events, burst))
        medians = {kind: statistics.median(values) for kind, values in taken.items()}
        for kind, median in medians.items():
            spread = [round(value, 2) for value in sorted(taken[kind])]
            ratio = median / medians["floor"]
            results.append({"burst": burst, "kind": kind, "microseconds": median, "ratio": ratio, "rounds": spread})
            if not options.json:
                print(f"{burst:>3} at once  {kind:<22} {median:6.2f} µs a delivery  {ratio:5.2f} × floor  {spread}")
    if options.json:
        print(json.dumps({"sockets": options.sockets, "cores": os.cpu_count(), "results": results}))


if __name__ == "__main__":
    main()

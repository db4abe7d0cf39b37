"""`/healthz`, `/readyz` and `/metrics` of a service that serves no other HTTP: engines and the relay."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus

import msgspec

from playmolt_core.ops.process import listening

Readiness = Callable[[], Awaitable[Mapping[str, bool | str]]]
_REQUEST_SECONDS = 5
_READY_SECONDS = 3


def nats_parts(fault: str) -> Mapping[str, bool | str]:
    """The entry of NATS, with the reason if it is not ready."""
    return {"nats": not fault, **({"nats_reason": fault} if fault else {})}


class HealthServer:
    """A listening server and its port."""

    def __init__(self, server: asyncio.Server, port: int) -> None:
        self._server = server
        self.port = port

    async def close(self) -> None:
        self._server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._server.wait_closed()


async def _answer(path: str, ready: Readiness, metrics: Callable[[], str]) -> tuple[int, str, bytes]:
    if path == "/healthz":
        return 200, "application/json", b'{"status":"alive"}'
    if path == "/metrics":
        return 200, "text/plain; version=0.0.4", metrics().encode()
    if path != "/readyz":
        return 404, "application/json", b'{"code":"not_found"}'
    try:
        async with asyncio.timeout(_READY_SECONDS):
            parts: Mapping[str, bool | str] = await ready()
    except (TimeoutError, OSError):
        parts = {"answer": False}
    return 200 if all(parts.values()) else 503, "application/json", msgspec.json.encode(parts)


async def serve(
    port: int, ready: Readiness, metrics: Callable[[], str] = lambda: "", host: str = "127.0.0.1"
) -> HealthServer:
    """Listen on `port` (0: any free port). `/readyz` is 200 only while every entry of `ready` is true; `reason` is
    text."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
                path = words[1].split("?")[0] if len(words) == 3 and words[0] in ("GET", "HEAD") else ""
                status, kind, body = await _answer(path, ready, metrics)
                writer.write(
                    f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {kind}\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                    + (b"" if words[0] == "HEAD" else body)
                )
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, sock=listening(host, port), limit=16_384)
    return HealthServer(server, server.sockets[0].getsockname()[1])

"""A load generator that uses little CPU: raw HTTP/1.1 over persistent connections, one request in flight on each."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast


@dataclass
class Measured:
    """The times and statuses of a run of requests."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def request(method: str, path: str, body: bytes = b"", headers: str = "") -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        f"{headers}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Connection(asyncio.Protocol):
    """Sends one request at a time and returns status and body of the answer."""

    def __init__(self) -> None:
        self._buffer = b""
        self._future: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self, raw: bytes) -> "asyncio.Future[tuple[int, bytes]]":
        self._future = asyncio.get_running_loop().create_future()
        self._transport.write(raw)
        return self._future

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, gap, rest = self._buffer.partition(b"\r\n\r\n")
        if not gap or self._future is None:
            return
        at = head.lower().find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        future, self._future = self._future, None
        if not future.done():
            future.set_result((int(head[9:12]), rest[:length]))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._future and not self._future.done():
            self._future.set_exception(exc or ConnectionError("closed"))

    def close(self) -> None:
        self._transport.close()


async def open_connections(port: int, count: int) -> list[Connection]:
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(Connection, "127.0.0.1", port) for _ in range(count)]
    return [connection for _, connection in made]


async def drive(connections: Sequence[Connection], scripts: Sequence[Sequence[bytes]]) -> Measured:
    """Send all scripts, one at a time on each connection; measure while all connections are in use."""
    measured = Measured()
    waiting: Iterator[Sequence[bytes]] = iter(scripts)

    async def worker(connection: Connection) -> None:
        for script in waiting:
            for raw in script:
                sent = time.perf_counter()
                status, _ = await connection.send(raw)
                measured.statuses[status] = measured.statuses.get(status, 0) + 1
                if not measured.seconds:
                    measured.latencies.append(time.perf_counter() - sent)
        measured.seconds = measured.seconds or time.perf_counter() - start

    start = time.perf_counter()
    await asyncio.gather(*(worker(connection) for connection in connections))
    return measured

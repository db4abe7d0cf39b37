"""The response time of a call while the servers of many webhooks hang, and the delay of a notice to another server."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import asyncpg
import httpx

from bench import Row
from bench.servers import folder, product, running

_NOTICED_SECONDS = 60.0
_PAUSE = 0.02
_EACH = 5
"""Waiting notices of each webhook."""
_PREPARE = """
WITH owner AS (
  INSERT INTO account.owner (id, name, folded)
  SELECT 'owner-' || gen_random_uuid(), 'bench', 'bench' FROM generate_series(1, $1::integer) RETURNING id
), webhook AS (
  INSERT INTO account.webhook (owner_id, id, url, host, origin, events, begins, works)
  SELECT o.id, gen_random_uuid(), 'http://' || o.host || '/hook', o.host, 'http://127.0.0.1', '{turn}', '{0}', $3
  FROM (
    SELECT id, '127.0.0.1:' || ($2::integer[])[1 + row_number() OVER () % cardinality($2::integer[])] AS host FROM owner
  ) AS o
  RETURNING owner_id
)
SELECT array_agg(owner_id) FROM webhook
"""
_NOTIFY = """
WITH due AS (
  UPDATE account.webhook SET due_at = now() WHERE owner_id = ANY ($1::text[])
)
INSERT INTO account.delivery (id, owner_id, type, at, data, next_at, changed_at)
SELECT 'msg_' || gen_random_uuid(), o, 'turn', now(), '{"game_id": "ox-1"}', now(), now()
FROM unnest($1::text[]) AS o, generate_series(1, $2::integer)
"""
"""One statement, because the deliverer clears the due time of a webhook that has no notice."""
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Size(NamedTuple):
    """`hosts`: number of addresses of the webhooks. `calls`: number of `GET /api/games` in each measurement."""

    webhooks: int = 1_000
    hosts: int = 50
    calls: int = 500


WHOLE = Size()
SHORT = Size(20, 2, 10)


class Found(NamedTuple):
    """Seconds of each call before and while servers hang, and of a notice to a server that answers."""

    before: Sequence[float]
    during: Sequence[float]
    notice: float
    most: int
    """The maximum of simultaneous calls to webhooks."""


class Servers:
    """Servers that never answer, and one that does."""

    def __init__(self) -> None:
        self.open = self.most = 0
        self.called = asyncio.Event()
        self.noticed = asyncio.Event()
        self._calls: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []

    async def listen(self, hosts: int) -> list[int]:
        """Start the servers and return their ports; only the last server answers."""
        for serve in (*[self._hang] * hosts, self._answer):
            self._servers.append(await asyncio.start_server(self._taking(serve), "127.0.0.1", 0))
        return [server.sockets[0].getsockname()[1] for server in self._servers]

    def _taking(self, serve: Serve) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        async def call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                try:
                    await serve(reader, writer)
                finally:
                    writer.close()
                    await writer.wait_closed()

        def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(call(reader, writer))
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)

        return take

    async def _hang(self, reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most = max(self.most, self.open)
        self.called.set()
        try:
            while await reader.read(65_536):
                pass
        finally:
            self.open -= 1

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        self.noticed.set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for task in self._calls:
            task.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)


async def _calls(client: httpx.AsyncClient, count: int) -> list[float]:
    found = []
    for _ in range(count):
        began = time.perf_counter()
        answer = await client.get("/api/games")
        found.append(time.perf_counter() - began)
        assert answer.status_code == 200, answer.text
        await asyncio.sleep(_PAUSE)
    return found


async def measure(port: int, database_url: str, size: Size) -> Found:
    async with (
        Servers() as servers,
        asyncpg.create_pool(database_url, min_size=1, max_size=1) as database,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as client,
    ):
        *hanging, answering = await servers.listen(size.hosts)
        await _calls(client, size.calls // 10)
        before = await _calls(client, size.calls)
        many = await database.fetchval(_PREPARE, size.webhooks, hanging, None)
        other = await database.fetchval(_PREPARE, 1, [answering], True)
        await database.execute(_NOTIFY, many, _EACH)
        await asyncio.wait_for(servers.called.wait(), _NOTICED_SECONDS)
        during = await _calls(client, size.calls // 2)
        began = time.perf_counter()
        await database.execute(_NOTIFY, other, 1)
        await asyncio.wait_for(servers.noticed.wait(), _NOTICED_SECONDS)
        notice = time.perf_counter() - began
        during += await _calls(client, size.calls // 2)
        return Found(before, during, notice, servers.most)


def _play(data: Path, size: Size) -> Found:
    with product(data) as port:
        return asyncio.run(measure(port, running(data)["database_url"], size))


def rows(size: Size) -> list[Row]:
    with folder() as data:
        found = _play(data, size)
    named = f"`GET /api/games` while {size.webhooks:,} webhooks hang"
    return [
        _row(f"{named}, median", statistics.median(found.during), statistics.median(found.before)),
        _row(f"{named}, longest", max(found.during), max(found.before)),
        ("calls of hanging webhooks at once, at most", str(found.most), "", ""),
        ("a notice to another webhook meanwhile", f"{found.notice:.2f} s", "", ""),
    ]


def _row(what: str, during: float, before: float) -> Row:
    return what, f"{during * 1_000:.1f} ms", f"{before * 1_000:.1f} ms", f"+{(during - before) * 1_000:.1f} ms"

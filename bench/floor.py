"""The lower bound of an action: its path through the processes without any work, or with only the log and its feeds.

HTTP to a gateway, packs over NATS to an engine, one commit for all waiting actions, then the answers. With `insert`, a
commit is one INSERT into a plain table. With `append`, it stores what an engine stores for a usual action: a chained
record and an outcome, which the relay of the running product copies to its streams. Neither has keys, rules or views.
"""

import asyncio
import itertools
import os
import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol, cast

import asyncpg
import msgspec
import nats
import uvloop
from nats.aio.client import Client
from nats.aio.msg import Msg
from playmolt_core.db.pool import open_pool
from playmolt_core.log.chain import chain_record
from playmolt_core.log.port import Appender, Outcome, StreamAppend, Unit
from playmolt_core.log.postgres import PostgresLog
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.records import ZERO_HASH, Metadata

ACTIONS = "floor.actions"
STREAMS = 256
PACK_SECONDS = 5
_OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 21\r\n\r\n" + b'{"status":"accepted"}'
_OUTCOME = b'{"status":"accepted","version":31,"phase":"posted","receipt":"' + b"0" * 64 + b'"}'
_bodies = msgspec.msgpack.Decoder(list[str]).decode


class Gateway:
    """Sends the actions that arrive in one iteration of the event loop as one pack."""

    def __init__(self, bus: Client) -> None:
        self._bus = bus
        self._waiting: list[tuple[str, asyncio.Transport]] = []
        self._packs: set[asyncio.Task[None]] = set()

    def ask(self, body: str, caller: asyncio.Transport) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._send)
        self._waiting.append((body, caller))

    def _send(self) -> None:
        pack, self._waiting = self._waiting, []
        task = asyncio.ensure_future(self._exchange(pack))
        self._packs.add(task)
        task.add_done_callback(self._packs.discard)

    async def _exchange(self, pack: list[tuple[str, asyncio.Transport]]) -> None:
        await self._bus.request(ACTIONS, msgspec.msgpack.encode([body for body, _ in pack]), timeout=PACK_SECONDS)
        for _, caller in pack:
            caller.write(_OK)


class Caller(asyncio.Protocol):
    """A connection that carries one request at a time."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._buffer = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, gap, body = self._buffer.partition(b"\r\n\r\n")
        at = head.find(b"Content-Length: ")
        if not gap or (at >= 0 and len(body) < int(head[at + 16 :].split(b"\r\n", 1)[0])):
            return
        self._buffer = b""
        self._gateway.ask(body.decode() or "null", self._transport)


class Store(Protocol):
    """Stores the bodies of a batch durably."""

    async def store(self, bodies: Sequence[str]) -> None: ...


class Table:
    """Stores a batch with one INSERT."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def store(self, bodies: Sequence[str]) -> None:
        await self._connection.execute("INSERT INTO floor (body) SELECT unnest($1::text[])::json", bodies)


class Log:
    """Stores a batch with one append: a record and an outcome for each body, spread over STREAMS streams."""

    def __init__(self, log: Appender) -> None:
        self._log = log
        self._heads = dict.fromkeys([f"floor-{uuid.uuid4()}" for _ in range(STREAMS)], (0, ZERO_HASH))
        self._turn = itertools.cycle(self._heads)

    async def store(self, bodies: Sequence[str]) -> None:
        assert None not in await self._log.append([self._unit(next(self._turn), body.encode()) for body in bodies])

    def _unit(self, stream: str, body: bytes) -> Unit:
        version, hash_ = self._heads[stream]
        command = uuid.uuid4().hex
        metadata = Metadata(command_id=command, correlation=command, causation=command, actor="agent")
        record = chain_record(
            stream,
            version + 1,
            hash_,
            datetime.now(UTC),
            "posted",
            1,
            body,
            metadata,
            closes=False,
        )
        self._heads[stream] = (record.version, record.hash)
        part = StreamAppend(
            stream=stream, expected=version, prev_hash=hash_, records=[record], summary=GameSummary("posted", 1, 5, 5)
        )
        return Unit(
            streams=[part], outcomes=[Outcome(stream=stream, command_id=command, fingerprint="f" * 64, body=_OUTCOME)]
        )


class Engine:
    """Commits all waiting bodies in one batch, while the next batch gathers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[Msg] = []
        self._there = asyncio.Event()

    async def take(self, message: Msg) -> None:
        self._waiting.append(message)
        self._there.set()

    async def commit(self) -> None:
        while await self._there.wait():
            self._there.clear()
            packs, self._waiting = self._waiting, []
            await self._store.store([body for pack in packs for body in _bodies(pack.data)])
            for pack in packs:
                await pack.respond(b"")


async def gateway(port: int) -> None:
    entrance = Gateway(await nats.connect(os.environ["BENCH_NATS_URL"]))
    server = await asyncio.get_running_loop().create_server(lambda: Caller(entrance), "127.0.0.1", port)
    await server.serve_forever()


async def opened(kind: str) -> Store:
    url = os.environ["BENCH_DATABASE_URL"]
    if kind == "append":
        return Log(PostgresLog(await open_pool(url, role="playmolt_engine")))
    connection = await asyncpg.connect(url)
    await connection.execute(
        "CREATE TABLE IF NOT EXISTS floor (id bigserial PRIMARY KEY, body json, at timestamptz DEFAULT now())"
    )
    return Table(connection)


async def engine(kind: str) -> None:
    worker = Engine(await opened(kind))
    bus = await nats.connect(os.environ["BENCH_NATS_URL"])
    await bus.subscribe(ACTIONS, cb=worker.take)
    await worker.commit()


if __name__ == "__main__":
    uvloop.run(engine(sys.argv[2]) if sys.argv[1] == "engine" else gateway(int(sys.argv[2])))

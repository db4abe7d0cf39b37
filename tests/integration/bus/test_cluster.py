"""Three NATS servers as a cluster: the one that leads the streams is killed while games go on."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import nats
import pytest
from nats.js.api import StreamInfo
from nats.js.client import JetStreamContext
from nats.js.errors import Error as JetStreamError
from playmolt_cli.local.embedded import Nats, free_port
from playmolt_schemas import subjects

from core.tests.waiting import wait_until
from tests.integration.platform.test_play import Table, check, watch
from tests.platforms import Stack

StackFactory = Callable[..., Stack]
STREAMS = (subjects.EVENTS_STREAM, subjects.SPECTATE_STREAM)
SECONDS = 120


class Member(Nats):
    """A server that knows the routes to all of its cluster."""

    def __init__(self, folder: Path, route: int, routes: list[int]) -> None:
        super().__init__(folder)
        self._route = route
        self._routes = routes

    @property
    def name_in_cluster(self) -> str:
        return self._server_name

    def configuration(self) -> str:
        listen = json.dumps(f"127.0.0.1:{self._route}")
        routes = json.dumps([f"nats://127.0.0.1:{port}" for port in self._routes])
        return f"{super().configuration()}\ncluster {{ name: playmolt, listen: {listen}, routes: {routes} }}\n"


@pytest.fixture
def cluster(folder: Path) -> Iterator[list[Member]]:
    routes = [free_port() for _ in range(3)]
    members = [Member(folder / f"nats-{number}", route, routes) for number, route in enumerate(routes, 1)]
    try:
        for member in members:
            member.launch()
        for member in members:
            member.start()
            _await_answer(member)
        yield members
    finally:
        for member in members:
            member.stop()


def _await_answer(member: Member) -> None:
    end = time.monotonic() + SECONDS
    while not member.answers():
        assert time.monotonic() < end, member.trouble("does not answer")
        time.sleep(0.05)


def _urls(cluster: Sequence[Member]) -> str:
    return ",".join(member.url for member in cluster)


@asynccontextmanager
async def jetstream(cluster: Sequence[Member]) -> AsyncIterator[JetStreamContext]:
    connection = await nats.connect(_urls(cluster).split(","))
    try:
        yield connection.jetstream(timeout=60)
    finally:
        await connection.close()


async def _info(calls: JetStreamContext, stream: str) -> StreamInfo | None:
    try:
        return await calls.stream_info(stream)
    except (JetStreamError, nats.errors.Error, TimeoutError):
        return None  # between two leaders


async def until_led(calls: JetStreamContext, stream: str, *, whole: bool = False) -> StreamInfo:
    """Wait until a stream has a leader; `whole`: and two followers that hold what it holds."""
    async with asyncio.timeout(SECONDS):
        while True:
            info = await _info(calls, stream)
            followers = (info.cluster.replicas or []) if info and info.cluster and info.cluster.leader else []
            if info and len(followers) == 2 and (not whole or all(one.current for one in followers)):
                return info
            await asyncio.sleep(0.1)


async def _kill_leader(cluster: list[Member], stream: str) -> Member:
    async with jetstream(cluster) as calls:
        info = await until_led(calls, stream)
    assert info.cluster
    assert info.config.num_replicas == 3
    leader = next(member for member in cluster if member.name_in_cluster == info.cluster.leader)
    await asyncio.to_thread(leader.kill)
    return leader


async def test_the_leader_of_the_streams_is_killed_under_load_and_nothing_is_lost(
    stack: StackFactory, cluster: list[Member]
) -> None:
    running = stack(NATS_URL=_urls(cluster), PLAYMOLT_STREAM_REPLICAS="3")
    tables = [Table(running, "ox", 2), Table(running, "trial")]
    async with asyncio.timeout(200):
        await asyncio.gather(*(table.sit() for table in tables))
        for table in tables:
            table.goes_on.clear()
        games = {game_id for table in tables for game_id in table.ids}
        watching = {game_id: asyncio.create_task(watch(running, game_id)) for game_id in games}
        playing = [asyncio.create_task(table.play()) for table in tables]
        await wait_until(lambda: all(table.is_played for table in tables))
        killed = await _kill_leader(cluster, subjects.SPECTATE_STREAM)
        assert not any(task.done() for task in playing), "the fault falls into the games"
        for table in tables:
            table.goes_on.set()
        await asyncio.gather(*playing)
        await asyncio.to_thread(killed.start)
        feeds = {game_id: await task for game_id, task in watching.items()}
        await check(running, tables, feeds)
        for table in tables:
            await table.close()
        await _holds_everything(running, cluster)


async def _holds_everything(running: Stack, cluster: list[Member]) -> None:
    """Both streams hold each position of the log once, on all three servers, the one that was away included."""
    key = {"Authorization": f"Bearer {running.run.operator_key}"}
    async with httpx.AsyncClient(base_url=running.run.gateway, timeout=60) as gateway:
        async with asyncio.timeout(SECONDS):
            while (await gateway.get("/readyz")).status_code != 200:  # until every service has found a server again
                await asyncio.sleep(0.1)
        position = (await gateway.get("/api/admin/lag", headers=key)).json()["log"]
    async with jetstream(cluster) as calls:
        for stream in STREAMS:
            async with asyncio.timeout(SECONDS):  # the relay fills what engines could not publish
                while (held := (await until_led(calls, stream, whole=True)).state).last_seq < position:
                    await asyncio.sleep(0.1)
            assert (held.first_seq, held.last_seq, held.messages) == (1, position, position), stream

"""A server that lost its routes keeps its clients, and one that hangs its connections: services take another."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, suppress
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import nats
import pytest
from playmolt_cli.local.embedded import Nats, free_port
from playmolt_core.bus.client import NatsBus, connect
from playmolt_core.bus.connection import UnsuitableServer, check_server
from playmolt_core.bus.engine_bus import EngineBus
from playmolt_core.bus.jetstream import JetStream, open_jetstream
from playmolt_core.settings import Settings
from playmolt_schemas import subjects
from playmolt_schemas.envelopes import Answer, Call

from core.tests.listening import listening
from core.tests.waiting import suspend
from tests.integration.bus.test_cluster import STREAMS, Member, jetstream, until_led
from tests.integration.log.address import Address
from tests.platforms import playmolt

SECONDS = 120
MOVED_SECONDS = 40
"""The longest wait of a caller, 15 s, and time for a busy machine."""
ALONE = 'reason="alone"'


class Linked(Member):
    """A server that reaches each other one through a link of their own, which can be cut."""

    def __init__(self, folder: Path, route: int, routes: list[int]) -> None:
        super().__init__(folder, route, routes)

    def configuration(self) -> str:
        # What it tells the others of its address leads nowhere, so that they do not go round the links.
        linked = super().configuration().replace("cluster {", 'cluster { advertise: "127.0.0.1:1",')
        return f'{linked}\nlame_duck_grace_period: "1s"\nlame_duck_duration: "30s"\n'


class Cluster:
    def __init__(self, folder: Path, stack: ExitStack) -> None:
        ports = [free_port() for _ in range(3)]
        self.links = {pair: stack.enter_context(Address(ports[pair[1]])) for pair in permutations(range(3), 2)}
        self.servers = [
            Linked(folder / f"nats-{one}", ports[one], [link.port for (a, _), link in self.links.items() if a == one])
            for one in range(3)
        ]
        for server in self.servers:
            stack.callback(server.stop)
            server.launch()
        for server in self.servers:
            server.start()

    def cut(self, *pairs: tuple[int, int]) -> None:
        for a, b in pairs:
            self.links[a, b].cut()
            self.links[b, a].cut()

    def settings(self, first: int, *others: int, **more: object) -> Settings:
        """Name servers, of which the first is the one to begin with."""
        urls = ",".join(self.servers[number].url for number in (first, *others))
        return Settings(nats_url=urls, **more)  # type: ignore[arg-type]  # names of settings


@pytest.fixture
def cluster(folder: Path) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(folder, stack)


class Game:
    """An engine of one game that answers every call."""

    def __init__(self, settings: Settings, service: str = "ox-engine", game: str = "ox") -> None:
        self.bus = EngineBus(settings, service)
        self._game = game

    async def open(self) -> None:
        await self.bus.open()

        def receive(call: Call, respond: object) -> None:
            assert callable(respond)
            respond(Answer(call.id, 200, b"{}"))

        await self.bus.serve(self._game, [], receive=receive, receive_public=receive)


@pytest.fixture
async def closing() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def _engine(settings: Settings, closing: AsyncExitStack) -> Game:
    game = Game(settings)
    await game.open()
    closing.push_async_callback(game.bus.close)
    return game


async def _gateway(settings: Settings, closing: AsyncExitStack, service: str = "gateway") -> NatsBus:
    bus = await connect(settings, service)
    closing.push_async_callback(bus.close)
    return bus


async def _on(bus: NatsBus | EngineBus | JetStream, cluster: Cluster, number: int) -> None:
    """Settle a bus on one server, whichever it took."""
    async with asyncio.timeout(SECONDS):
        while (url := bus._connection.connected_url) is None or url.port != cluster.servers[number].port:
            await bus._connection.force_reconnect()
            await asyncio.sleep(0.1)


def _moves(bus: NatsBus | EngineBus | JetStream) -> dict[str, float]:
    return {sample.labels: float(sample.value) for sample in bus.samples()}  # type: ignore[arg-type]  # a counter


async def _answered(bus: NatsBus) -> float:
    """Ask as a caller does, again after each 503, and give how long it took."""
    began = time.monotonic()
    while True:
        try:
            await bus.submit("ox", "state", "ox-1")
        except ConnectionError:
            assert time.monotonic() - began < SECONDS
            continue
        return time.monotonic() - began


@pytest.mark.parametrize("cut", [((0, 1), (0, 2)), ((0, 1),)], ids=["every route", "one link of three"])
async def test_a_gateway_without_engines_takes_another_server(
    cut: tuple[tuple[int, int], ...], cluster: Cluster, closing: AsyncExitStack
) -> None:
    """No caller waits over 15 s: silence for 6 s, then another server. The link that is cut is the one it needs."""
    await _engine(cluster.settings(1), closing)
    gateway = await _gateway(cluster.settings(0, 1), closing)
    await _on(gateway, cluster, 0)
    async with asyncio.timeout(SECONDS):
        while "ox" not in gateway.present():
            await asyncio.sleep(0.05)
        cluster.cut(*cut)
        while "ox" in gateway.present():
            await asyncio.sleep(0.05)
    assert await _answered(gateway) < MOVED_SECONDS
    assert _moves(gateway)['reason="no_engine"'] >= 1


@pytest.mark.parametrize("left_alone", ["spectator", "engine"])
async def test_who_hears_no_other_service_takes_another_server(
    left_alone: str, cluster: Cluster, closing: AsyncExitStack
) -> None:
    """Only who is left alone has a server to go to: the other would keep it company on a machine that stood still."""
    engine_on, spectator_on = ((0, 1), (1,)) if left_alone == "engine" else ((1,), (0, 1))
    engine = await _engine(cluster.settings(*engine_on), closing)
    spectator = await _gateway(cluster.settings(*spectator_on), closing, "spectator")
    company = Game(cluster.settings(1), "legal-orchestrator", "legal")
    await company.open()
    closing.push_async_callback(company.bus.close)
    moved = engine.bus if left_alone == "engine" else spectator
    await _on(moved, cluster, 0)
    await _gateway(cluster.settings(1), closing)
    await _answered(spectator)
    cluster.cut((0, 1), (0, 2))
    async with asyncio.timeout(SECONDS):
        while not _moves(moved)[ALONE]:
            await _on(moved, cluster, 0)
            await asyncio.sleep(0.05)
    assert await _answered(spectator) < MOVED_SECONDS


async def _held(relay: JetStream, stream: str) -> bool:
    """Whether a stream's leader answers; a leader just elected may not know its streams yet."""
    try:
        return await relay.state(stream) is not None
    except ConnectionError:
        return False


async def _led_elsewhere(cluster: Cluster, number: int) -> None:
    """Have the streams led by servers that stay together: no election is waited for when that one is cut off."""
    left = cluster.servers[number]
    async with jetstream([one for one in cluster.servers if one is not left]) as calls, asyncio.timeout(SECONDS):
        for stream in STREAMS:
            while (await until_led(calls, stream, whole=True)).cluster.leader == left.name_in_cluster:  # type: ignore[union-attr]  # led: there is one
                with suppress(nats.errors.Error, TimeoutError):
                    await calls._nc.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}", timeout=5)


async def test_a_relay_without_leaders_takes_another_server(cluster: Cluster, closing: AsyncExitStack) -> None:
    # All three are named: of fewer it would make streams with one copy, which may lie on the server that is cut off.
    relay = await open_jetstream(cluster.settings(0, 1, 2), "relay")
    closing.push_async_callback(relay.close)
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                for stream in STREAMS:
                    await relay.ensure(stream, [f"{stream.lower()}.>"], first=1, limit=100)
                break
            except ConnectionError:  # no leader yet
                await asyncio.sleep(0.2)
    await _led_elsewhere(cluster, 0)
    moved = _moves(relay)
    await _on(relay, cluster, 0)
    cluster.cut((0, 1), (0, 2))
    async with asyncio.timeout(SECONDS):
        while _moves(relay) == moved:
            await asyncio.sleep(0.1)
        while not await _held(relay, subjects.EVENTS_STREAM):
            await asyncio.sleep(0.2)


async def _findings(settings: Settings) -> tuple[int, dict[str, Any]]:
    """What `playmolt doctor` exits with, and its findings by name."""
    own = {**os.environ, "NATS_URL": settings.nats_url, "DATABASE_URL": ""}
    done = await asyncio.to_thread(partial(playmolt, "doctor", "--json", environment=own))
    return done.returncode, {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}


async def test_doctor_names_the_server_that_lost_its_routes(cluster: Cluster, closing: AsyncExitStack) -> None:
    """It looks for a moment only: servers that are busy yet are looked at again, as an operator would."""
    await _engine(cluster.settings(1), closing)
    cluster.cut((0, 1), (0, 2))
    cut_off, sound = (f"nats 127.0.0.1:{cluster.servers[number].port}" for number in (0, 1))
    async with asyncio.timeout(SECONDS):
        while True:
            status, found = await _findings(cluster.settings(0, 1))
            if found[cut_off]["detail"].startswith("cannot reach") and found[sound]["well"]:
                break
    assert (status, found[cut_off]["well"]) == (1, False)
    assert found[cut_off]["detail"] == "cannot reach ox-engine, which other servers reach"


async def test_a_server_that_is_drained_refuses_nobody(cluster: Cluster, closing: AsyncExitStack) -> None:
    """Lame duck: its clients are sent away one by one, and each call is answered meanwhile."""
    engine = await _engine(cluster.settings(0, 1, 2), closing)
    gateway = await _gateway(cluster.settings(0, 1, 2), closing)
    for bus in (engine.bus, gateway):
        await _on(bus, cluster, 0)
    await _answered(gateway)
    drained = cluster.servers[0].process
    assert drained
    os.kill(drained.pid, signal.SIGUSR2)
    async with asyncio.timeout(SECONDS):
        while drained.poll() is None:
            await gateway.submit("ox", "state", "ox-1")
            await asyncio.sleep(0.01)
    await gateway.submit("ox", "state", "ox-1")


@pytest.mark.parametrize("busy", [False, True], ids=["silent", "written to all the time"])
async def test_a_server_that_hangs_is_left(busy: bool, cluster: Cluster, closing: AsyncExitStack) -> None:
    """Pings every two seconds, two missed; also while more is written than the hung server's socket takes."""
    await _engine(cluster.settings(1), closing)
    gateway = await _gateway(cluster.settings(0, 1), closing)
    await _on(gateway, cluster, 0)
    await _answered(gateway)
    hung = cluster.servers[0].process
    assert hung

    async def write() -> None:
        while busy:
            await gateway._connection.publish("playmolt.test", bytes(100_000))
            await asyncio.sleep(0.001)

    writing = asyncio.create_task(write())
    suspend(hung.pid)
    try:
        async with asyncio.timeout(SECONDS):
            # A question that was on its way when the server stopped may have been answered still.
            while (url := gateway._connection.connected_url) is None or url.port == cluster.servers[0].port:
                assert await _answered(gateway) < MOVED_SECONDS
    finally:
        writing.cancel()
        os.kill(hung.pid, signal.SIGCONT)


class Without(Nats):
    def configuration(self) -> str:
        before, _, rest = super().configuration().partition("jetstream {")
        return before + rest.partition("}")[2]

    def answers(self) -> bool:
        return self.alive()


@pytest.fixture
def without_jetstream(folder: Path) -> Iterator[Nats]:
    with Without(folder / "plain") as server:
        yield server


async def _old_server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say what Debian's server says."""
    writer.write(b'INFO {"version":"2.9.10","proto":1,"max_payload":1048576,"headers":true,"jetstream":true}\r\n')
    while line := await reader.readline():
        if line.startswith(b"PING"):
            writer.write(b"PONG\r\n")


async def _refused(url: str, folder: Path) -> str:
    """The one line with which `up` and the relay refuse a server."""
    with pytest.raises(UnsuitableServer) as refusal:
        await open_jetstream(Settings(nats_url=url), "relay")
    with pytest.raises(UnsuitableServer):
        await check_server(Settings(nats_url=url))
    up = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "playmolt_cli", "up", "--data", folder / "data", "--port", "0", "--spectator-port", "0",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "NATS_URL": url, "DATABASE_URL": ""},
    )  # fmt: skip
    try:
        async with asyncio.timeout(2 * SECONDS):
            out, err = await up.communicate()
    finally:
        with suppress(ProcessLookupError):
            up.kill()
        await up.wait()
    assert (up.returncode, out) == (2, b"")
    assert err.decode() == f"Error: {refusal.value}\n"
    return str(refusal.value)


async def test_a_server_without_jetstream_is_refused_in_one_line(without_jetstream: Nats, folder: Path) -> None:
    line = await _refused(without_jetstream.url, folder)
    assert "without JetStream; PlayMolt needs NATS 2.12 or newer (atomic batches) with JetStream" in line


async def test_a_server_that_is_too_old_is_refused_in_one_line(folder: Path) -> None:
    async with listening(_old_server) as port:
        line = await _refused(f"nats://127.0.0.1:{port}", folder)
    assert "runs 2.9.10; PlayMolt needs NATS 2.12 or newer" in line

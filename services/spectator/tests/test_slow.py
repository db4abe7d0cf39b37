"""One slow or dead watcher never slows another; heartbeats show that a quiet feed lives."""

import asyncio
import json
import socket as sockets
import time
from contextlib import suppress
from typing import Any

from playmolt_spectator.timeouts import Timeouts
from spectator_fakes import FakeBus, game
from spectator_loopback import SECONDS, Response, Spectator, ended, running, take
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosedError

GAME = game()


async def deaf(spectator: Spectator, room: int = 4096) -> ClientConnection:
    """A watcher that has stopped to read, with little room on its side."""
    raw = sockets.socket()
    raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, room)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", spectator.port))
    connection: ClientConnection = await spectator.ws(f"/ws/games/{GAME}", sock=raw, max_size=None, max_queue=1)
    await spectator.until(lambda: spectator.server.watchers)
    connection.transport.pause_reading()
    return connection


async def versions(connection: ClientConnection) -> list[int]:
    connection.transport.resume_reading()
    seen: list[int] = []
    with suppress(ConnectionClosedError):
        async for message in connection:
            seen.append(json.loads(message)["version"])  # noqa: PERF401 -- what came before the error counts
    return seen


async def test_a_slow_reader_is_dropped_with_4008_and_the_others_get_everything_promptly(
    bus: FakeBus, spectator: Spectator
) -> None:
    bus.start(GAME, 1)
    slow = await deaf(spectator)
    async with spectator.ws(f"/ws/games/{GAME}") as fast:
        await take(fast, 1)
        for _ in range(600):
            begun = time.monotonic()
            message = bus.happen(GAME, pad=800)
            assert await take(fast, 1) == [message]
            assert time.monotonic() - begun < SECONDS
    assert spectator.metrics.counts["readers_dropped_total"] == 1
    seen = await versions(slow)
    assert slow.close_code == 4008
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) < 400
    async with spectator.ws(f"/ws/games/{GAME}?after={seen[-1]}") as again:
        assert await take(again, 601 - len(seen)) == bus.games[GAME][len(seen) :]


async def test_a_mebibyte_waiting_drops_a_reader_too(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    slow = await deaf(spectator)
    for _ in range(20):
        bus.happen(GAME, pad=100_000)
        await asyncio.sleep(0.005)
    await spectator.until(lambda: spectator.metrics.counts["readers_dropped_total"])
    await versions(slow)
    assert slow.close_code == 4008


async def test_a_stalled_reader_is_dropped_with_4008(bus: FakeBus) -> None:
    bus.start(GAME, 1)
    async with running(bus, Timeouts(stall=0.3)) as spectator:
        slow = await deaf(spectator)
        begun = time.monotonic()
        for _ in range(3):
            bus.happen(GAME, pad=200_000)
        await spectator.until(lambda: spectator.metrics.counts["readers_dropped_total"])
        assert time.monotonic() - begun >= 0.3
        await versions(slow)
        assert slow.close_code == 4008


async def test_a_reader_that_stalls_while_it_catches_up_is_dropped_and_cost_little_memory(bus: FakeBus) -> None:
    bus.start(GAME, 3000, pad=2000)
    async with running(bus, Timeouts(stall=0.3)) as spectator:
        slow = await deaf(spectator)
        await spectator.until(lambda: spectator.metrics.counts["readers_dropped_total"])
        assert spectator.metrics.counts["bytes_sent_total"] < 1024 * 1024
        await versions(slow)
        assert slow.close_code == 4008


async def test_a_reader_that_catches_up_slowly_is_not_dropped(bus: FakeBus) -> None:
    bus.start(GAME, 1500, pad=1000)
    stall = 2.0
    async with running(bus, Timeouts(stall=stall)) as spectator:
        slow = await deaf(spectator, room=65_536)
        seen = []
        begun = time.monotonic()
        while len(seen) < 1500:
            slow.transport.resume_reading()
            seen += await take(slow, 50)
            slow.transport.pause_reading()
            await asyncio.sleep(0.08)
        assert time.monotonic() - begun > stall
        assert seen == bus.games[GAME]
        assert not spectator.metrics.counts["readers_dropped_total"]
        slow.transport.abort()


async def test_a_slow_reader_of_events_loses_its_connection(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    response = await spectator.get(f"/sse/games/{GAME}")
    response.writer.transport.pause_reading()  # type: ignore[attr-defined]
    for _ in range(400):
        bus.happen(GAME, pad=20_000)
        await asyncio.sleep(0)
    await spectator.until(lambda: spectator.metrics.counts["readers_dropped_total"])
    await spectator.until(lambda: not spectator.server.watchers)


async def test_a_reader_that_pings_and_never_reads_is_dropped(bus: FakeBus) -> None:
    bus.start(GAME, 1)
    async with running(bus, Timeouts(stall=60, linger=0.1)) as spectator:
        slow = await deaf(spectator)
        ping = b"\x89\xfd" + b"\0" * 4 + b"x" * 125
        async with asyncio.timeout(30):
            while not spectator.metrics.counts["readers_dropped_total"]:
                slow.transport.write(ping * 100)
                await asyncio.sleep(0.001)
        await spectator.until(lambda: not spectator.server.watchers)
        slow.transport.abort()


async def test_one_that_never_takes_its_leave_is_cut_off(bus: FakeBus) -> None:
    bus.start(GAME, 1)
    async with running(bus, Timeouts(stall=0.1, linger=0.2)) as spectator:
        slow = await deaf(spectator)
        for _ in range(3):
            bus.happen(GAME, pad=200_000)
        await spectator.until(lambda: spectator.metrics.counts["readers_dropped_total"])
        await spectator.until(lambda: not spectator.server.watchers)
        slow.transport.abort()


async def test_a_burst_makes_nobody_slow_who_reads(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    async with spectator.ws(f"/ws/games/{GAME}", max_queue=None) as one:
        await take(one, 1)
        for _ in range(1000):
            bus.happen(GAME, pad=100)
        assert await take(one, 1000) == bus.games[GAME][1:]


async def after_heartbeats(socket: ClientConnection) -> list[bytes]:
    """The next two messages, behind those heartbeats that came before anything happened."""
    while b'"version":2}' in (first := (await take(socket, 1))[0]):
        pass
    return [first, *await take(socket, 1)]


async def events_after_heartbeats(feed: Response) -> list[bytes]:
    """The same of a feed of events."""
    while (first := await feed.event()) == b": heartbeat 2":
        pass
    return [first, await feed.event()]


async def test_heartbeats_carry_the_head(bus: FakeBus) -> None:
    bus.start(GAME, 2)
    async with running(bus, Timeouts(heartbeat=0.2)) as spectator:
        events = await spectator.get(f"/sse/games/{GAME}?after=2")
        async with spectator.ws(f"/ws/games/{GAME}?after=2") as socket, spectator.ws("/ws/lobby") as lobby:
            beat: dict[str, Any] = {"type": "heartbeat", "version": 2}
            assert json.loads((await take(socket, 1))[0]) == beat
            assert await events.event() == b": heartbeat 2"
            bus.happen(GAME)
            assert await after_heartbeats(socket) == [bus.games[GAME][2], b'{"type":"heartbeat","version":3}']
            assert await events_after_heartbeats(events) == [b"id: 3\ndata: " + bus.games[GAME][2], b": heartbeat 3"]
            assert json.loads((await take(lobby, 1))[0]) == {"type": "heartbeat", "version": 0}
            await socket.close()
            assert await ended(socket) == 1000

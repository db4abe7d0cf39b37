"""How feeds end: with the game, with the watcher, with the server."""

import asyncio

import pytest
from playmolt_core.ops.connections import Bounds
from playmolt_spectator.timeouts import Timeouts
from spectator_fakes import FakeBus, game
from spectator_loopback import Spectator, ended, running, take
from websockets.exceptions import InvalidStatus

GAME = game()


async def test_the_closing_message_is_the_last_and_closes_with_1000(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    events = await spectator.get(f"/sse/games/{GAME}")
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 1)
        await events.event()
        bus.happen(GAME)
        last = bus.happen(GAME, "game_end", closes=True)
        assert (await take(socket, 2))[1] == last
        assert await ended(socket) == 1000
    assert (await events.rest()).endswith(b"id: 3\ndata: %b\n\n" % last)
    await spectator.until(lambda: not any(watch.open for watch in bus.watches[GAME]))


@pytest.mark.parametrize("lost", [(2,), (3,), (4,), (2, 3, 4), (2, 4)])
async def test_a_game_ends_whole_although_messages_were_lost_at_its_end(
    bus: FakeBus, spectator: Spectator, lost: tuple[int, ...]
) -> None:
    bus.start(GAME, 1)
    bus.held[GAME] = range(1, 10)
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 1)
        happened = bus.store(GAME), bus.store(GAME), bus.store(GAME, "game_end", closes=True)
        for version, message in enumerate(happened, 2):
            if version not in lost:
                bus.tell(GAME, message, closes=version == 4)
        bus.tell(GAME, b"")
        assert await take(socket, 3) == list(happened)
        assert await ended(socket) == 1000


async def test_the_feed_learns_of_the_end_before_it_has_read_the_queue(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 1)
        for _ in range(300):
            bus.happen(GAME)
        bus.happen(GAME, "game_end", closes=True)
        assert await take(socket, 301) == bus.games[GAME][1:]
        assert await ended(socket) == 1000


@pytest.mark.parametrize(("after", "left"), [(0, 300), (299, 1), (300, 0), (1000, 0)])
async def test_an_ended_game_is_sent_whole_and_closed(
    bus: FakeBus, spectator: Spectator, after: int, left: int
) -> None:
    bus.start(GAME, 299)
    bus.store(GAME, "game_aborted", closes=True)
    async with spectator.ws(f"/ws/games/{GAME}?after={after}") as socket:
        assert await take(socket, left) == bus.games[GAME][after:]
        assert await ended(socket) == 1000
    response = await spectator.get(f"/sse/games/{GAME}?after={after}")
    assert response.status == (200 if left else 204)
    assert (await response.rest()).count(b"\n\n") == left
    await spectator.until(lambda: not spectator.server.hub.watched)


async def test_nobody_watching_means_no_subscription(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    async with spectator.ws(f"/ws/games/{GAME}") as one, spectator.ws(f"/ws/games/{GAME}") as two:
        await take(one, 1)
        await take(two, 1)
        assert len(bus.watches[GAME]) == 1
        await one.close()
        bus.happen(GAME)
        await take(two, 1)
    response = await spectator.get(f"/sse/games/{GAME}")
    await response.event()
    response.writer.transport.abort()
    await spectator.until(lambda: not any(watch.open for watch in bus.watches[GAME]))
    assert spectator.server.hub.watched == 0
    assert not spectator.server.watchers


async def test_a_stopping_server_sends_readers_away(bus: FakeBus, timeouts: Timeouts) -> None:
    bus.start(GAME, 1)
    async with running(bus, timeouts) as spectator:
        events = await spectator.get(f"/sse/games/{GAME}")
        await events.event()
        async with spectator.ws(f"/ws/games/{GAME}") as socket, spectator.ws("/ws/lobby") as lobby:
            await take(socket, 1)
            await spectator.server.drain()
            assert await ended(socket) == 1001
            assert await ended(lobby) == 1001
        assert await events.rest() == b""
        with pytest.raises(OSError, match="Connect call failed"):
            await asyncio.open_connection("127.0.0.1", spectator.port)
        await spectator.until(lambda: not spectator.server.hub.watched)


async def test_a_stopping_server_does_not_wait_for_the_deaf(bus: FakeBus) -> None:
    bus.start(GAME, 2000, pad=2000)
    async with running(bus, Timeouts(drain=0.2)) as spectator:
        response = await spectator.get(f"/sse/games/{GAME}")
        async with asyncio.timeout(4):  # sooner than a spectator's own bound
            await spectator.server.drain()
        assert not response.writer.is_closing()


async def test_a_feed_that_breaks_ends_its_readers_and_the_next_ones_start_over(
    bus: FakeBus, spectator: Spectator
) -> None:
    bus.start(GAME, 1)
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 1)
        bus.watches[GAME][0].queue.put_nowait(7)  # type: ignore[arg-type] -- what no bus sends
        assert await ended(socket) == 1011
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 1)
        bus.happen(GAME)
        await take(socket, 1)


async def test_pings_are_answered_texts_ignored_and_floods_refused(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 1)
        await socket.send("hello")
        await asyncio.wait_for(await socket.ping(), 20)
        bus.happen(GAME)
        assert await take(socket, 1) == bus.games[GAME][1:]
        await socket.send("x" * 70_000)
        assert await ended(socket) == 1009


async def test_a_full_server_says_so(bus: FakeBus, timeouts: Timeouts) -> None:
    bus.start(GAME, 1)
    async with running(bus, timeouts, Bounds(total=1)) as spectator, spectator.ws(f"/ws/games/{GAME}"):
        with pytest.raises(InvalidStatus) as refused:
            await spectator.ws(f"/ws/games/{GAME}").__aenter__()
        assert refused.value.response.status_code == 503
        assert (await spectator.get("/sse/lobby")).headers["retry-after"]

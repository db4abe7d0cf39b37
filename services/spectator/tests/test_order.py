"""Every watcher gets 1, 2, 3 … as stored, whatever the bus loses, repeats or turns round."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from playmolt_core.bus.port import HeadedMessage
from playmolt_spectator.timeouts import Timeouts
from spectator_fakes import FakeBus, game, raw
from spectator_loopback import Spectator, ended, running, take

GAME = game()


async def test_what_was_before_comes_first_and_then_what_happens(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 3)
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        assert await take(socket, 3) == bus.games[GAME]
        bus.happen(GAME)
        bus.happen(GAME)
        assert await take(socket, 2) == bus.games[GAME][3:]


async def test_a_message_of_another_invite_goes_to_nobody(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        assert await take(socket, 1) == bus.games[GAME]
        foreign = HeadedMessage(raw(GAME, 2, "for others"))
        foreign.invite = "f" * 64
        bus.tell(GAME, foreign)
        bus.happen(GAME)
        assert await take(socket, 1) == bus.games[GAME][1:]


async def test_server_sent_events_carry_the_same_bytes_with_the_version_as_id(
    bus: FakeBus, spectator: Spectator
) -> None:
    bus.start(GAME, 2)
    response = await spectator.get(f"/sse/games/{GAME}")
    assert response.status == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.headers["access-control-allow-origin"] == "*"
    await spectator.until(lambda: bus.watches[GAME])
    first = await response.events(2)
    bus.happen(GAME)
    events = [*first, await response.event()]
    assert events == [b"id: %d\ndata: %b" % (n, message) for n, message in enumerate(bus.games[GAME], 1)]


@pytest.mark.parametrize("held", [range(0), range(1, 300), range(200, 600), range(1, 1000)])
async def test_a_long_past_comes_from_nats_or_from_the_engine(bus: FakeBus, spectator: Spectator, held: range) -> None:
    bus.start(GAME, 700)
    bus.held[GAME] = held
    bus.page = 100
    async with spectator.ws(f"/ws/games/{GAME}?after=20") as socket:
        assert await take(socket, 680) == bus.games[GAME][20:]
    from_nats = spectator.metrics.counts['backfills_total{source="nats"}']
    assert bool(from_nats) == bool(len(held))


def lose_the_second(bus: FakeBus, messages: list[bytes]) -> None:
    bus.tell(GAME, messages[0], *messages[2:])


def turn_round(bus: FakeBus, messages: list[bytes]) -> None:
    bus.tell(GAME, *reversed(messages))


def repeat(bus: FakeBus, messages: list[bytes]) -> None:
    bus.tell(GAME, *messages, *messages, messages[0])


def lose_all_and_say_so(bus: FakeBus, messages: list[bytes]) -> None:
    bus.tell(GAME, b"")


def lose_the_last_and_say_so(bus: FakeBus, messages: list[bytes]) -> None:
    bus.tell(GAME, *messages[:-1], b"")


def tell_junk(bus: FakeBus, messages: list[bytes]) -> None:
    bus.tell(GAME, b"{", *messages[1:])


@pytest.mark.parametrize(
    "trouble", [lose_the_second, turn_round, repeat, lose_all_and_say_so, lose_the_last_and_say_so, tell_junk]
)
@pytest.mark.parametrize("held", [range(0), range(1, 100)])
async def test_trouble_on_the_bus_is_not_seen(
    bus: FakeBus, spectator: Spectator, trouble: Callable[[FakeBus, list[bytes]], None], held: range
) -> None:
    bus.start(GAME, 1)
    bus.held[GAME] = held
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 1)
        trouble(bus, [bus.store(GAME) for _ in range(5)])
        assert await take(socket, 5) == bus.games[GAME][1:]
        bus.happen(GAME)
        assert await take(socket, 1) == bus.games[GAME][6:]


async def test_a_turned_pair_heals_without_an_engine(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 1)
        bus.engines = False
        second, third = bus.store(GAME), bus.store(GAME)
        bus.tell(GAME, third)
        await spectator.until(lambda: len(bus.asked) > 4)
        bus.tell(GAME, second)
        assert await take(socket, 2) == [second, third]


async def test_readers_stay_while_engines_are_away_and_get_everything_after(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 400)
    async with spectator.ws(f"/ws/games/{GAME}?after=398") as live:
        await take(live, 2)
        bus.engines = False
        async with spectator.ws(f"/ws/games/{GAME}?after=1") as late:
            bus.store(GAME)
            asked = len(bus.asked)
            bus.tell(GAME, b"")
            await spectator.until(lambda: len(bus.asked) > asked + 1)
            bus.engines = True
            assert await take(late, 400) == bus.games[GAME][1:]
        assert await take(live, 1) == bus.games[GAME][400:]


async def test_a_loss_that_nobody_reported_is_found(bus: FakeBus, timeouts: Timeouts) -> None:
    bus.start(GAME, 1)
    async with running(bus, Timeouts(check=0.05)) as spectator, spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 1)
        silent = bus.store(GAME), bus.store(GAME, "game_end", closes=True)
        assert await take(socket, 2) == list(silent)
        assert await ended(socket) == 1000


@pytest.mark.parametrize("seed", range(4))
async def test_readers_that_come_at_any_time_see_the_same(bus: FakeBus, spectator: Spectator, seed: int) -> None:
    chance = random.Random(seed)
    bus.start(GAME, 50)

    async def read(after: int) -> tuple[int, list[bytes]]:
        await asyncio.sleep(chance.random() / 5)
        async with spectator.ws(f"/ws/games/{GAME}?after={after}") as socket:
            messages = [message async for message in socket]
            assert socket.close_code == 1000
        return after, [m.encode() if isinstance(m, str) else m for m in messages]

    async def play() -> None:
        kept: list[bytes] = []
        for _ in range(200):
            kept.append(bus.store(GAME))
            if chance.random() < 0.7:
                chance.shuffle(kept)
                bus.tell(GAME, *kept[: chance.randrange(5)])
                kept = []
            if chance.random() < 0.05:
                bus.tell(GAME, b"")
            await asyncio.sleep(0.001)
        bus.happen(GAME, "game_end", closes=True)

    watchers = [read(chance.choice([0, 0, 10, 49, 50, 60, 200, 251])) for _ in range(20)]
    *seen, _ = await asyncio.gather(*watchers, play())
    for after, messages in seen:
        assert messages == bus.games[GAME][after:]


async def test_a_reader_ahead_of_the_game_waits_for_its_version(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 2)
    async with spectator.ws(f"/ws/games/{GAME}?after=4") as socket, spectator.ws(f"/ws/games/{GAME}") as other:
        await take(other, 2)
        happened = [bus.store(GAME) for _ in range(4)]
        bus.tell(GAME, *happened)
        assert await take(socket, 2) == bus.games[GAME][4:]
        bus.happen(GAME)
        assert await take(socket, 1) == bus.games[GAME][6:]


@pytest.mark.parametrize(
    ("path", "headers", "first"),
    [
        ("", {}, 1),
        ("?after=3", {}, 4),
        ("?after=3", {"Last_Event_ID": "1"}, 2),
        ("", {"Last_Event_ID": "4"}, 5),
        ("?after=junk", {"Last_Event_ID": "4"}, 5),
        ("?after=3&cache=no", {}, 4),
    ],
)
async def test_events_resume_where_the_reader_stopped(
    bus: FakeBus, spectator: Spectator, path: str, headers: dict[str, Any], first: int
) -> None:
    bus.start(GAME, 5)
    response = await spectator.get(f"/sse/games/{GAME}{path}", **headers)
    assert await response.event() == b"id: %d\ndata: %b" % (first, raw(GAME, first))


async def test_readers_of_one_past_share_its_pages(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 2000)
    sockets = await asyncio.gather(*(spectator.ws(f"/ws/games/{GAME}").__aenter__() for _ in range(50)))
    for socket in sockets:
        assert len(await take(socket, 2000)) == 2000
        await socket.close()
    assert len([ask for ask in bus.asked if ask[0] == "feed"]) < 100

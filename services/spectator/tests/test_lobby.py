"""The lobby: the present list first, then what changes, each change once whatever the bus does."""

import json
from typing import Any

import msgspec
from playmolt_schemas.game_messages import LobbyMessage, LobbyType
from playmolt_spectator.timeouts import Timeouts
from spectator_fakes import FakeBus, game
from spectator_loopback import Spectator, ended, running, take


def live(number: int, kind: LobbyType, seated: int, at: int) -> bytes:
    phase = {"game_waiting": "waiting", "game_started": "round", "game_end": "over", "game_aborted": "aborted"}[kind]
    return msgspec.json.encode(
        LobbyMessage(
            type=kind,
            game_id=game(number),
            gameType="ox",
            phase=phase,
            seated=seated,
            needed=2,
            at=f"2026-01-01T00:00:{at:02d}.000000Z",
        )
    )


def told(messages: list[bytes]) -> list[tuple[str, int, int]]:
    """(type, number of the game, seated) of each message."""
    decoded: list[dict[str, Any]] = [json.loads(message) for message in messages]
    return [(m["type"], int(m["game_id"][-3:]), m["seated"]) for m in decoded]


async def test_the_present_list_comes_first_then_live_messages_as_they_came(bus: FakeBus, spectator: Spectator) -> None:
    bus.line(game(1), "round", 2)
    bus.line(game(2), "waiting", 1)
    bus.line(game(3), "over", 2, over=True)
    bus.lobby_watches[0].queue.put_nowait(b"")
    await spectator.until(lambda: len(bus.asked) > 2)
    async with spectator.ws("/ws/lobby") as socket:
        first = await take(socket, 2)
        assert json.loads(first[0]) == {
            "type": "game_started",
            "game_id": game(1),
            "gameType": "ox",
            "phase": "round",
            "seated": 2,
            "needed": 2,
            "language": "ko",
            "pace": "quick",
            "at": "2026-01-01T00:00:01.000000Z",
        }
        assert told(first) == [("game_started", 1, 2), ("game_waiting", 2, 1)]
        news = live(2, "game_started", 2, 5), live(1, "game_end", 2, 6)
        bus.tell_lobby(*news)
        assert await take(socket, 2) == list(news)
    response = await spectator.get("/sse/lobby")
    assert await response.event() == b"data: " + news[0]


async def test_repeats_and_stale_messages_are_not_news(bus: FakeBus, spectator: Spectator) -> None:
    async with spectator.ws("/ws/lobby") as socket:
        waiting, started = live(1, "game_waiting", 1, 1), live(1, "game_started", 2, 2)
        ending, other = live(1, "game_end", 2, 3), live(2, "game_waiting", 0, 3)
        bus.tell_lobby(waiting, waiting, started, waiting, started, b"{", ending, started, ending, other)
        assert await take(socket, 4) == [waiting, started, ending, other]


async def test_two_changes_of_one_moment_are_both_told(bus: FakeBus, spectator: Spectator) -> None:
    async with spectator.ws("/ws/lobby") as socket:
        both = [live(1, "game_waiting", 2, 1), live(1, "game_started", 2, 1)]
        bus.tell_lobby(*both)
        assert await take(socket, 2) == both


async def test_what_was_lost_is_told_when_the_list_is_compared(bus: FakeBus) -> None:
    for number in (1, 2, 3):
        bus.line(game(number), "waiting", 1)
    async with running(bus, Timeouts(lobby=0.05)) as spectator, spectator.ws("/ws/lobby") as socket:
        assert told(await take(socket, 3)) == [("game_waiting", number, 1) for number in (1, 2, 3)]
        bus.line(game(1), "round", 2, at=2)
        bus.line(game(2), "over", 2, at=2, over=True)
        bus.line(game(3), "aborted", 1, at=2, over=True)
        bus.line(game(4), "waiting", 1, at=2)
        assert sorted(told(await take(socket, 4))) == [
            ("game_aborted", 3, 1),
            ("game_end", 2, 2),
            ("game_started", 1, 2),
            ("game_waiting", 4, 1),
        ]
        bus.line(game(1), "round", 2, at=9)
        bus.tell_lobby(live(1, "game_started", 2, 2), live(9, "game_waiting", 0, 9))
        assert told(await take(socket, 1)) == [("game_waiting", 9, 0)]


async def test_a_list_older_than_what_was_heard_takes_nothing_back(bus: FakeBus) -> None:
    bus.line(game(1), "waiting", 1)
    async with running(bus, Timeouts(lobby=0.02)) as spectator, spectator.ws("/ws/lobby") as socket:
        await take(socket, 1)
        news = live(1, "game_started", 2, 5), live(2, "game_waiting", 0, 5)
        bus.tell_lobby(*news)
        assert await take(socket, 2) == list(news)
        asked = len(bus.asked)
        await spectator.until(lambda: len(bus.asked) > asked + 6)
        bus.tell_lobby(live(3, "game_waiting", 0, 6))
        assert told(await take(socket, 1)) == [("game_waiting", 3, 0)]
    response = await spectator.get("/sse/lobby") if not spectator.server.draining else None
    assert response is None


async def test_a_further_phase_is_not_news_but_shown_to_who_comes_later(bus: FakeBus) -> None:
    bus.line(game(1), "round", 2, at=1)
    async with running(bus, Timeouts(lobby=0.02)) as spectator, spectator.ws("/ws/lobby") as socket:
        await take(socket, 1)
        bus.line(game(1), "vote", 2, at=2)
        asked = len(bus.asked)
        await spectator.until(lambda: len(bus.asked) > asked + 6)
        async with spectator.ws("/ws/lobby") as later:
            assert [json.loads(message)["phase"] for message in await take(later, 1)] == ["vote"]
        bus.tell_lobby(live(2, "game_waiting", 0, 3))
        assert told(await take(socket, 1)) == [("game_waiting", 2, 0)]


async def test_games_far_down_the_list_are_forgotten_without_a_word(bus: FakeBus) -> None:
    bus.line(game(1), "round", 2)
    async with running(bus, Timeouts(lobby=0.02), page=2) as spectator, spectator.ws("/ws/lobby") as socket:
        await take(socket, 1)
        bus.line(game(2), "round", 2)
        bus.line(game(3), "round", 2)
        assert told(await take(socket, 2)) == [("game_started", 2, 2), ("game_started", 3, 2)]
        async with spectator.ws("/ws/lobby") as later:
            assert told(await take(later, 2)) == [("game_started", 2, 2), ("game_started", 3, 2)]


async def test_a_long_list_reaches_a_reader_whole_while_games_go_on(bus: FakeBus) -> None:
    for number in range(900):
        bus.line(game(number), "waiting", 1)
    async with running(bus, Timeouts()) as spectator, spectator.ws("/ws/lobby") as socket:
        bus.tell_lobby(live(1, "game_started", 2, 5))
        messages = told(await take(socket, 901))
        assert {number for _, number, _ in messages} == set(range(900))
        assert messages[-1] == ("game_started", 1, 2)


async def test_without_any_engine_there_is_no_list_to_show(bus: FakeBus, spectator: Spectator) -> None:
    bus.engines = False
    async with running(bus, Timeouts(connect=0.1, retry_first=0.01, retry_last=0.05)) as away:
        assert (await (await away.get("/sse/lobby")).event()).startswith(b"retry: 2000")
        async with away.ws("/ws/lobby") as socket:
            assert await ended(socket) == 1013
        bus.engines = True
        bus.line(game(1))
        await away.until(lambda: not bus.lobby_watches[-1].queue.qsize())
        async with away.ws("/ws/lobby") as socket:
            assert told(await take(socket, 1)) == [("game_waiting", 1, 0)]

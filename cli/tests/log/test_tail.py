"""`log tail`: the end of the log, without the secrets of running games unless asked for."""

import asyncio
from collections.abc import Awaitable, Callable

from playmolt_cli.games import deciders
from playmolt_cli.log.tail import tail
from playmolt_core.log.memory import MemoryLog

RUNNING = "ox-00000000-0000-7000-8000-000000000001"
ENDED = "ox-00000000-0000-7000-8000-000000000002"
Store = Callable[..., Awaitable[None]]


async def _tail(log: MemoryLog, count: int, *, running: bool = False) -> list[tuple[str, int]]:
    records = tail(log, deciders(), count=count, follow=False, running=running)
    return [(record.stream, record.position) async for record in records]


async def test_running_games_are_left_out_unless_asked_for(log: MemoryLog, store: Store) -> None:
    await store(ENDED, ended=True)
    await store(RUNNING, ended=False)
    last = await log.position()
    assert {stream for stream, _ in await _tail(log, 1000)} == {ENDED}
    everything = await _tail(log, 1000, running=True)
    assert [position for _, position in everything] == list(range(1, last + 1))
    assert {stream for stream, _ in everything} == {ENDED, RUNNING}
    assert await _tail(log, 3, running=True) == everything[-3:]
    assert await _tail(log, 3) == [place for place in everything if place[0] == ENDED][-3:]


async def test_the_newest_visible_records_are_found_behind_those_of_running_games(log: MemoryLog, store: Store) -> None:
    await store(ENDED, ended=True)
    for number in range(200):
        await store(f"ox-00000000-0000-7000-8000-{number + 10:012}", ended=False)
    assert await log.position() > 1_000
    assert [stream for stream, _ in await _tail(log, 2)] == [ENDED, ENDED]


async def test_an_archived_game_counts_as_finished(log: MemoryLog, store: Store) -> None:
    await store(ENDED, ended=True)
    await store(RUNNING, ended=False)
    log.archive(ENDED)
    assert await _tail(log, 1000) == []
    assert {stream for stream, _ in await _tail(log, 1000, running=True)} == {RUNNING}


async def test_a_followed_game_is_given_whole_as_soon_as_it_ends(log: MemoryLog, store: Store) -> None:
    records = tail(log, deciders(), count=0, follow=True, running=False)
    first = asyncio.ensure_future(anext(records))
    await asyncio.sleep(0)  # it has read the position by now
    await store(RUNNING, ended=False)
    await store(ENDED, ended=True)
    seen = [await asyncio.wait_for(first, 60)]
    while seen[-1].type != "game_aborted":
        seen.append(await asyncio.wait_for(anext(records), 60))
    assert [record.stream for record in seen] == [ENDED] * len(seen)
    assert [record.version for record in seen] == list(range(1, len(seen) + 1))
    await records.aclose()


async def test_an_empty_log_has_no_end(log: MemoryLog) -> None:
    assert await _tail(log, 10) == []

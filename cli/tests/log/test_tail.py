"""`log tail`: the end of the log, without the secrets of running games unless asked for."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from playmolt_cli.games import deciders
from playmolt_cli.log.tail import tail
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.reading import places
from playmolt_schemas.records import Record
from playmolt_schemas.shards import shard_of

RUNNING = "ox-00000000-0000-7000-8000-000000000001"
ENDED = "ox-00000000-0000-7000-8000-000000000002"
Store = Callable[..., Awaitable[None]]


async def _tail(log: MemoryLog, count: int, *, running: bool = False) -> list[tuple[str, int]]:
    batches = tail(log, deciders(), count=count, follow=False, running=running)
    return [(record.stream, record.position) async for records, _ in batches for record in records]


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
    batches = tail(log, deciders(), count=0, follow=True, running=False)
    assert await anext(batches) == ([], (0,))
    await store(RUNNING, ended=False)
    await store(ENDED, ended=True)
    seen: list[Record] = []
    while not seen or seen[-1].type != "game_aborted":
        records, reached = await asyncio.wait_for(anext(batches), 60)
        seen += records
    assert [record.stream for record in seen] == [ENDED] * len(seen)
    assert [record.version for record in seen] == list(range(1, len(seen) + 1))
    assert reached == (await log.position(),)
    await batches.aclose()


async def test_a_game_that_ends_while_the_tail_is_read_is_told_to_its_end(
    log: MemoryLog, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store(ENDED, ended=True)
    last = await log.position()

    async def before_the_end(shard: int = 0) -> int:
        return last - 1

    monkeypatch.setattr(log, "position", before_the_end)
    batches = tail(log, deciders(), count=2, follow=True, running=False)
    told = [await asyncio.wait_for(anext(batches), 60) for _ in range(2)]
    assert [record.position for records, _ in told for record in records] == [last - 2, last - 1, last]
    await batches.aclose()


async def test_what_comes_after_a_cursor_is_given_whole(play: Store) -> None:
    log = MemoryLog(shards=3)
    for number in range(20):
        await play(log, f"ox-00000000-0000-7000-8000-{number + 10:012}", ended=True)
    since = (3, 0, await log.position(2))
    seen = [each async for each in tail(log, deciders(), count=9, follow=False, running=True, since=since)]
    told = [(shard_of(record.stream, 3), record.position) for records, _ in seen for record in records]
    assert sorted(told) == [
        (shard, at) for shard in range(3) for at in range(since[shard] + 1, await log.position(shard) + 1)
    ]
    assert [at for shard, at in told if shard == 1] == list(range(1, await log.position(1) + 1))
    assert seen[-1][1] == await places(log)


async def test_an_empty_log_has_no_end(log: MemoryLog) -> None:
    assert await _tail(log, 10) == []

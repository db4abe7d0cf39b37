import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import msgspec
import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.pool import Pool, open_pool, queries
from playmolt_core.log.batch import batch_of
from playmolt_core.log.port import EventLog
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.sealing import Codec
from playmolt_core.vault.rows import PgKeyRows
from playmolt_core.vault.vault import KeyRows

from core.tests.log.log_contract import OVER, Game, LogContract, SealedLogContract, outcome, statuses, unit
from core.tests.waiting import wait_until

APPEND = queries("log")["append"]
ENTER = "SELECT log.enter_types('{moved}')"
THERE = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE $1"
WAITING = f"{THERE} AND wait_event_type = 'Lock'"


async def waits(holder: Any, query: str, count: int = 1) -> None:
    """Wait until so many queries wait for what `holder` has locked."""
    while await holder.fetchval(WAITING, query) < count:
        await asyncio.sleep(0.01)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, size=8)
    yield pool
    await pool.close()


class TestPostgresLog(LogContract):
    @pytest.fixture
    def log(self, pool: Pool) -> EventLog:
        return PostgresLog(pool)

    @pytest.fixture
    def another(self, pool: Pool) -> Callable[[], EventLog]:
        return lambda: PostgresLog(pool)

    @pytest.fixture
    def archive(self, pool: Pool) -> Callable[[Game], Awaitable[None]]:
        async def prune(game: Game) -> None:
            streams = json.dumps([{"stream": game.stream, "version": game.version, "hash": game.hash}])
            await pool.value("SELECT log.prune($1, 'a file', $2)", streams, bytes(32))

        return prune


class TestSealedPostgresLog(SealedLogContract):
    @pytest.fixture
    def rows(self, pool: Pool) -> KeyRows:
        return PgKeyRows(pool)

    @pytest.fixture
    def client(self, pool: Pool) -> Callable[[Codec], EventLog]:
        return lambda codec: PostgresLog(pool, codec=codec)


async def test_reading_by_position_reads_no_more_than_it_gives_before_a_table_was_analysed(pool: Pool) -> None:
    """Without figures a planner takes every stream for the only one, and would read the whole log for each batch."""
    log, sql = PostgresLog(pool), queries("log")
    games = [Game(f"ox-{number}") for number in range(60)]
    for _ in range(5):
        await log.append([unit(game.adds(3)) for game in games])
    await log.append([unit(game.ends()) for game in games])
    last = await log.position()
    async with pool.connection() as connection:
        assert await connection.fetchval("SELECT max(reltuples) FROM pg_class WHERE relname LIKE 'record_0_%'") <= 0
        await connection.execute(sql["settle_reader"])
        for query in ("outgoing", "forward", "results", "forward_positions"):
            part, parts = (", integer, integer", ", 0, 1") if query == "forward" else ("", "")
            await connection.execute(f"PREPARE {query} (bigint, bigint, smallint{part}) AS {sql[query]}")
            told = await connection.fetchval(
                f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE {query} ({last - 10}, 500, 0{parts})"
            )
            [plan] = json.loads(told)
            scanned = Counter[str]()
            _count_scanned(plan["Plan"], scanned)
            # Each record, its stream, and the record before it for the hash; `forward` looks these up once a chunk.
            assert scanned["stream"] == (0 if query.startswith("forward") else 10), (query, scanned)
            assert scanned["record"] <= 20, (query, scanned)
            assert scanned["event_type"] <= 10, (query, scanned)
        await connection.execute("DISCARD ALL")


def _count_scanned(node: dict[str, Any], scanned: "Counter[str]") -> None:
    if table := node.get("Relation Name", ""):
        looked_at = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        scanned[table if table in ("stream", "event_type") else "record"] += round(looked_at * node["Actual Loops"])
    for inner in node.get("Plans", ()):
        _count_scanned(inner, scanned)


async def test_a_transaction_rolled_back_leaves_no_gap(pool: Pool) -> None:
    """Positions are handed out inside the transaction, so what is rolled back gives them back."""
    finished = asyncio.Event()
    await pool.fetch(ENTER)

    async def write(number: int) -> int:
        log, game, kept = PostgresLog(pool), Game(f"ox-{number}"), 0
        for turn in range(10):
            lost = game.twin()
            if turn % 3 == 0:
                async with pool.connection() as connection:
                    doomed = connection.transaction()
                    await doomed.start()
                    assert not await connection.fetchval(APPEND, *batch_of([unit(lost.adds(2))]))
                    await asyncio.sleep(0.002)
                    await doomed.rollback()
            assert statuses(await log.append([unit(game.adds(1), outcomes=[outcome(game.stream, turn)])])) == [
                "appended"
            ]
            kept += 1
        return kept

    async def read() -> int:
        last, log = 0, PostgresLog(pool)
        while True:
            done = finished.is_set()
            chunk = await log.forward(last, 20)
            for entry in chunk:
                assert entry.record.position == last + 1
                last += 1
            if done and not chunk:
                return last

    reader = asyncio.create_task(read())
    kept = await asyncio.gather(*(write(number) for number in range(20)))
    finished.set()
    assert await reader == sum(kept)


async def test_a_commit_that_hangs_holds_back_later_positions(pool: Pool) -> None:
    """A reader must not see position 2 while position 1 may still come."""
    log = PostgresLog(pool)
    await pool.fetch(ENTER)
    async with pool.connection() as slow:
        transaction = slow.transaction()
        await transaction.start()
        await slow.fetchval(APPEND, *batch_of([unit(Game("ox-1").adds(1))]))
        later = asyncio.create_task(log.append([unit(Game("ox-2").adds(1))]))
        async with pool.connection() as watcher:  # a transaction would see the same activity each time
            await waits(watcher, "%append%")
        assert await log.forward(0, 10) == []
        await transaction.commit()
    await later
    assert [entry.record.stream for entry in await log.forward(0, 10)] == ["ox-1", "ox-2"]


async def test_a_stuck_lock_ends_as_unavailable_and_the_log_goes_on(pool: Pool) -> None:
    log = PostgresLog(pool)
    game = Game("ox-1")
    async with pool.connection() as stuck:
        transaction = stuck.transaction()
        await transaction.start()
        await stuck.execute("SELECT 1 FROM log.head FOR UPDATE")
        with pytest.raises(LogUnavailable, match="did not answer"):
            await log.append([unit(game.twin().adds(1))])
        await transaction.rollback()
    assert statuses(await log.append([unit(game.adds(1))])) == ["appended"]


async def test_a_connection_lost_in_an_append_is_unavailable_and_the_next_append_gets_a_new_one(pool: Pool) -> None:
    log, game = PostgresLog(pool), Game("ox-1")
    await log.append([unit(game.adds(1))])
    async with pool.transaction() as holder:
        await holder.execute("SELECT 1 FROM log.head FOR UPDATE")
        appending = asyncio.create_task(log.append([unit(game.twin().adds(1))]))
        await waits(holder, "%log.append%")
        await holder.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%log.append%'"
        )
        with pytest.raises(LogUnavailable):
            await appending
    assert statuses(await log.append([unit(game.adds(1))])) == ["appended"]


async def test_connections_lost_while_nothing_goes_out_or_in_the_middle_of_it_are_replaced(pool: Pool) -> None:
    log = PostgresLog(pool)
    await log.append([unit(Game("ox-1").adds(1))])
    before = await log.outgoing(0, 10)
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE $1"
    await pool.fetch(ended, "%convert_to(concat%")
    while await pool.value(THERE, "%convert_to(concat%"):
        await asyncio.sleep(0.02)
    reader = log._reader._connection
    assert reader
    await wait_until(reader.is_closed, 60)  # this process has heard of it
    assert await log.outgoing(0, 10) == before
    async with pool.transaction() as holder:
        await holder.execute("LOCK log.event")
        reading = asyncio.create_task(log.outgoing(0, 10))
        await waits(holder, "%convert_to(concat%")
        await holder.fetch(ended, "%convert_to(concat%")
        with pytest.raises(LogUnavailable):
            await reading
    cancelled = asyncio.create_task(log.outgoing(0, 10))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.wait([cancelled])
    assert await log.outgoing(0, 10) == before


async def test_a_caller_that_is_cancelled_or_meets_the_end_leaves_no_connection_behind(
    pool: Pool, database_url: str
) -> None:
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

    async def interrupted(turns: int, *, cancel: bool) -> bool:
        """Cancel, or close the pool, after so many turns of the event loop; whether the statement had been answered."""
        own = await open_pool(database_url)
        asking = asyncio.create_task(own.reserve("SELECT 1").fetch("SELECT 1"))
        for _ in range(turns):
            await asyncio.sleep(0)
        if cancel:
            asking.cancel()
        await own.close()
        [result] = await asyncio.gather(asking, return_exceptions=True)
        assert isinstance(result, list | LogUnavailable | asyncio.CancelledError), result
        return isinstance(result, list)

    for cancel in (True, False):
        turns = 0
        while not await interrupted(turns, cancel=cancel):
            turns += 1 + turns // 8

    async def none_left() -> bool:
        return await pool.value(others) == 0

    await wait_until(none_left)


async def test_a_database_that_is_away_or_not_migrated_is_unavailable(empty_database_url: str) -> None:
    bare = await open_pool(empty_database_url)
    with pytest.raises(LogUnavailable, match="playmolt migrate"):
        await PostgresLog(bare).position()
    await bare.close()
    away = await open_pool("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(LogUnavailable):
        await PostgresLog(away).append([unit(Game("ox-1").adds(1))])
    assert not await away.answers()
    await away.close()


async def test_the_function_refuses_what_a_client_could_make_up(pool: Pool) -> None:
    """The checks hold for whoever may call the function, not only for this client."""
    log, game = PostgresLog(pool), Game("ox-1")
    await log.append([unit(game.adds(1))])
    forged = Game("ox-1")
    forged.version, forged.hash = 1, "ee" * 32
    assert await pool.value(APPEND, *batch_of([unit(forged.adds(1))])) == [0]
    batch = batch_of([unit(game.twin().adds(2)), unit(Game("ox-2").adds(1))])
    assert (batch.shards, batch.amounts) == ([0], [3])
    for shards, amounts in (([], []), ([0], [2]), ([0], [4]), ([0, 0], [3, 3]), ([1], [3]), ([0], [None])):
        with pytest.raises(asyncpg.PostgresError):
            await pool.value(APPEND, *batch._replace(shards=shards, amounts=amounts))  # type: ignore[arg-type]
    assert await pool.value(APPEND, *batch._replace(rows=[])) == [1], "a new stream without a row"
    assert await log.versions(["ox-1", "ox-2"]) == {"ox-1": 1}


async def test_what_records_follow_is_what_the_stream_says(pool: Pool) -> None:
    log, game = PostgresLog(pool), Game("ox-1")
    await log.append([unit(game.adds(1))])
    before = game.hash
    first, second = game.twin().records(2)
    await log.append([unit(game.adds(2))])
    records = (await log.load("ox-1", 1)).records  # type: ignore[union-attr]
    assert [(record.version, record.prev_hash) for record in records] == [(2, before), (3, records[0].hash)]
    assert (first.version, second.version) == (2, 3)


async def test_a_row_that_stands_behind_its_records_harms_nothing(pool: Pool) -> None:
    log, game = PostgresLog(pool), Game("ox-1")
    await log.append([unit(game.adds(1))])
    before = game.twin()
    assert statuses(await log.append([unit(msgspec.structs.replace(game.adds(2), moves=False))])) == ["appended"]
    assert await pool.value("SELECT version FROM log.stream") == 1
    assert statuses(await log.append([unit(before.twin().adds(1))])) == ["conflict"]
    assert statuses(await log.append([unit(before.adds(0))])) == ["conflict"]
    found = await log.facts("ox-1")
    assert found is not None
    assert (found.head.version, found.head.hash) == (3, game.hash)
    assert await log.versions(["ox-1"]) == {"ox-1": 3}
    assert [line.version for line in await log.games("ox", phase=None, before=None, limit=9)] == [3]
    assert statuses(await log.append([unit(game.adds(1, summary=OVER))])) == ["appended"]
    assert await pool.value("SELECT version FROM log.stream") == 4


async def test_of_two_who_extend_a_stream_at_once_one_is_in_conflict(pool: Pool) -> None:
    """Neither finds the other when it looks; the second waits for the counter of positions."""
    log, other, game = PostgresLog(pool), PostgresLog(pool), Game("ox-1")
    await log.append([unit(game.adds(1))])
    lean = [msgspec.structs.replace(game.twin().adds(1), moves=False) for _ in range(2)]
    async with pool.connection() as watcher, pool.transaction() as holder:
        await holder.execute("SELECT 1 FROM log.head FOR UPDATE")
        first = asyncio.create_task(log.append([unit(lean[0])]))
        await waits(watcher, "%log.append%")
        second = asyncio.create_task(other.append([unit(lean[1]), unit(Game("ox-2").adds(1))]))
        await waits(watcher, "%log.append%", 2)
    assert [statuses(await first), statuses(await second)] == [["appended"], ["conflict", "appended"]]
    assert await log.versions(["ox-1", "ox-2"]) == {"ox-1": 2, "ox-2": 1}


async def test_reads_use_an_index_whatever_the_size(pool: Pool) -> None:
    """A plan made on empty tables must not scan them for ever after."""
    log = PostgresLog(pool)
    games = [Game(f"ox-{number}") for number in range(300)]
    for _ in range(7):  # by then a connection has made the plan that it keeps
        assert await log.facts("ox-1", commands=True) is None
    for _ in range(5):
        await log.append([unit(game.adds(1), outcomes=[outcome(game.stream, game.version)]) for game in games])
    for game in games:
        stored = await log.facts(game.stream, commands=True)
        assert stored
        assert len(stored.command_ids) == len({*stored.command_ids}) == 5
    async with pool.connection() as connection:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        rows = await connection.fetch(
            "SELECT relname, seq_scan FROM pg_stat_user_tables WHERE schemaname = 'log'"
            " AND relname NOT IN ('head', 'archived', 'event_type')"
        )
    assert {row["relname"]: row["seq_scan"] for row in rows if row["seq_scan"]} == {}

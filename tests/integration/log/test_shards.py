"""A log of three shards (api.md, Shards): what each promises by itself, and what is the same with any number."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.migrate import migrate
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.db.projections import Board, PgProjections
from playmolt_core.log.batch import Batch, batch_of
from playmolt_core.log.copies import anchors
from playmolt_core.log.copies.anchor_places import anchor_place
from playmolt_core.log.copies.export import json_lines
from playmolt_core.log.copies.manifest import ManifestBuilder
from playmolt_core.log.erasing import SessionEraser, erased_heads
from playmolt_core.log.postgres import PostgresLog, log_of
from playmolt_core.log.reading import places
from playmolt_core.log.verify import Verification, verify
from playmolt_core.relay.checking import projection_breaks
from playmolt_core.relay.projector import Projector
from playmolt_core.settings import OtherShards, Settings
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import Record
from playmolt_schemas.shards import shard_of

from core.tests.log.log_contract import Game, Stored, all_stored, outcome, statuses, unit
from tests.integration.log.finished import ox_results
from tests.integration.log.sessions import store_key
from tests.integration.log.test_postgres import waits

SHARDS = 3
KEYS = """
SELECT i.indrelid::regclass::text, i.indexrelid::regclass::text, (
  SELECT array_agg(a.attname::text) FROM pg_attribute AS a
  WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
) AS columns
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
WHERE i.indisunique AND c.relnamespace = 'log'::regnamespace AND NOT c.relispartition
"""

KILLED = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE $1 AND wait_event_type = 'Lock'
"""


@pytest.fixture
async def pool(sharded_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(sharded_url, size=8)
    yield pool
    await pool.close()


@pytest.fixture
async def log(pool: Pool) -> PostgresLog:
    return await log_of(pool)


@pytest.fixture
async def plain(database_url: str) -> AsyncIterator[PostgresLog]:
    pool = await open_pool(database_url, size=8)
    yield await log_of(pool)
    await pool.close()


async def filled(log: PostgresLog, games: int = 9) -> list[Game]:
    """Games that go on in turns, each seated by the lobby; every third ends."""
    playing = [Game(f"ox-{number}") for number in range(games)]
    lobby = Game("lobby-ox")
    for game in playing:
        assert statuses(await log.append([unit(lobby.adds(1, summary=None), game.adds(1))])) == ["appended"]
    await log.append([unit(game.adds(2), outcomes=[outcome(game.stream, 1)]) for game in playing])
    for number, game in enumerate(playing[::3]):
        results = ox_results([f"agent-{number % 2}", "agent-9"])
        await log.append([unit(game.ends(data=canonical_json({"results": results})))])
    return playing


async def everything(log: PostgresLog) -> list[Stored]:
    return [each for shard in range(log.shards) for each in await all_stored(log, 0, 10_000, shard)]


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def execute(url: str, *statements: str) -> None:
    """As somebody does who may do everything, and goes round the triggers."""
    async with connected(url) as connection:
        await connection.execute("SET session_replication_role = replica")
        for statement in statements:
            await connection.execute(statement)


async def checked(log: PostgresLog) -> Verification:
    return await verify(log, {}, register=log.register)


async def test_a_stream_lies_whole_in_the_shard_of_its_name_and_positions_count_there(log: PostgresLog) -> None:
    await filled(log)
    assert log.shards == SHARDS
    for shard in range(SHARDS):
        found = await log.forward(0, 1_000, shard)
        assert [entry.record.position for entry in found] == list(range(1, len(found) + 1))
        assert {shard_of(entry.record.stream, SHARDS) for entry in found} == {shard}
        assert await log.position(shard) == len(found) > 0


async def test_the_view_reads_a_shard_and_a_game_with_or_without_its_shard(log: PostgresLog, pool: Pool) -> None:
    game = (await filled(log))[0]
    home = shard_of(game.stream, SHARDS)
    tail = "SELECT position FROM log.event WHERE shard = $1 AND position > 2 ORDER BY position"
    assert [row[0] for row in await pool.fetch(tail, home)] == list(range(3, await log.position(home) + 1))
    with_it = await pool.fetch(
        "SELECT * FROM log.event WHERE shard = $1 AND stream = $2 ORDER BY version", home, game.stream
    )
    without = await pool.fetch("SELECT * FROM log.event WHERE stream = $1 ORDER BY version", game.stream)
    assert [*map(tuple, with_it)] == [*map(tuple, without)]
    assert len(without) == game.version
    assert [row[0] for row in await pool.fetch("SELECT shard FROM log.head ORDER BY shard")] == [0, 1, 2]


async def test_every_key_of_the_log_has_the_shard(pool: Pool) -> None:
    keys = await pool.fetch(KEYS)
    assert {table for table, _, _ in keys} >= {"log.head", "log.stream", "log.record", "log.outcome", "log.archived"}
    assert {table for table, _, columns in keys if "shard" not in columns} == {"log.event_type"}


async def test_a_game_is_read_in_one_partition(log: PostgresLog, pool: Pool) -> None:
    game = (await filled(log))[0]
    home = shard_of(game.stream, SHARDS)
    plan = await pool.fetch(
        "EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT * FROM log.event WHERE shard = $1 AND stream = $2",
        home,
        game.stream,
    )
    scanned = [row[0] for row in plan if "on record_" in row[0] and "never executed" not in row[0]]
    assert scanned
    assert all(f"on record_{home}_" in line for line in scanned), plan


async def test_a_command_in_two_shards_is_stored_whole_or_not_at_all(log: PostgresLog) -> None:
    game, other = Game("ox-1"), Game("ox-3")
    assert shard_of(game.stream, SHARDS) != shard_of(other.stream, SHARDS)
    assert statuses(await log.append([unit(game.adds(2), other.adds(1))])) == ["appended"]
    late = other.twin()
    await log.append([unit(other.adds(1))])
    assert statuses(await log.append([unit(game.twin().adds(1), late.adds(1))])) == ["conflict"]
    assert await log.versions(["ox-1", "ox-3"]) == {"ox-1": 2, "ox-3": 2}
    assert (await checked(log)).breaks == []


async def test_a_join_that_is_killed_between_the_counters_of_two_shards_leaves_nothing(
    log: PostgresLog, pool: Pool, sharded_url: str
) -> None:
    lobby, game = Game("ox-1"), Game("ox-3")
    first, second = sorted(shard_of(one.stream, SHARDS) for one in (lobby, game))
    assert first != second
    async with connected(sharded_url) as watcher, connected(sharded_url) as holder, holder.transaction():
        await holder.execute("SELECT position FROM log.head WHERE shard = $1 FOR UPDATE", second)
        doomed = asyncio.create_task(log.append([unit(lobby.twin().adds(1), game.twin().adds(1))]))
        await waits(watcher, "%log.append%")
        with pytest.raises(asyncpg.LockNotAvailableError):  # it has counted in the first
            await watcher.execute("SELECT position FROM log.head WHERE shard = $1 FOR SHARE NOWAIT", first)
        assert await watcher.fetchval(KILLED, "%log.append%") == 1
        with pytest.raises(LogUnavailable):
            await doomed
    assert await log.versions([lobby.stream, game.stream]) == {}
    assert await places(log) == (0,) * SHARDS
    assert statuses(await (await log_of(pool)).append([unit(lobby.adds(1), game.adds(1))])) == ["appended"]
    assert sorted(await places(log)) == [0, 1, 1]
    assert (await checked(log)).breaks == []


async def test_writers_of_two_shards_each_in_any_order_do_not_lock_each_other_out(log: PostgresLog, pool: Pool) -> None:
    async def write(number: int) -> None:
        mine = await log_of(pool)
        for turn in range(20):
            pair = [Game(f"ox-{number}{turn}{place}") for place in "abc"]
            units = [unit(*(each.adds(1) for each in (pair if turn % 2 else reversed(pair))))]
            assert statuses(await mine.append(units)) == ["appended"]

    await asyncio.gather(*map(write, range(5)))
    assert len(await everything(log)) == 300
    assert (await checked(log)).breaks == []


async def test_the_same_commands_make_the_same_log_but_for_positions(log: PostgresLog, plain: PostgresLog) -> None:
    games = [Game(f"ox-{number}") for number in range(9)]
    units = [unit(game.adds(2), outcomes=[outcome(game.stream, 1)]) for game in games]
    for each in (log, plain):
        await each.append(units)

    def known(entries: list[Stored]) -> dict[tuple[str, int], Record]:
        return {
            (entry.record.stream, entry.record.version): msgspec.structs.replace(entry.record, position=0)
            for entry in entries
        }

    assert known(await everything(log)) == known(await everything(plain))


async def test_points_and_ratings_are_the_same_with_any_number_of_shards(
    log: PostgresLog, plain: PostgresLog, pool: Pool, database_url: str
) -> None:
    boards = []
    other = await open_pool(database_url)
    for each, where in ((log, pool), (plain, other)):
        await filled(each)
        projector = Projector(each, where)
        while await projector.step():
            pass
        assert projector.places == await places(each)
        assert await projection_breaks(where, each) == []
        projections = PgProjections(where)
        boards.append(
            [
                (await projections.leaderboard(Board("ox", by), 10))[0]
                for game in ("ox", "trial")
                for by in ("points", "rating")
            ]
        )
    await other.close()
    assert boards[0] == boards[1]
    assert boards[0][0]


async def test_a_projector_goes_on_where_another_stands(log: PostgresLog, pool: Pool) -> None:
    await filled(log)
    one, other = Projector(log, pool), Projector(log, pool)
    for _ in range(10):
        await asyncio.gather(one.step(), other.step())
    while await one.step() or await other.step():
        pass
    assert one.places == other.places == await places(log)
    assert await projection_breaks(pool, log) == []


async def test_verify_counts_each_shard(log: PostgresLog) -> None:
    await filled(log)
    found = await checked(log)
    assert found.breaks == []
    assert [(each.shard, each.head, each.events) for each in found.shards or ()] == [
        (shard, await log.position(shard), await log.position(shard)) for shard in range(SHARDS)
    ]
    assert sum(each.events for each in found.shards or ()) == found.events


async def test_of_one_shard_verify_names_none(plain: PostgresLog) -> None:
    await plain.append([unit(Game("ox-1").adds(1))])
    assert "shards" not in json.loads(msgspec.json.encode(await checked(plain)))


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (["UPDATE log.head SET position = position + 2 WHERE shard = 1"], "the log ends at position"),
        (["UPDATE log.head SET position = position - 2 WHERE shard = 1"], "but the log's counter is at"),
        (["DELETE FROM log.record WHERE shard = 1 AND position = 2"], "position 3 follows 1"),
    ],
    ids=["ahead", "behind", "hole"],
)
async def test_a_fault_of_a_shard_is_a_break_that_names_it(
    log: PostgresLog, sharded_url: str, statements: list[str], problem: str
) -> None:
    await filled(log)
    await execute(sharded_url, *statements)
    faults = [each for each in (await checked(log)).breaks if not each.stream]
    assert [each.shard for each in faults] == [1]
    assert problem in faults[0].problem


async def test_a_record_in_a_foreign_shard_is_a_break(log: PostgresLog, sharded_url: str) -> None:
    games = await filled(log)
    stray = next(game.stream for game in games if shard_of(game.stream, SHARDS) == 1)
    end = await log.position(0)
    number = f"(SELECT number FROM log.stream WHERE stream = '{stray}')"
    await execute(
        sharded_url,
        f"SELECT log.open_part(0::smallint, {number})",
        f"UPDATE log.record SET shard = 0, position = {end + 1} WHERE version = 1 AND number = {number}",
        f"UPDATE log.stream SET shard = 0 WHERE stream = '{stray}'",
        f"UPDATE log.head SET position = {end + 1} WHERE shard = 0",
    )
    faults = [each for each in (await checked(log)).breaks if not each.stream]
    assert [each.problem for each in faults if each.shard == 0] == [
        f"position {end + 1} is of {stray}, which belongs to shard 1"
    ]


async def exported(
    log: PostgresLog, *, shard: int | None = None, listing: ManifestBuilder | None = None
) -> list[Record]:
    whole = b"".join([piece async for piece in json_lines(log, running=True, shard=shard, listing=listing)])
    return [msgspec.json.decode(line, type=Record) for line in whole.splitlines()]


async def test_an_export_takes_the_smallest_next_record_of_all_shards(log: PostgresLog) -> None:
    await filled(log, games=30)
    listing = ManifestBuilder(SHARDS)
    records = await exported(log, listing=listing)
    left = [[entry.record for entry in await log.forward(0, 1_000, shard)] for shard in range(SHARDS)]
    for record in records:
        heads = [(rows[0].at, shard) for shard, rows in enumerate(left) if rows]
        assert record == left[min(heads)[1]].pop(0)
    assert not any(left)
    assert records == await exported(log)
    manifest = listing.finish()
    assert (manifest.shards, manifest.heads) == (SHARDS, list(await places(log)))
    assert (manifest.head, manifest.records) == (sum(await places(log)), len(records))


async def test_an_export_of_one_shard_has_its_records_alone(log: PostgresLog) -> None:
    await filled(log)
    for shard in range(SHARDS):
        assert [record.position for record in await exported(log, shard=shard)] == list(
            range(1, await log.position(shard) + 1)
        )


async def test_what_is_archived_leaves_a_hole_in_its_shard_alone(log: PostgresLog, pool: Pool) -> None:
    games = await filled(log)
    ended = games[0]
    home = shard_of(ended.stream, SHARDS)
    told = json.dumps([{"stream": ended.stream, "version": ended.version, "hash": ended.hash}])
    await pool.value("SELECT log.prune($1, 'a file', $2)", told, bytes(32))
    assert [await log.archived_to(shard) > 0 for shard in range(SHARDS)] == [shard == home for shard in range(SHARDS)]
    assert (await checked(log)).breaks == []
    assert (await verify(log, {})).breaks, "without the register there is a hole"
    others = [shard for shard in range(SHARDS) if shard != home]
    assert all([len(await log.forward(0, 1_000, shard)) == await log.position(shard) for shard in others])
    results = [entry.record.stream for shard in range(SHARDS) for entry in await log.results(0, 99, shard)]
    assert ended.stream in results


async def test_a_session_is_erased_in_its_shard_and_told_in_that_of_erasures(log: PostgresLog, pool: Pool) -> None:
    session = Game("legal-1")
    await store_key(pool, "legal-1")
    await log.append([unit(session.adds(3))])
    eraser = SessionEraser(pool)
    assert await eraser.erase("legal-1", "operator")
    ends = await places(log)
    assert (await erased_heads(pool, ends)).ends == {"legal-1": (3, session.hash)}
    found = await verify(log, {}, register=log.register, erased=await erased_heads(pool, ends))
    assert (found.breaks, found.erased) == ([], 1)


async def test_anchors_hold_a_place_in_each_shard(
    log: PostgresLog, pool: Pool, sharded_url: str, tmp_path: Path
) -> None:
    games = await filled(log)
    place, key = anchor_place(tmp_path / "anchors.jsonl", Settings()), anchors.signing_key(tmp_path / "key.pem")
    heads = anchors.PostgresHeads(pool)
    said = await anchors.append(heads, place, key, "2026-01-02T12:00:00.000000Z")
    assert (said.places, said.position) == (await places(log), sum(await places(log)))
    await log.append([unit(games[1].adds(1))])
    said = await anchors.append(heads, place, key, "2026-01-02T12:00:01.000000Z")
    assert [head.stream for head in said.heads] == [games[1].stream]
    assert await anchors.compare(heads, place) == []
    await execute(
        sharded_url, f"UPDATE log.head SET position = position - 1 WHERE shard = {shard_of(games[1].stream, SHARDS)}"
    )
    assert [each.problem.split(" ")[:3] for each in await anchors.compare(heads, place)] == [["the", "log", "ends"]]


async def test_the_count_is_fixed_when_the_log_is_made(empty_database_url: str) -> None:
    await migrate(empty_database_url, shards=4)
    await migrate(empty_database_url)
    await migrate(empty_database_url, shards=4)
    with pytest.raises(OtherShards, match="PLAYMOLT_LOG_SHARDS is 2, and this log was made with 4"):
        await migrate(empty_database_url, shards=2)
    pool = await open_pool(empty_database_url)
    assert (await log_of(pool)).shards == 4
    await pool.close()


async def test_records_of_a_shard_that_is_not_named_are_never_dropped(pool: Pool, log: PostgresLog) -> None:
    """`log.append` numbers the records of the shards that it is given; a caller that leaves one out is refused."""
    games = [Game(f"ox-{number}") for number in range(6)]
    assert {shard_of(game.stream, SHARDS) for game in games} == set(range(SHARDS))
    await log.append([unit(game.adds(1)) for game in games])
    before = [await log.position(shard) for shard in range(SHARDS)]
    for added in ([unit(games[0].twin().adds(2))], [unit(game.twin().adds(2)) for game in games]):
        batch = batch_of(added, SHARDS)
        for left in range(len(batch.shards)):
            short = batch._replace(shards=batch.shards[:left], amounts=batch.amounts[:left])
            with pytest.raises(asyncpg.NotNullViolationError, match="records of a shard that is not in p_shards"):
                await _appended(pool, short)
    assert [await log.position(shard) for shard in range(SHARDS)] == before
    results = await log.append([unit(game.adds(2)) for game in games])
    ends = dict(enumerate(before))
    for game, firsts in zip(games, results, strict=True):
        shard = shard_of(game.stream, SHARDS)
        assert firsts == (ends[shard] + 1,)
        ends[shard] += 2


async def _appended(pool: Pool, batch: Batch) -> Any:
    return await pool.value("SELECT log.append($1, $2, $3, $4, $5, $6)", *batch)

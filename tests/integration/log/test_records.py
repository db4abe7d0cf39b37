"""Records lie in the database without what follows from the rest of them, in tables that go when all is archived."""

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log import archive as archiving
from playmolt_core.log.chain import chain_record
from playmolt_core.log.port import NewRecord, StreamAppend
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import verify
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.records import ZERO_HASH, Metadata

from core.tests.log.log_contract import NOON, Game, statuses, unit

AGENT = "agent-7f0c2c1e-58f4-4f0e-9a51-0d6f3a1b2c3d"
OTHER = "agent-00000000-0000-0000-0000-000000000000"
COMMAND = "0123456789abcdef0123456789abcdef"
WINDOW = 65_536
numbers = count(1)
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=20)
members = st.dictionaries(
    st.sampled_from(["agent_id", "choice", "name", "round", "a b", "x'y"]), texts | st.integers(0, 9) | st.none()
)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url)
    yield pool
    await pool.close()


def record(
    stream: str,
    version: int,
    prev_hash: str,
    data: bytes,
    metadata: Metadata,
) -> NewRecord:
    return chain_record(stream, version, prev_hash, NOON, "moved", 1, data, metadata, closes=False)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=members, agent=st.sampled_from(["", AGENT, OTHER, "host"]),
    command=st.sampled_from([COMMAND, "another form"]), cause=st.sampled_from(["", COMMAND]),
    trace=st.sampled_from(["", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]),
    request=st.sampled_from([None, COMMAND]), hashed=st.sampled_from([None, "f" * 64, "none"]),
)  # fmt: skip
async def test_a_record_is_read_as_it_was_hashed(
    pool: Pool, data: dict[str, object], agent: str, command: str, cause: str, trace: str, request: str | None,
    hashed: str | None,
) -> None:  # fmt: skip
    stream = f"ox-{next(numbers)}"
    metadata = Metadata(
        command_id=command, correlation=command, causation=cause or command, actor=agent, trace=trace,
        request=request or msgspec.UNSET, state_hash=hashed or msgspec.UNSET,
    )  # fmt: skip
    first = record(stream, 1, ZERO_HASH, canonical_json(data), metadata)
    second = record(stream, 2, first.hash, canonical_json(data), metadata)
    log = PostgresLog(pool)
    part = StreamAppend(stream=stream, expected=0, prev_hash=ZERO_HASH, records=[first, second])
    assert statuses(await log.append([unit(part)])) == ["appended"]
    found = await log.load(stream)
    assert found is not None
    assert [
        (one.version, bytes(one.data), bytes(one.metadata), one.at, one.salt, one.prev_hash, one.hash)
        for one in found.records
    ] == [
        (one.version, one.data, one.metadata, rfc3339(one.at), one.salt, one.prev_hash, one.hash)
        for one in (first, second)
    ]
    assert (await verify(log, {})).breaks == []


async def tables(pool: Pool) -> list[str]:
    rows = await pool.fetch("SELECT DISTINCT tableoid::regclass::text FROM log.record ORDER BY 1")
    return [name for (name,) in rows]


async def test_tables_open_by_themselves_and_are_read_as_one(pool: Pool) -> None:
    log = PostgresLog(pool)
    await log.append([unit(Game("ox-1").adds(3)), unit(Game("legal-1").adds(1)), unit(Game("lobby-ox").adds(1))])
    await pool.value("SELECT setval('log.stream_number', $1)", 2 * WINDOW)
    late = Game("ox-2")
    await log.append([unit(late.adds(2)), unit(Game("trial-1").adds(1))])
    assert statuses(await log.append([unit(late.adds(1))])) == ["appended"]
    assert await tables(pool) == [
        "log.record_0_game_0",
        "log.record_0_game_2",
        "log.record_0_session_0",
        "log.record_0_standing_0",
    ]
    assert [one.position for one in await log.outgoing(0, 20)] == list(range(1, 10))
    for statement in ("TRUNCATE log.record_0_game_2", "DELETE FROM log.record_0_game_2"):
        with pytest.raises(asyncpg.FeatureNotSupportedError, match="append-only"):
            await pool.fetch(statement)


async def test_a_table_is_dropped_once_all_of_it_was_archived(database_url: str, pool: Pool, tmp_path: Path) -> None:
    log, games = PostgresLog(pool), [Game("ox-1"), Game("trial-2")]
    running = Game("legal-1")
    await log.append([unit(game.adds(4)) for game in games] + [unit(running.adds(2))])
    await log.append([unit(game.ends(data=canonical_json({"results": []}))) for game in games])
    before = await verify(log, {}, register=log.register)
    owner = await asyncpg.connect(database_url)
    try:
        for number, game in enumerate(games):
            ended = [archiving.FinishedStream(game.stream, game.version, game.hash)]
            await archiving.archive(owner, log, ended, tmp_path)
            async with pool.transaction() as reader:
                await reader.fetch("SELECT FROM log.event LIMIT 1")
                if number == 1:
                    assert await archiving.drop_parts(owner) == [], "somebody reads it"
            assert await archiving.drop_parts(owner) == [[], ["record_0_game_0"]][number]
    finally:
        await owner.close()
    after = await verify(log, {}, register=log.register)
    assert after.breaks == before.breaks == []
    assert await tables(pool) == ["log.record_0_kept_0", "log.record_0_session_0"]
    assert statuses(await log.append([unit(running.adds(1)), unit(Game("ox-3").adds(1))])) == ["appended", "appended"]
    assert [one.record.stream for one in await log.results(0, 9)] == ["ox-1", "trial-2"]

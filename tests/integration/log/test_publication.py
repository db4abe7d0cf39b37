"""Change data capture: a Postgres that subscribes to the log holds the same log, whatever lies beneath log.event."""

import asyncio
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from playmolt_cli.local.embedded import Postgres, binaries
from playmolt_core.db.migrate import migrate
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import PostgresLog

from core.tests.log.log_contract import Game, statuses, unit
from tests.platforms import EMPTY, copied_cluster

PAGE = (Path(__file__).parents[3] / "docs" / "event-log.md").read_text("utf-8")
PUBLICATION = re.findall(r"```sql\n(CREATE PUBLICATION .*?)```", PAGE, re.DOTALL)
SECONDS = 60
EVENTS = "SELECT * FROM log.event ORDER BY position"


@pytest.fixture
def publisher(folder: Path) -> Iterator[Postgres]:
    with Postgres(copied_cluster(folder / "publisher", EMPTY)) as server:
        yield server


@pytest.fixture
def subscriber(folder: Path) -> Iterator[Postgres]:
    with Postgres(copied_cluster(folder / "subscriber", EMPTY)) as server:
        yield server


async def run(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def rows(url: str) -> list[tuple[object, ...]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(EVENTS)]
    finally:
        await connection.close()


def _program(name: str) -> Path:
    return binaries.postgres_bin(None) / name


async def test_a_subscriber_holds_the_same_log(publisher: Postgres, subscriber: Postgres) -> None:
    await run(publisher.url, "ALTER SYSTEM SET wal_level = logical")
    await asyncio.to_thread(publisher.restart)
    await migrate(publisher.url)
    (publication,) = PUBLICATION
    await run(publisher.url, publication)
    pool = await open_pool(publisher.url)
    log, game = PostgresLog(pool), Game("ox-1")
    assert statuses(await log.append([unit(game.adds(3))])) == ["appended"]

    # Roles belong to a server and are in no dump of a database.
    for role in re.findall(r"playmolt_\w+", await _roles(publisher.url)):
        await run(subscriber.url, f"CREATE ROLE {role}")
    schema = await asyncio.to_thread(
        subprocess.run, [_program("pg_dump"), "--schema-only", "--no-publications", publisher.url],
        check=True, capture_output=True, encoding="utf-8", timeout=60,
    )  # fmt: skip
    await asyncio.to_thread(
        subprocess.run, [_program("psql"), "--quiet", "--set", "ON_ERROR_STOP=1", subscriber.url],
        input=schema.stdout, check=True, capture_output=True, encoding="utf-8", timeout=60,
    )  # fmt: skip
    await run(subscriber.url, f"CREATE SUBSCRIPTION playmolt_log CONNECTION '{publisher.url}' PUBLICATION playmolt_log")
    assert statuses(await log.append([unit(game.adds(2))])) == ["appended"]

    until = time.monotonic() + SECONDS
    while len(await rows(subscriber.url)) < 5:
        assert time.monotonic() < until
        await asyncio.sleep(0.05)
    assert await rows(subscriber.url) == await rows(publisher.url)
    copy = await open_pool(subscriber.url)
    assert [one.record for one in await PostgresLog(copy).outgoing(0, 10)] == [
        one.record for one in await log.outgoing(0, 10)
    ]
    await copy.close()
    await pool.close()
    await run(subscriber.url, "DROP SUBSCRIPTION playmolt_log")


async def _roles(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        return str(await connection.fetchval("SELECT string_agg(rolname, ' ') FROM pg_roles"))
    finally:
        await connection.close()


async def test_every_table_of_the_log_is_in_it(database_url: str) -> None:
    (publication,) = PUBLICATION
    connection = await asyncpg.connect(database_url)
    tables = await connection.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = 'log'::regnamespace AND relkind IN ('r', 'p')"
        " AND NOT relispartition"
    )
    await connection.close()
    assert {row["relname"] for row in tables} == set(re.findall(r"log\.(\w+)", publication.split("WITH")[0]))
    assert "publish_via_partition_root = true" in publication

"""Change data capture: a Postgres that subscribes to the log holds the same log, whatever lies beneath log.event."""

import asyncio
import json
import os
import re
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
from playmolt_cli.local.embedded import Postgres, binaries
from playmolt_core.db.migrate import migrate
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import PostgresLog

from core.tests.log.log_contract import Game, statuses, unit
from core.tests.waiting import wait_until
from tests.platforms import EMPTY, copied_cluster, playmolt

PAGE = (Path(__file__).parents[3] / "docs" / "event-log.md").read_text("utf-8")
PUBLICATION = re.findall(r"```sql\n(CREATE PUBLICATION .*?)```", PAGE, re.DOTALL)
SECONDS = 120
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
    await subscribed(publisher, subscriber)
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
    done = await asyncio.to_thread(
        playmolt, "log", "verify", "--json", environment={**os.environ, "DATABASE_URL": subscriber.url}
    )
    assert done.stdout, done.stderr
    assert [each["problem"] for each in json.loads(done.stdout)["breaks"] if not each["stream"]] == []
    await run(subscriber.url, "DROP SUBSCRIPTION playmolt_log")


async def test_a_subscriber_without_a_partition_is_shown_which_one(publisher: Postgres, subscriber: Postgres) -> None:
    await run(publisher.url, "ALTER SYSTEM SET wal_level = logical")
    await asyncio.to_thread(publisher.restart)
    await migrate(publisher.url)
    await run(publisher.url, *PUBLICATION)
    pool = await open_pool(publisher.url)
    log = PostgresLog(pool)
    for game in ("ox-1", "agora-1"):
        assert statuses(await log.append([unit(Game(game).adds(3))])) == ["appended"]
    await pool.close()
    copied = await subscribed(publisher, subscriber, lacks="log.record_0_game_0")
    await wait_until(copied, SECONDS)
    done = await asyncio.to_thread(
        playmolt, "log", "verify", "--json", environment={**os.environ, "DATABASE_URL": subscriber.url}
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    problems = [each["problem"] for each in found["breaks"] if not each["stream"]]
    assert [problem.partition(" is missing")[0] for problem in problems] == ["the partition log.record_0_game_0"]
    assert "position 0" not in done.stdout
    await run(subscriber.url, "ALTER SUBSCRIPTION playmolt_log DISABLE")
    await run(subscriber.url, "ALTER SUBSCRIPTION playmolt_log SET (slot_name = NONE)")
    await run(subscriber.url, "DROP SUBSCRIPTION playmolt_log")


async def subscribed(publisher: Postgres, subscriber: Postgres, lacks: str = "") -> Callable[[], Awaitable[bool]]:
    """Have one follow the other, as the page says. Gives whether it knows of streams."""
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
    if lacks:
        await run(subscriber.url, f"DROP TABLE {lacks}")
    await run(subscriber.url, f"CREATE SUBSCRIPTION playmolt_log CONNECTION '{publisher.url}' PUBLICATION playmolt_log")

    async def copied() -> bool:
        """Whether every table but the records has been copied."""
        connection = await asyncpg.connect(subscriber.url)
        try:
            waiting = await connection.fetchval(
                "SELECT count(*) FROM pg_subscription_rel"
                " WHERE srsubstate <> 'r' AND srrelid::regclass::text <> 'log.record'"
            )
        finally:
            await connection.close()
        return not waiting

    return copied


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

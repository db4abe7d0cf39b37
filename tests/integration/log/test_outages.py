"""Outages in Postgres, in an engine's role, under the contract of their twin."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import asyncpg
import pytest
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.effects.outages import Outages
from playmolt_core.effects.postgres import PgOutages

from core.tests.effects.outages_contract import SILENCE, Now, OutagesContract, Sleep


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_engine", size=8)
    yield pool
    await pool.close()


class TestPgOutages(OutagesContract):
    @pytest.fixture
    def outages(self, pool: Pool) -> Outages:
        return PgOutages(pool, SILENCE)

    @pytest.fixture
    def now(self) -> Now:
        return lambda: datetime.now(UTC)

    @pytest.fixture
    def sleep(self) -> Sleep:
        return asyncio.sleep


async def test_of_many_engines_one_tells_an_outage(pool: Pool) -> None:
    outages = PgOutages(pool, 0.2)
    await outages.beat("ox")
    since = datetime.now(UTC)
    await asyncio.sleep(0.5)
    await asyncio.gather(*(PgOutages(pool, 0.2).beat("ox") for _ in range(8)))
    lost = await PgOutages(pool, 60).lost("ox", since)
    assert lost is not None
    assert 0 < lost < (datetime.now(UTC) - since).total_seconds()


@pytest.mark.parametrize("table", ["lease.heartbeat", "lease.outage"])
async def test_an_engine_reaches_the_tables_through_their_functions_only(pool: Pool, table: str) -> None:
    for statement in (f"SELECT 1 FROM {table}", f"DELETE FROM {table}", f"TRUNCATE {table}"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await pool.value(statement)

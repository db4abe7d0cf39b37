"""Limits of models and leases on effects in Postgres, in the engines' role, under the contracts of the twins."""

import asyncio
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.ledger import Ledger, PgLedger
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.effects.leases import Leases
from playmolt_core.effects.postgres import PgLeases
from playmolt_core.llm.batch_calls import BatchCalls
from playmolt_core.llm.limits import Allowance, ModelLimits
from playmolt_core.llm.postgres_limits import PgModelLimits

from core.tests.effects.leases_contract import LeasesContract
from core.tests.llm.batch_calls_contract import BatchCallsContract
from core.tests.llm.limits_contract import LEASE, WINDOW, LearningContract, LimitsContract, Sleep


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_engine", size=8)
    yield pool
    await pool.close()


@pytest.fixture
def sleep() -> Sleep:
    """The database has a clock of its own."""
    return asyncio.sleep


class TestPgModelLimits(LimitsContract, LearningContract):
    @pytest.fixture
    def limits(self, pool: Pool) -> ModelLimits:
        return PgModelLimits(pool, window_seconds=WINDOW, lease_seconds=LEASE)

    @pytest.fixture
    def another(self, pool: Pool) -> Callable[[], ModelLimits]:
        return lambda: PgModelLimits(pool, window_seconds=WINDOW, lease_seconds=LEASE)


class TestPgBatchCalls(BatchCallsContract):
    @pytest.fixture
    def calls(self, pool: Pool) -> BatchCalls:
        return BatchCalls(pool)

    @pytest.fixture
    def ledger(self, pool: Pool) -> Ledger:
        return PgLedger(pool)


class TestPgLeases(LeasesContract):
    @pytest.fixture
    def leases(self, pool: Pool) -> Leases:
        return PgLeases(pool)

    @pytest.fixture
    def another(self, pool: Pool) -> Callable[[], Leases]:
        return lambda: PgLeases(pool)


async def test_calls_that_are_over_are_forgotten(database_url: str, pool: Pool) -> None:
    limits = PgModelLimits(pool, window_seconds=0.1, lease_seconds=0.1)
    for _ in range(5):
        await limits.admit("m", Allowance(concurrent=9), 1)
        await asyncio.sleep(0.12)
    connection = await asyncpg.connect(database_url)
    assert await connection.fetchval("SELECT count(*) FROM limits.model_call") == 1
    await connection.close()


@pytest.mark.parametrize("table", ["limits.model_call", "limits.provider", "lease.effect"])
async def test_an_engine_reaches_the_tables_through_their_functions_only(pool: Pool, table: str) -> None:
    for statement in (f"SELECT 1 FROM {table}", f"DELETE FROM {table}", f"TRUNCATE {table}"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await pool.value(statement)


async def test_a_database_that_is_away_is_unavailable() -> None:
    pool = await open_pool("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(LogUnavailable):
        await PgLeases(pool).take("effect", "a", 1)
    with pytest.raises(LogUnavailable):
        await PgModelLimits(pool).admit("m", Allowance(concurrent=1), 1)
    await pool.close()

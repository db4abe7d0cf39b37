"""The in-memory twin, under the contract that Postgres passes, too."""

import asyncio
from collections.abc import Callable

import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.effects.leases import Lease, LeaseLost, Leases, MemoryLeases, holding

from core.tests.clock import Clock
from core.tests.effects.leases_contract import LeasesContract, Sleep


class TestMemoryLeases(LeasesContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def leases(self, clock: Clock) -> Leases:
        return MemoryLeases(clock)

    @pytest.fixture
    def sleep(self, clock: Clock) -> Sleep:
        return clock.sleep

    @pytest.fixture
    def another(self, leases: Leases) -> Callable[[], Leases]:
        return lambda: leases


class AwayLeases(MemoryLeases):
    """The twin while the database is away."""

    async def extend(self, lease: Lease, seconds: float) -> bool:
        raise LogUnavailable("away")


async def test_work_stops_when_the_database_is_away_for_a_whole_lease() -> None:
    leases = AwayLeases()
    lease = await leases.take("effect", "a", 0.2)
    assert lease is not None
    with pytest.raises(LeaseLost):
        async with holding(leases, lease, 0.2):
            await asyncio.sleep(5)

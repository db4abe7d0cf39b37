"""The in-memory twin, under the contract that Postgres passes, too."""

from collections.abc import Callable

import pytest
from playmolt_core.llm.limits import MemoryLimits, ModelLimits

from core.tests.clock import Clock
from core.tests.llm.limits_contract import LEASE, WINDOW, LearningContract, LimitsContract, Sleep


class TestMemoryLimits(LimitsContract, LearningContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def limits(self, clock: Clock) -> ModelLimits:
        return MemoryLimits(window_seconds=WINDOW, lease_seconds=LEASE, clock=clock)

    @pytest.fixture
    def sleep(self, clock: Clock) -> Sleep:
        return clock.sleep

    @pytest.fixture
    def another(self, limits: ModelLimits) -> Callable[[], ModelLimits]:
        return lambda: limits

"""The in-memory twin, under the contract that Postgres passes, too."""

from collections.abc import Callable

import pytest
from playmolt_core.llm.limits import MemoryLimits, ModelLimits

from core.tests.llm.limits_contract import LEASE, WINDOW, LimitsContract


class TestMemoryLimits(LimitsContract):
    @pytest.fixture
    def limits(self) -> ModelLimits:
        return MemoryLimits(window_seconds=WINDOW, lease_seconds=LEASE)

    @pytest.fixture
    def another(self, limits: ModelLimits) -> Callable[[], ModelLimits]:
        return lambda: limits

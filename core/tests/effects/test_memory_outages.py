"""The in-memory twin, under the contract that Postgres passes, too."""

import time
from datetime import UTC, datetime

import pytest
from playmolt_core.effects.outages import MemoryOutages, Outages

from core.tests.clock import Clock
from core.tests.effects.outages_contract import SILENCE, Now, OutagesContract, Sleep


class TestMemoryOutages(OutagesContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def now(self, clock: Clock) -> Now:
        offset = time.time() - time.monotonic()
        return lambda: datetime.fromtimestamp(clock() + offset, UTC)

    @pytest.fixture
    def outages(self, now: Now) -> Outages:
        return MemoryOutages(lambda: now().timestamp(), SILENCE)

    @pytest.fixture
    def sleep(self, clock: Clock) -> Sleep:
        return clock.sleep

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playmolt_spectator.timeouts import Timeouts

sys.path.insert(0, str(Path(__file__).parent))

from spectator_fakes import FakeBus
from spectator_loopback import Spectator, running


@pytest.fixture
def bus() -> FakeBus:
    return FakeBus()


@pytest.fixture
def timeouts() -> Timeouts:
    return Timeouts(retry_first=0.01, retry_last=0.05, connect=0.5, drain=1)


@pytest.fixture
async def spectator(bus: FakeBus, timeouts: Timeouts) -> AsyncIterator[Spectator]:
    async with running(bus, timeouts) as spectator:
        yield spectator

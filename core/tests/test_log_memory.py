from collections.abc import Callable

import pytest
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.port import EventLog

from core.tests.log_contract import LogContract


class TestMemoryLog(LogContract):
    @pytest.fixture
    def log(self) -> EventLog:
        return MemoryLog()

    @pytest.fixture
    def another(self, log: EventLog) -> Callable[[], EventLog]:
        return lambda: log

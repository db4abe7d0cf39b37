from collections.abc import Awaitable, Callable

import pytest
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.port import EventLog

from core.tests.log.log_contract import Game, LogContract


class TestMemoryLog(LogContract):
    @pytest.fixture
    def log(self) -> EventLog:
        return MemoryLog()

    @pytest.fixture
    def another(self, log: EventLog) -> Callable[[], EventLog]:
        return lambda: log

    @pytest.fixture
    def archive(self, log: EventLog) -> Callable[[Game], Awaitable[None]]:
        async def take_out(game: Game) -> None:
            assert isinstance(log, MemoryLog)
            log.archive(game.stream)

        return take_out

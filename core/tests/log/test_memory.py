import copy
from collections.abc import Awaitable, Callable, Iterable, Sequence

import pytest
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.port import EventLog
from playmolt_core.log.sealing import Codec
from playmolt_core.vault.rows import KeyRow
from playmolt_core.vault.vault import KeyRows

from core.tests.log.log_contract import Game, LogContract, SealedLogContract


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


class MemoryKeyRows:
    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    async def read(self, streams: Iterable[str]) -> Sequence[KeyRow]:
        return [self._log.keys[stream] for stream in streams if stream in self._log.keys]


class TestSealedMemoryLog(SealedLogContract):
    @pytest.fixture
    def log(self) -> MemoryLog:
        return MemoryLog()

    @pytest.fixture
    def rows(self, log: MemoryLog) -> KeyRows:
        return MemoryKeyRows(log)

    @pytest.fixture
    def client(self, log: MemoryLog) -> Callable[[Codec], EventLog]:
        def client(codec: Codec) -> EventLog:
            same = copy.copy(log)
            same.codec = codec
            return same

        return client

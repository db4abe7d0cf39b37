"""Reading the whole log forward: what is worked on, what is read meanwhile, and what is left of it."""

import asyncio
from collections.abc import Sequence

import pytest
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.port import LogEntry
from playmolt_core.log.reading import chunks_of
from typing_extensions import override

from core.tests.log.log_contract import Game, unit


class Watched(MemoryLog):
    """Tells what was asked for, and what came."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[int, int]] = []
        self.given = 0

    @override
    async def forward(self, after: int, limit: int, shard: int = 0) -> Sequence[LogEntry]:
        self.asked.append((after, limit))
        await asyncio.sleep(0.01)
        self.given += 1
        return await super().forward(after, limit, shard)


@pytest.fixture
async def log() -> Watched:
    log = Watched()
    await log.append([unit(Game("ox-1").adds(7))])
    return log


async def test_the_next_chunk_is_asked_for_before_one_is_worked_on(log: Watched) -> None:
    asked, positions = [], []
    async for chunk in chunks_of(log, 0, size=3):
        asked.append([*log.asked])
        positions += [entry.record.position for entry in chunk]
    assert asked == [[(0, 3), (3, 3)], [(0, 3), (3, 3), (6, 1)], [(0, 3), (3, 3), (6, 1)]]
    assert positions == [1, 2, 3, 4, 5, 6, 7]


async def test_a_reading_that_is_broken_off_waits_for_what_it_asked_for(log: Watched) -> None:
    reading = chunks_of(log, 0, size=3)
    assert await anext(reading)
    await reading.aclose()  # type: ignore[attr-defined]  # an asynchronous generator
    assert log.given == len(log.asked) == 2

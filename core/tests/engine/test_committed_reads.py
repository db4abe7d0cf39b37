"""Reads of what is committed: nothing is said of a caller that has gone."""

import asyncio
import gc
from collections.abc import Collection
from typing import Any, cast

import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.log.port import Present, StreamReader


class Away:
    """A log that does not answer, once it has been asked for long enough."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.over = asyncio.Event()

    async def present(self, streams: Collection[str]) -> Present:
        self.asked.set()
        await self.over.wait()
        raise LogUnavailable("the log is away")


async def test_a_log_that_is_away_is_not_news_for_a_caller_that_has_gone() -> None:
    heard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))
    away = Away()
    fresh = CommittedReads(cast(StreamReader, away), cast(Any, None))
    reading = asyncio.create_task(fresh.run())
    gone, stays = (asyncio.create_task(fresh.snapshot(stream)) for stream in ("ox-1", "ox-2"))
    await away.asked.wait()
    gone.cancel()
    await asyncio.sleep(0)
    away.over.set()
    with pytest.raises(LogUnavailable):
        await stays
    reading.cancel()
    del gone, stays, reading, fresh
    await asyncio.sleep(0)
    gc.collect()
    assert heard == []

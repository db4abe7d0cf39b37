"""Reading the log from a command."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import PostgresLog

from playmolt_cli.database import database

T = TypeVar("T")


def with_log(data: Path | None, work: Callable[[PostgresLog], Awaitable[T]]) -> T:
    """Run `work` on the log that `database` finds; raises as it does, and LogUnavailable."""

    async def run(url: str) -> T:
        pool = await open_pool(url)
        try:
            return await work(PostgresLog(pool))
        finally:
            await pool.close()

    with database(data) as url:
        return asyncio.run(run(url))

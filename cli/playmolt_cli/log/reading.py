"""Reading the log from a command, or records out of files."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.copies.files import NoRecords, records_as
from playmolt_core.log.copies.verifying import verify_copies
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import Verification
from playmolt_schemas.records import Record

from playmolt_cli.games import deciders
from playmolt_cli.local.database import database
from playmolt_cli.terminal.failures import Failure

T = TypeVar("T")
R = TypeVar("R", bound=Record)


def with_log(data: Path | None, work: Callable[[PostgresLog], Awaitable[T]]) -> T:
    """Run `work` on the log that `database` finds; raises as it does, and LogUnavailable."""
    return with_database(data, lambda event_log, _: work(event_log))


def with_database(data: Path | None, work: Callable[[PostgresLog, Pool], Awaitable[T]]) -> T:
    """Run `work` on that log and its database."""

    async def run(url: str) -> T:
        pool = await open_pool(url)
        try:
            return await work(PostgresLog(pool), pool)
        finally:
            await pool.close()

    with database(data) as url:
        return asyncio.run(run(url))


def records_of(files: Iterable[Path]) -> Iterator[Record]:
    """The records of files, one after another; raises Failure where one is unreadable."""
    return records_of_kind(files, Record)


def records_of_kind(files: Iterable[Path], kind: type[R]) -> Iterator[R]:
    """As `records_of`, of a kind of record that has further fields."""
    try:
        for path in files:
            yield from records_as(path, kind)
    except NoRecords as error:
        raise Failure(str(error)) from error


def verified_files(files: Iterable[Path]) -> Verification:
    """Verify copies of the log; raises Failure where one holds no record."""
    try:
        return verify_copies(files, deciders())
    except NoRecords as error:
        raise Failure(str(error)) from error

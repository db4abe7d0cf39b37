"""What a game of O/X leaves: bytes in tables and indexes beside those of its events' data, and rows a command."""

import asyncio
from pathlib import Path
from typing import NamedTuple

import psycopg
from playmolt.bots import run_house_bots

from bench.servers import database_url, folder, product

GAMES = 200
AT_ONCE = 8
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
"""
_WRITTEN = """
SELECT coalesce(sum(n_tup_ins + n_tup_upd), 0)::bigint FROM pg_stat_user_tables
WHERE schemaname = 'log' AND relname <> 'head'
"""
_DATA = """
SELECT coalesce(sum(octet_length(data::text)), 0)::bigint, count(DISTINCT metadata ->> 'command_id') FROM log.event
"""


class _Counted(NamedTuple):
    size: int
    written: int
    data: int
    commands: int


def _counted(url: str) -> _Counted:
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("SELECT pg_stat_force_next_flush()")
        (size,), (written,), (data, commands) = (
            database.execute(query).fetchone() or (0, 0) for query in (_SIZE, _WRITTEN, _DATA)
        )
    return _Counted(size, written, data, commands)


async def _play(port: int, games: int) -> None:
    free = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with free:
            await run_house_bots(f"http://127.0.0.1:{port}", "ox", 5)

    await asyncio.gather(*(one() for _ in range(games)))


def measure(games: int = GAMES) -> tuple[float, float, float]:
    """Bytes a game, that in bytes of data, and rows written a command, the counter of positions aside."""
    with folder() as data, product(Path(data)) as port:
        url = database_url(data)
        before = _counted(url)
        asyncio.run(_play(port, games))
        asyncio.run(asyncio.sleep(2))  # backends tell what they wrote once a second
        after = _counted(url)
    grown = after.size - before.size
    return (
        grown / games,
        grown / (after.data - before.data),
        (after.written - before.written) / (after.commands - before.commands),
    )


def rows() -> list[tuple[str, str, str, str]]:
    size, times, written = measure()
    ratio = f"{times:.2f} x (wanted 2.5)"
    return [
        ("a game of O/X in tables and indexes", f"{size / 1024:.1f} KiB", "its events' data", ratio),
        ("rows written a command", f"{written:.2f}", "", "wanted 2"),
    ]

"""The storage of an O/X game: bytes in tables and indexes relative to its events' data, and rows per command."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import psycopg
from playmolt import AsyncClient
from playmolt.bots.house import run_bots, seats

from bench import Row
from bench.beside import Figure, Play, Side
from bench.servers import HERE, Checkout, database_url, platform

SEATS = 5
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


class Size(NamedTuple):
    """`rounds` rounds of `tables` simultaneous games: first with new agents in each game, then with the same ones."""

    tables: int = 8
    rounds: int = 25


WHOLE = Size()
SHORT = Size(1, 1)


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


class Table:
    """Five agents that register for their first game and then play again and again."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._keys: dict[int, str] = {}

    async def play(self) -> None:
        await run_bots(self._url, "ox", seats("ox", SEATS), self._enter)

    async def _enter(self, client: AsyncClient, number: int) -> None:
        if number not in self._keys:
            await client.register(f"bench {number}")
            self._keys[number] = client.key
        client.key = self._keys[number]


class Growth(NamedTuple):
    """Bytes per game, bytes per byte of the events' data, and rows written per command without the position counter."""

    size: float
    times: float
    rows: float


async def _play(rounds: Sequence[Sequence[Table]]) -> None:
    for tables in rounds:
        await asyncio.gather(*(table.play() for table in tables))
    await asyncio.sleep(2)  # backends report their statistics once per second


def growth(url: str, rounds: Sequence[Sequence[Table]]) -> Growth:
    """The growth of this database by some games. Those of a round are played at the same time, the rounds in turn."""
    before = _counted(url)
    asyncio.run(_play(rounds))
    after = _counted(url)
    grown, games = after.size - before.size, sum(map(len, rounds))
    written, commands = after.written - before.written, after.commands - before.commands
    return Growth(grown / games, grown / (after.data - before.data), written / commands)


def measure(size: Size, checkout: Checkout = HERE) -> tuple[Growth, Growth]:
    """The growth by games of new agents, and by games of agents who have played before."""
    with platform(checkout) as (data, port):
        url = database_url(data)
        newcomers = [[Table(port) for _ in range(size.tables)] for _ in range(size.rounds)]
        first = growth(url, newcomers)
        return first, growth(url, [newcomers[0]] * size.rounds)


def rows(size: Size) -> list[Row]:
    first, again = measure(size)
    return [
        ("an O/X game in tables and indexes, its agents' first", f"{first.size / 1024:.1f} KiB", "its events' data",
         f"{first.times:.2f} x"),
        ("an O/X game of agents that have played", f"{again.size / 1024:.1f} KiB", "its events' data",
         f"{again.times:.2f} x (wanted 2.5)"),
        ("rows written a command", f"{again.rows:.2f}", "", "wanted 2"),
    ]  # fmt: skip


def sides(size: Size) -> list[Side]:
    return [partial(_side, size)]


@contextmanager
def _side(size: Size, checkout: Checkout) -> Iterator[Play]:
    def play() -> Iterator[Figure]:
        for what, found in zip(("its agents' first", "its agents have played"), measure(size, checkout), strict=True):
            yield Figure(f"an O/X game in tables and indexes, {what}", found.size / 1024, "{:.1f} KiB")
            yield Figure(f"bytes of it per byte of its events' data, {what}", found.times, "{:.2f}")
            yield Figure(f"rows written per command, {what}", found.rows, "{:.2f}")

    yield play

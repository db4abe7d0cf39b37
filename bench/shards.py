"""Two engines, on one or two shards, beside one engine: one command per commit of 3 ms, as with a standby."""

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Final, NamedTuple

import asyncpg
import uvloop

from bench import Row
from bench.actions import measure_product, rated
from bench.load import Measured
from bench.servers import database_url, folder, product

WANTED: Final = "1.7"
_SLOW: Final = (
    "ALTER SYSTEM SET commit_delay = 3000",
    "ALTER SYSTEM SET commit_siblings = 0",
    "SELECT pg_reload_conf()",
)


class Setup(NamedTuple):
    engines: int
    shards: int


_SHARDS: Final = {1: "one shard", 2: "two shards"}
ONE: Final = Setup(1, 1)
SHARED: Final = Setup(2, 1)
APART: Final = Setup(2, 2)


class Size(NamedTuple):
    in_flight: int = 32
    games: int = 64
    rounds: int = 3
    beside_one: tuple[Setup, ...] = (APART, SHARED)


WHOLE: Final = Size()
SHORT: Final = Size(4, 4, 1, (APART,))


async def _slow_commits(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in _SLOW:
            await connection.execute(statement)
    finally:
        await connection.close()


def _round(setup: Setup, size: Size) -> Measured:
    settings = {"PLAYMOLT_BATCH_COMMANDS": "1", "PLAYMOLT_LOG_SHARDS": str(setup.shards)}
    with folder() as data, product(Path(data), "--engines", str(setup.engines), environment=settings) as port:
        uvloop.run(measure_product(port, size.in_flight, size.in_flight))
        asyncio.run(_slow_commits(database_url(data)))
        return uvloop.run(measure_product(port, size.games, size.in_flight))


def measure(size: Size) -> dict[Setup, list[Measured]]:
    """Measure all setups in interleaved rounds, each on a new platform."""
    found: dict[Setup, list[Measured]] = defaultdict(list)
    for _ in range(size.rounds):
        for setup in (ONE, *size.beside_one):
            found[setup].append(_round(setup, size))
    return found


def rows(size: Size) -> list[Row]:
    found = measure(size)
    return [
        rated(
            f"O/X actions/s of two engines on {_SHARDS[setup.shards]}, against one engine",
            found[setup], found[ONE], WANTED if setup == APART else "",
        )
        for setup in size.beside_one
    ]  # fmt: skip

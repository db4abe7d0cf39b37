"""Ratings of 10,000 games: updated game by game, rebuilt from the log, and computed by the library alone."""

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from openskill.models import PlackettLuce
from playmolt_cli.local.embedded import Postgres
from playmolt_core.db.migrate import migrate
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.chain import chain_record
from playmolt_core.log.port import NewRecord, StreamAppend, Unit
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.relay.projector import Projector, rebuild
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import ZERO_HASH, Metadata

from bench import Row
from bench.servers import folder

AGENTS = [f"agent-{number}" for number in range(200)]
POINTS = (200, 100, 60, 40, 20)
_LATE_EVERY = 50
_BATCH = 200


class Size(NamedTuple):
    games: int = 10_000


WHOLE = Size()
SHORT = Size(200)


def _games(count: int) -> list[list[str]]:
    drawn = random.Random(1)
    return [drawn.sample(AGENTS, len(POINTS)) for _ in range(count)]


def _end(number: int, agents: list[str]) -> Unit:
    results = [
        {"agent_id": agent, "name": agent, "rank": rank, "points": points, "game_points": 0, "monopolies": 0}
        for rank, (agent, points) in enumerate(zip(agents, POINTS, strict=True), 1)
    ]
    stream = f"ox-{number:06}"
    record: NewRecord = chain_record(
        stream=stream,
        version=1,
        prev_hash=ZERO_HASH,
        at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number),
        event_type="game_end",
        schema_version=1,
        data=canonical_json({"results": results}),
        metadata=Metadata(command_id=""),
        closes=True,
    )
    return Unit(streams=[StreamAppend(stream=stream, expected=0, prev_hash=ZERO_HASH, records=[record])])


def _arrivals(count: int) -> list[int]:
    """The order in which games arrive: in each fifty, the first arrives last."""
    return [
        number for start in range(0, count, _LATE_EVERY) for number in (*range(start + 1, start + _LATE_EVERY), start)
    ]


async def _lines(pool: Pool) -> list[Any]:
    return [tuple(row) for row in await pool.fetch("SELECT * FROM projection.rating ORDER BY 1, 2, 3")]


async def _measure(url: str, count: int) -> dict[str, Any]:
    await migrate(url, "all")
    pool = await open_pool(url)
    log, games, arrivals = PostgresLog(pool), _games(count), _arrivals(count)
    projector = Projector(log, pool)
    while await projector.step():
        pass
    coming = 0.0
    for start in range(0, count, _BATCH):
        await log.append([_end(number, games[number]) for number in arrivals[start : start + _BATCH]])
        began = time.perf_counter()
        while await projector.step():
            pass
        coming += time.perf_counter() - began
    before, began = await _lines(pool), time.perf_counter()
    await rebuild(pool, log)
    again = time.perf_counter() - began
    assert await _lines(pool) == before
    assert len(before) == len({agent for game in games for agent in game})
    await pool.close()
    return {"coming": coming, "again": again}


def _library(count: int) -> float:
    model, games = PlackettLuce(), _games(count)
    known = {agent: model.rating() for agent in AGENTS}
    began = time.perf_counter()
    for game in games:
        rated = model.rate([[known[agent]] for agent in game], ranks=[float(rank) for rank in range(1, 6)])
        known |= {agent: rating for agent, (rating,) in zip(game, rated, strict=True)}
    return time.perf_counter() - began


def rows(size: Size) -> list[Row]:
    with folder() as data, Postgres(data / "postgres") as server:
        found = asyncio.run(_measure(server.url, size.games))
    library = _library(size.games)
    return [
        (
            f"ratings of {size.games:,} games made again from the log",
            f"{found['again']:.1f} s",
            f"{library:.1f} s (the library alone)",
            "equal to the last digit",
        ),
        (
            f"the same as the games come, every {_LATE_EVERY}th late",
            f"{found['coming']:.1f} s",
            f"{library:.1f} s (the library alone)",
            f"{found['coming'] / library:.1f}",
        ),
    ]

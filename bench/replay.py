"""Replay of streams from the log to their states, beside the `eventsourcing` library.

Both read several streams at the same time, as an engine does when it loads its games after a restart: ours on one event
loop, where Postgres prepares one stream while another is folded, the library on threads.
"""

import asyncio
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

import msgspec
import uvloop
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event
from playmolt_cli.local.embedded import Postgres
from playmolt_core.db.migrate import migrate
from playmolt_core.db.pool import open_pool
from playmolt_core.game.decider import Decider
from playmolt_core.log.chain import chain_record
from playmolt_core.log.folding import fold
from playmolt_core.log.port import StreamAppend, Unit
from playmolt_core.log.postgres import PostgresLog
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import ZERO_HASH, Metadata
from playmolt_schemas.stored.event import Event

from bench import Row
from bench.servers import folder

AT_ONCE = 4
"""Connections of each side, and threads of the library."""
STREAMS = [f"count-00000000-0000-7000-8000-{number:012}" for number in range(16)]


class Size(NamedTuple):
    """`events`: number of events in each stream."""

    events: int = 1_000
    rounds: int = 7


WHOLE = Size()
SHORT = Size(20, 1)


class Added(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "added"
    agent_id: str
    amount: int


class Total(msgspec.Struct, frozen=True):
    version: int = 0
    total: int = 0


class Adding:
    """Rules equal to the library's aggregate `Counter`."""

    game = "count"
    events: ClassVar = {("added", 1): Added}

    def initial(self, _game_id: str) -> Total:
        return Total()

    def evolve(self, state: Total, event: Any, _at: datetime) -> Total:
        return Total(state.version + 1, state.total + event.amount)


class Counter(Aggregate):
    @event("Started")
    def __init__(self) -> None:
        self.total = 0

    @event("Added")
    def add(self, agent_id: str, amount: int) -> None:
        self.agent_id = agent_id
        self.total += amount


def _library(url: str, events: int) -> Callable[[], int]:
    """Store as many aggregates of the library in the same Postgres; return a function that replays them all and returns
    their number of events."""
    parts = urlsplit(url)
    environment = {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": parts.path.lstrip("/"),
        "POSTGRES_HOST": parts.hostname or "",
        "POSTGRES_PORT": str(parts.port),
        "POSTGRES_USER": parts.username or "",
        "POSTGRES_PASSWORD": parts.password or "",
    }
    application: Application[Any] = Application(env=environment)
    counters = [Counter() for _ in STREAMS]
    for counter in counters:
        for number in range(events - 1):
            counter.add("agent-1", number % 3)
        application.save(counter)

    def replayed(counter: Counter) -> int:
        return int(application.repository.get(counter.id).version)

    def run() -> int:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return sum(threads.map(replayed, counters))

    return run


def _records(stream: str, count: int) -> Sequence[Any]:
    records, previous = [], ZERO_HASH
    for version in range(1, count + 1):
        data = canonical_json(Added(agent_id="agent-1", amount=version % 3))
        record = chain_record(
            stream, version, previous, datetime.now(UTC), "added", 1, data, Metadata(command_id="c"), False
        )
        previous = record.hash
        records.append(record)
    return records


async def _replayed(log: PostgresLog, decider: Decider, stream: str) -> int:
    stored = await log.facts(stream)
    assert stored is not None
    return int(fold(decider, stream, stored).version)


async def _product(url: str, size: Size) -> tuple[list[float], list[float]]:
    await migrate(url, "all")
    pool = await open_pool(url, size=AT_ONCE)
    log = PostgresLog(pool)
    for stream in STREAMS:
        append = StreamAppend(stream=stream, expected=0, prev_hash=ZERO_HASH, records=_records(stream, size.events))
        await log.append([Unit(streams=[append])])
    decider: Decider = Adding()  # type: ignore[assignment]  # a replay needs no more of it
    library, events = _library(url, size.events), size.events * len(STREAMS)
    ours, theirs = [], []
    for _ in range(size.rounds):
        start = time.perf_counter()
        assert sum(await asyncio.gather(*(_replayed(log, decider, stream) for stream in STREAMS))) == events
        ours.append(events / (time.perf_counter() - start))
        start = time.perf_counter()
        assert await asyncio.to_thread(library) == events
        theirs.append(events / (time.perf_counter() - start))
    await pool.close()
    return ours, theirs


def rows(size: Size) -> list[Row]:
    with folder() as data, Postgres(data / "postgres") as server:
        ours, theirs = uvloop.run(_product(server.url, size))
    mine, other = statistics.median(ours), statistics.median(theirs)
    return [
        (
            "replay, events/s, both from Postgres",
            f"{mine:,.0f}/s",
            f"{other:,.0f}/s",
            f"{mine / other:.0f} x (wanted 20)",
        )
    ]

"""Replay: a stream read and folded to its state, beside the `eventsourcing` library and beside a bare decode."""

import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec
import uvloop
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event
from playmolt_cli.embedded import Postgres
from playmolt_core.db.migrate import migrate
from playmolt_core.db.pool import open_pool
from playmolt_core.decider import Decider, Event
from playmolt_core.fold import fold
from playmolt_core.log.chain import seal
from playmolt_core.log.port import StreamAppend, Unit
from playmolt_core.log.postgres import PostgresLog
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import ZERO_HASH, Metadata

from bench.servers import folder

EVENTS = 1_000
ROUNDS = 7
STREAM = "count-00000000-0000-7000-8000-000000000001"


class Added(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "added"
    agent_id: str
    amount: int


class Total(msgspec.Struct, frozen=True):
    version: int = 0
    total: int = 0


class Adding:
    """The same little game that the library's aggregate plays."""

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


def _library(url: str) -> Callable[[], int]:
    """The library on the same Postgres."""
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
    counter = Counter()
    for number in range(EVENTS - 1):
        counter.add("agent-1", number % 3)
    application.save(counter)
    return lambda: application.repository.get(counter.id).total  # type: ignore[no-any-return, attr-defined]


def _records(count: int) -> Sequence[Any]:
    records, previous = [], ZERO_HASH
    for version in range(1, count + 1):
        data = canonical_json(Added(agent_id="agent-1", amount=version % 3))
        record = seal(
            STREAM, version, previous, datetime.now(UTC), "added", 1, data, Metadata(command_id="c"), b"{}", None, False
        )
        previous = record.hash
        records.append(record)
    return records


def _rate(run: Callable[[], Any], events: int) -> float:
    start = time.perf_counter()
    run()
    return events / (time.perf_counter() - start)


async def _product(url: str) -> tuple[list[float], list[float]]:
    await migrate(url, "all")
    pool = await open_pool(url)
    log = PostgresLog(pool)
    await log.append(
        [Unit(streams=[StreamAppend(stream=STREAM, expected=0, prev_hash=ZERO_HASH, records=_records(EVENTS))])]
    )
    decider: Decider[Any] = Adding()  # type: ignore[assignment]  # a replay needs no more of it
    library = _library(url)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(10):
            stored = await log.facts(STREAM)
            assert stored is not None
            assert fold(decider, STREAM, stored.facts).version == EVENTS
        ours.append(10 * EVENTS / (time.perf_counter() - start))
        theirs.append(_rate(library, EVENTS))
    await pool.close()
    return ours, theirs


def rows() -> list[tuple[str, str, str, str]]:
    with folder() as data, Postgres(data / "postgres") as server:
        ours, theirs = uvloop.run(_product(server.url))
    mine, other = statistics.median(ours), statistics.median(theirs)
    return [
        (
            "replay, events/s, both from Postgres",
            f"{mine:,.0f}/s",
            f"{other:,.0f}/s",
            f"{mine / other:.0f} x (wanted 20)",
        )
    ]


if __name__ == "__main__":
    for row in rows():
        print(*row)

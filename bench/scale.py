"""Estimates for a large installation: arithmetic on measured figures, and a simulation of commits.

`python -m bench.scale` prints the tables of docs/scaling.md. Nothing was tried at this size.
"""

import heapq
import random
import sys
from collections import deque
from math import ceil
from typing import Final, NamedTuple

from playmolt_core.bus.roster import QUIET_SECONDS
from playmolt_core.bus.service import ANNOUNCE_SECONDS

from deploy.capacity import (
    BUSY,
    CPU_MICROSECONDS,
    DAY_SECONDS,
    DELIVERY_MICROSECONDS,
    GAME_ACTIONS,
    GAME_BYTES,
    KEPT_DAYS,
    READERS_PER_SPECTATOR,
)

ACTIONS: Final = 10_000
"""Actions per second of the whole installation."""
GAMES: Final = 1_000_000
WATCHERS: Final = 1_000_000
ENGINES: Final = 100
GATEWAYS: Final = 60
RELAYS: Final = 2
EVENTS_AN_ACTION: Final = 1.3
STREAMS_A_TABLE: Final = 65_536
"""Streams in one table of the log."""
ENGINE_MEGABYTES: Final = 104
"""Memory of an engine with GAMES_AN_ENGINE games loaded. Measured by `python -m bench memory`."""
GAMES_AN_ENGINE: Final = 10_000
STREAM_EVENTS: Final = 100_000
"""Events that NATS keeps: the setting PLAYMOLT_STREAM_EVENTS."""
ARCHIVED_A_SECOND: Final = 7_500
"""Records that one `log archive` writes, reads back and deletes per second. Measured: 30,000 in 4 s."""
RELAYED_A_SECOND: Final = 25_000
"""Records that one relay copies per second with its own core, at 40 µs each."""
CONNECTIONS_A_PROCESS: Final = {"gateway": 8, "ox-engine": 6}
"""Connections to Postgres of one process."""
PREPARED: Final = 15e-6
"""Seconds per command to prepare a commit, before it waits for the position counter of its shard."""
HELD: Final = 13e-6
"""Seconds per command in which the commit holds the position counter."""
FLUSH: Final = 0.003
"""Seconds per commit to flush to the disks of the primary and of one standby."""
BATCH: Final = 64
"""Maximum commands in one commit."""


class Commits(NamedTuple):
    """The result of a simulation: commands per second, and the p50 and p99 of their times in milliseconds."""

    rate: float
    p50: float
    p99: float
    busy: float
    """The share of the time in which the counter of a shard is held."""


def simulate(
    actions: float, engines: int, shards: int, *, batch: int = BATCH, flush: float = FLUSH, seconds: float = 4.0
) -> Commits:
    """Simulate one of several equal shards, whose engines receive commands at random times.

    An engine takes its waiting commands, up to a batch, prepares them, waits for the counter, and holds it while it
    stores them. Engines get the counter in the order in which they ask for it.
    """
    dice = random.Random(1)
    here, rate = max(1, engines // shards), actions / shards
    waiting: list[deque[float]] = [deque() for _ in range(here)]
    engaged, free_at, held, waits = [False] * here, 0.0, 0.0, list[float]()
    happenings: list[tuple[float, int, int]] = [(dice.expovariate(rate), -1, 0)]
    under_way: dict[int, list[float]] = {}
    while happenings and (now := happenings[0][0]) < seconds:
        _, engine, _ = heapq.heappop(happenings)
        if engine < 0:
            engine = dice.randrange(here)
            waiting[engine].append(now)
            heapq.heappush(happenings, (now + dice.expovariate(rate), -1, 0))
        else:
            waits += [now - came for came in under_way.pop(engine)]
            engaged[engine] = False
        if engaged[engine] or not waiting[engine]:
            continue
        taken = [waiting[engine].popleft() for _ in range(min(batch, len(waiting[engine])))]
        begins = max(now + len(taken) * PREPARED, free_at)
        free_at = begins + len(taken) * HELD + flush
        held += free_at - begins
        engaged[engine], under_way[engine] = True, taken
        heapq.heappush(happenings, (free_at, engine, 0))
    waits.sort()
    return Commits(
        len(waits) / seconds * shards,
        waits[len(waits) // 2] * 1e3,
        waits[len(waits) * 99 // 100] * 1e3,
        min(1.0, held / seconds),
    )


def commits_table() -> str:
    rows = [
        "| engines | shards | actions/s | p50, ms | p99, ms | the counter is held |",
        "|---|---|---|---|---|---|",
    ]
    for engines, shards in ((1, 1), (4, 1), (4, 4), (ENGINES, 1), (ENGINES, 4), (ENGINES, 16), (ENGINES, 64)):
        done = simulate(ACTIONS, engines, shards)
        rows.append(
            f"| {engines} | {shards} | {done.rate:,.0f} | {done.p50:,.1f} | {done.p99:,.1f} | {done.busy:.0%} |"
        )
    return "\n".join([*rows, ""])


class Limit(NamedTuple):
    """A limit at the target size, its basis, and the remedy."""

    what: str
    estimate: str
    basis: str
    remedy: str


def discovery(gateways: int, spectators: int, engines: int, relays: int) -> tuple[float, float]:
    """Messages that NATS delivers per second for discovery: announcements, and questions with answers.

    No service receives its own name, and relays receive none. A gateway asks a name that was silent for some seconds;
    n instances that announce at random times are all silent for that long with probability (1 - quiet / period) ** n.
    """
    period = sum(ANNOUNCE_SECONDS) / 2
    all_others = gateways + spectators + engines + relays
    heard = sum(count * (all_others - count) for count in (gateways, spectators, engines))
    asked = sum(2 * count * (1 - QUIET_SECONDS / period) ** count for count in (spectators, engines, relays))
    return heard / period, gateways * asked / QUIET_SECONDS


def limits() -> list[Limit]:
    events = ACTIONS * EVENTS_AN_ACTION
    games_a_day = ACTIONS * DAY_SECONDS / GAME_ACTIONS
    disk = games_a_day * GAME_BYTES / 1e12
    spectators = ceil(WATCHERS / READERS_PER_SPECTATOR)
    deliveries = WATCHERS * events / GAMES
    cores = {name: ACTIONS * cost / 1e6 / BUSY for name, cost in CPU_MICROSECONDS.items()}
    connections = GATEWAYS * CONNECTIONS_A_PROCESS["gateway"] + ENGINES * CONNECTIONS_A_PROCESS["ox-engine"]
    announced, asked = discovery(GATEWAYS, spectators, ENGINES, RELAYS)
    return [
        Limit(
            "processor time, cores, half of each left free",
            ", ".join(f"{name} {amount:.1f}" for name, amount in cores.items()),
            "µs per action, `docs/performance.md`",
            "more pods; Postgres and NATS by shards",
        ),
        Limit(
            "memory of the engines",
            f"{GAMES / GAMES_AN_ENGINE * ENGINE_MEGABYTES / 1000:.1f} GB, {GAMES // ENGINES:,} games each",
            f"{ENGINE_MEGABYTES} MB with {GAMES_AN_ENGINE:,} games",
            "more engines, or waiting games evicted from memory earlier",
        ),
        Limit(
            "the relay of one shard",
            f"{events:,.0f} records/s, {events / RELAYED_A_SECOND:.0%} of a relay's capacity",
            f"{CPU_MICROSECONDS['relay']} µs an action",
            "one relay per shard",
        ),
        Limit(
            "the part of the log in NATS",
            f"the newest {STREAM_EVENTS / events:.1f} s",
            f"`PLAYMOLT_STREAM_EVENTS` {STREAM_EVENTS:,}",
            "that setting, or N streams, one per shard",
        ),
        Limit(
            "connections to Postgres",
            f"{connections:,}",
            f"{CONNECTIONS_A_PROCESS['gateway']} a gateway, {CONNECTIONS_A_PROCESS['ox-engine']} an engine",
            "fewer, larger gateways; shards over several databases",
        ),
        Limit(
            "discovery",
            f"{announced:,.0f} announcements/s delivered, {asked:,.0f} questions and answers/s",
            f"each of {GATEWAYS + spectators + ENGINES + RELAYS} services announces itself to services of other names "
            f"every {sum(ANNOUNCE_SECONDS) / 2:g} s; a service that received none from a name "
            f"for {QUIET_SECONDS:g} s asks",
            "less frequent announcements, or a NATS account for each group of services",
        ),
        Limit(
            "the disk a day",
            f"{disk:.2f} TB, {disk * KEPT_DAYS:.0f} TB in {KEPT_DAYS} days",
            f"{GAME_BYTES:,} bytes a game",
            "`PLAYMOLT_ARCHIVE_DAYS`; shards over several databases",
        ),
        Limit(
            "tables of the log opened and dropped",
            f"{games_a_day / STREAMS_A_TABLE:.0f} a day",
            f"{STREAMS_A_TABLE:,} streams each",
            "larger tables: every query of a game passes over their names",
        ),
        Limit(
            "archiving",
            f"{events / ARCHIVED_A_SECOND:.1f} archivers working all day",
            f"{ARCHIVED_A_SECOND:,} records/s each",
            "one archiver per shard, or copies of whole tables",
        ),
        Limit(
            "watchers, one game each",
            f"{spectators} spectators, {deliveries:,.0f} messages/s in all",
            f"{READERS_PER_SPECTATOR:,} readers and {DELIVERY_MICROSECONDS} µs a message",
            "NATS leaf nodes near the spectators, so that a message is sent once to each site",
        ),
    ]


def limits_table() -> str:
    rows = ["| limit | estimate | basis | remedy |", "|---|---|---|---|"]
    return "\n".join([*rows, *(f"| {' | '.join(limit)} |" for limit in limits()), ""])


if __name__ == "__main__":
    sys.stdout.write(f"{commits_table()}\n{limits_table()}")

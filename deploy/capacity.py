"""Computes the pods, database, disk and money for O/X games and their watchers from measured figures.

`python -m deploy.capacity` prints the table "Capacity" of docs/operating.md. The default prices are examples: replace
them with your provider's.
"""

import sys
from math import ceil
from typing import Final, NamedTuple

CPU_MICROSECONDS: Final = {"gateway": 90, "ox-engine": 125, "relay": 40, "nats": 65, "postgres": 120}
"""CPU time of each process for one action. Measured: see "Sizing" in docs/operating.md."""
SECONDS_IN_FLIGHT: Final = 0.0248
"""Median time until an action is answered, with 64 in flight. Measured: see "Sizing" in docs/operating.md."""
IN_FLIGHT_PER_GATEWAY: Final = 24
"""KEDA's threshold: requests that a gateway works on at the same time. Requests that only wait do not count."""
READERS_PER_SPECTATOR: Final = 5000
"""Planned readers of a spectator: a quarter of the connections that it accepts."""
MESSAGES_PER_SPECTATOR: Final = 18_000
"""KEDA's threshold: messages per second that a spectator writes. Chosen: what a spectator with READERS_PER_SPECTATOR
readers writes when it uses the share BUSY of its POD_CORES."""
DELIVERY_MICROSECONDS: Final = 6.82
"""CPU time of a spectator to write one message to one reader. Measured by `python -m bench fanout`."""
CONNECTIONS_PER_POD: Final = 15_000
"""KEDA's threshold: connections of a gateway or a spectator. Chosen: three quarters of those that it accepts. A waiting
request or reader costs almost no CPU time, but it holds a connection."""
COMMANDS_PER_ENGINE: Final = 256
"""KEDA's threshold: commands that an engine has received and not yet answered. Chosen: an O/X engine decides them in
`backlog_seconds`, well within the objective."""
EFFECTS_PER_ENGINE: Final = 40
"""KEDA's threshold: effects (model calls, transactions) that are due, per engine. Chosen: five eighths of those that a
process carries out at the same time, so that another pod starts before one is full."""
MINIMUM_PODS: Final = {"gateway": 3, "ox-engine": 2, "spectator": 2}
"""Pods that KEDA keeps of each service without load."""
POD_CORES: Final = 0.25
"""CPU request of a pod of the services in MINIMUM_PODS."""
FIXED_CORES: Final = 9.63
"""Sum of all other CPU requests of `overlays/prod`, whatever the load: three pods each of Postgres and NATS, relays,
the other engines."""
GAME_BYTES: Final = 45_000
"""Bytes of one game in Postgres. Measured by `python -m deploy.game_bytes`."""
GAME_ACTIONS: Final = 56
"""Actions of one game: it has 73 events, and an action makes 1.3 events."""
BUSY: Final = 0.5
"""Planned share of a core in use. The rest is for peaks and for the load of a replica that is unavailable."""
KEPT_DAYS: Final = 30
"""Days of games on disk."""
DAY_SECONDS: Final = 86_400
MONTH_HOURS: Final = 730
LOADS: Final = ((10, 1_000), (100, 10_000), (1_000, 50_000))
"""Rows of the table: actions per second and simultaneous watchers."""


class Prices(NamedTuple):
    """Prices of a core for an hour and of a gigabyte of disk for a month, in your currency."""

    core_hour: float = 0.04
    gigabyte_month: float = 0.1


class Need(NamedTuple):
    """Pods, cores of Postgres, disk and money per month for one load."""

    games_a_day: int
    gateways: int
    engines: int
    spectators: int
    database_cores: float
    gigabytes_a_day: float
    money: float


def need(actions: int, watchers: int, prices: Prices) -> Need:
    """Compute the need for a constant load: actions per second all day, and simultaneous watchers."""

    def cores(name: str) -> float:
        return actions * CPU_MICROSECONDS[name] / 1e6 / BUSY

    in_flight = actions * SECONDS_IN_FLIGHT
    gateways = max(MINIMUM_PODS["gateway"], ceil(in_flight / IN_FLIGHT_PER_GATEWAY), ceil(cores("gateway") / POD_CORES))
    engines = max(MINIMUM_PODS["ox-engine"], ceil(cores("ox-engine") / POD_CORES))
    spectators = max(MINIMUM_PODS["spectator"], ceil(watchers / READERS_PER_SPECTATOR))
    games = actions * DAY_SECONDS // GAME_ACTIONS
    disk = games * GAME_BYTES / 1e9
    paid = FIXED_CORES + (gateways + engines + spectators) * POD_CORES
    money = paid * MONTH_HOURS * prices.core_hour + disk * KEPT_DAYS * prices.gigabyte_month
    return Need(games, gateways, engines, spectators, cores("postgres"), disk, money)


def backlog_seconds() -> float:
    """How long an O/X engine takes to decide COMMANDS_PER_ENGINE commands if it gets no more CPU than it requests."""
    return COMMANDS_PER_ENGINE * CPU_MICROSECONDS["ox-engine"] / 1e6 / POD_CORES


def messages_per_reader() -> float:
    """Messages per second to each reader of a spectator that has its planned readers and uses its planned CPU."""
    return POD_CORES * BUSY * 1e6 / DELIVERY_MICROSECONDS / READERS_PER_SPECTATOR


def table(prices: Prices) -> str:
    rows = [
        "| actions/s | watchers | games a day | gateways | engines | spectators | database, cores | disk, GB a day"
        " | money a month |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for actions, watchers in LOADS:
        one = need(actions, watchers, prices)
        rows.append(
            f"| {actions:,} | {watchers:,} | {one.games_a_day:,} | {one.gateways} | {one.engines} | {one.spectators}"
            f" | {one.database_cores:.2g} | {one.gigabytes_a_day:,.1f} | {one.money:,.0f} |"
        )
    return "\n".join([*rows, ""])


if __name__ == "__main__":
    sys.stdout.write(table(Prices()))

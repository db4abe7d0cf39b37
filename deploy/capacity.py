"""What O/X games and their watchers need, from what was measured; `python -m deploy.capacity` prints the table of
docs/operating.md. The prices are inputs: put in what your provider asks."""

import sys
from math import ceil
from typing import Final, NamedTuple

CPU_MICROSECONDS: Final = {"gateway": 90, "ox-engine": 125, "relay": 40, "nats": 65, "postgres": 120}
"""Of an action, by process."""
SECONDS_IN_FLIGHT: Final = 0.0248
IN_FLIGHT_PER_GATEWAY: Final = 24
READERS_PER_SPECTATOR: Final = 5000
"""Planned: a quarter of the connections that a spectator takes."""
MESSAGES_PER_SPECTATOR: Final = 18_000
"""A second, set: what one that uses of its processor what is planned writes to its readers."""
DELIVERY_MICROSECONDS: Final = 6.82
"""Of a message to one reader, `python -m bench.fanout`."""
CONNECTIONS_PER_POD: Final = 15_000
"""Set: three quarters of the connections that a gateway or a spectator takes. Waiting is no work, but takes one."""
COMMANDS_PER_ENGINE: Final = 256
"""Set: what one that gets no more than it asks for has decided in `seconds_in_hand`, well within the objective."""
EFFECTS_PER_ENGINE: Final = 40
"""Set: five eighths of what a process carries out at once, so that another starts before one is full."""
LEAST: Final = {"gateway": 3, "ox-engine": 2, "spectator": 2}
POD_CORES: Final = 0.25
"""What a pod of one of these asks for."""
STANDING_CORES: Final = 9.63
"""What all else of `overlays/prod` asks for, whatever the load: three of Postgres and NATS, relays, other engines."""
GAME_BYTES: Final = 45_000
GAME_ACTIONS: Final = 56
"""73 events, of which an action makes 1.3."""
BUSY: Final = 0.5
"""How much of a core is planned to be used: the rest is for peaks and for a replica that is away."""
KEPT_DAYS: Final = 30
DAY_SECONDS: Final = 86_400
MONTH_HOURS: Final = 730
LOADS: Final = ((10, 1_000), (100, 10_000), (1_000, 50_000))
"""Actions a second, and watchers."""


class Prices(NamedTuple):
    """In your currency."""

    core_hour: float = 0.04
    gigabyte_month: float = 0.1


class Need(NamedTuple):
    """What a load takes."""

    games_a_day: int
    gateways: int
    engines: int
    spectators: int
    database_cores: float
    gigabytes_a_day: float
    money: float


def need(actions: int, watchers: int, prices: Prices) -> Need:
    """Actions a second all day, and so many watchers at once."""

    def cores(name: str) -> float:
        return actions * CPU_MICROSECONDS[name] / 1e6 / BUSY

    in_flight = actions * SECONDS_IN_FLIGHT
    gateways = max(LEAST["gateway"], ceil(in_flight / IN_FLIGHT_PER_GATEWAY), ceil(cores("gateway") / POD_CORES))
    engines = max(LEAST["ox-engine"], ceil(cores("ox-engine") / POD_CORES))
    spectators = max(LEAST["spectator"], ceil(watchers / READERS_PER_SPECTATOR))
    games = actions * DAY_SECONDS // GAME_ACTIONS
    disk = games * GAME_BYTES / 1e9
    paid = STANDING_CORES + (gateways + engines + spectators) * POD_CORES
    money = paid * MONTH_HOURS * prices.core_hour + disk * KEPT_DAYS * prices.gigabyte_month
    return Need(games, gateways, engines, spectators, cores("postgres"), disk, money)


def seconds_in_hand() -> float:
    """How long an O/X engine's own work on the commands of its threshold takes, in the processor time it asks for."""
    return COMMANDS_PER_ENGINE * CPU_MICROSECONDS["ox-engine"] / 1e6 / POD_CORES


def messages_a_reader() -> float:
    """Messages a second to each reader of a spectator that uses of its processor what is planned."""
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

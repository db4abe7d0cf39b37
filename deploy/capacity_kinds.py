"""Computes the pods, database, disk and money for the other kinds of games and sessions, from measured figures.

`python -m bench.games` measures them; `python -m deploy.capacity_kinds` prints the tables of docs/operating.md.
"""

import sys
from collections.abc import Mapping
from math import ceil
from typing import Final, NamedTuple

from deploy.capacity import (
    BUSY,
    DAY_SECONDS,
    EFFECTS_PER_ENGINE,
    FIXED_CORES,
    KEPT_DAYS,
    MINIMUM_PODS,
    MONTH_HOURS,
    POD_CORES,
    READERS_PER_SPECTATOR,
    Prices,
)

MODEL_SECONDS: Final = 10
"""How long a model takes for a call. An example: replace it with the time of your model."""
MINIMUM_ENGINES: Final = 2
"""Pods that KEDA keeps of each of these engines without load. FIXED_CORES includes them."""


class Kind(NamedTuple):
    """A kind of game, session or run, with the measured figures of one."""

    engine: str
    milliseconds: Mapping[str, float]
    """CPU time of each process. The chain of a jury is not included."""
    size: int
    """Bytes in Postgres."""
    calls: int
    """Model calls of the platform. Players of a trial call their own models."""
    watched: bool
    """Whether watchers can follow it live."""


KINDS: Final[Mapping[str, Kind]] = {
    "mock trial": Kind(
        "trial-engine", {"trial-engine": 40, "gateway": 64, "postgres": 90, "nats": 17, "relay": 17}, 27_000, 0, True
    ),
    "legal session": Kind(
        "legal-orchestrator",
        {"legal-orchestrator": 875, "gateway": 37, "postgres": 144, "nats": 17, "relay": 29},
        403_000,
        16,
        False,
    ),
    "AI jury": Kind(
        "trial-engine",
        {"trial-engine": 574, "gateway": 199, "postgres": 503, "nats": 108, "relay": 146},
        1_040_000,
        92,
        False,
    ),
    "Agora run of 36 turns": Kind(
        "agora-runner", {"agora-runner": 178, "gateway": 0, "postgres": 24, "nats": 1, "relay": 8}, 209_000, 36, False
    ),
}


class Need(NamedTuple):
    calls: int
    gateways: int
    engines: int
    spectators: int
    database_cores: float
    gigabytes_a_day: float
    money: float


LOADS: Final = ((1_000, 1_000), (10_000, 10_000), (100_000, 50_000))
"""Rows of each kind: the number per day, and simultaneous watchers if the kind has watchers."""


def need(kind: Kind, a_day: int, watchers: int, prices: Prices) -> Need:
    def cores(name: str) -> float:
        return a_day * kind.milliseconds[name] / 1000 / DAY_SECONDS / BUSY

    calls = a_day * kind.calls
    calls_in_flight = calls / DAY_SECONDS * MODEL_SECONDS
    gateways = max(MINIMUM_PODS["gateway"], ceil(cores("gateway") / POD_CORES))
    engines = max(MINIMUM_ENGINES, ceil(cores(kind.engine) / POD_CORES), ceil(calls_in_flight / EFFECTS_PER_ENGINE))
    readers = watchers if kind.watched else 0
    spectators = max(MINIMUM_PODS["spectator"], ceil(readers / READERS_PER_SPECTATOR))
    disk = a_day * kind.size / 1e9
    pods = gateways + (engines - MINIMUM_ENGINES) + MINIMUM_PODS["ox-engine"] + spectators
    money = (FIXED_CORES + pods * POD_CORES) * MONTH_HOURS * prices.core_hour
    return Need(
        calls, gateways, engines, spectators, cores("postgres"), disk, money + disk * KEPT_DAYS * prices.gigabyte_month
    )


def table(prices: Prices) -> str:
    rows = [
        "| kind | a day | model calls a day | gateways | engines | spectators | database, cores | disk, GB a day"
        " | money a month |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, kind in KINDS.items():
        for a_day, watchers in LOADS:
            one = need(kind, a_day, watchers, prices)
            rows.append(
                f"| {name} | {a_day:,} | {one.calls:,} | {one.gateways} | {one.engines} | {one.spectators}"
                f" | {one.database_cores:.2g} | {one.gigabytes_a_day:,.2f} | {one.money:,.0f} |"
            )
    return "\n".join([*rows, ""])


def measured() -> str:
    """The table of the measured figures."""
    rows = ["| kind | processor time, ms | engine | gateway | Postgres | NATS | relay | model calls |"]
    rows.append("|---|---|---|---|---|---|---|---|")
    for name, kind in KINDS.items():
        spent = kind.milliseconds
        parts = " | ".join(f"{spent[part]:,.0f}" for part in (kind.engine, "gateway", "postgres", "nats", "relay"))
        rows.append(f"| {name} | {sum(spent.values()):,.0f} | {parts} | {kind.calls} |")
    return "\n".join([*rows, ""])


if __name__ == "__main__":
    sys.stdout.write(f"{measured()}\n{table(Prices())}")

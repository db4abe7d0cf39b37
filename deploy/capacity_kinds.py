"""What games and sessions of each other kind need, from what was measured (`python -m bench.games`); `python -m
deploy.capacity_kinds` prints the table of docs/operating.md."""

import sys
from collections.abc import Mapping
from math import ceil
from typing import Final, NamedTuple

from deploy.capacity import (
    BUSY,
    DAY_SECONDS,
    EFFECTS_PER_ENGINE,
    KEPT_DAYS,
    LEAST,
    MONTH_HOURS,
    POD_CORES,
    READERS_PER_SPECTATOR,
    STANDING_CORES,
    Prices,
)

MODEL_SECONDS: Final = 10
"""An input: what a model takes for a call. Put in what yours does."""
LEAST_ENGINES: Final = 2
"""Of each kind; they are among STANDING_CORES."""


class Kind(NamedTuple):
    """A game, session or run as it was measured."""

    engine: str
    milliseconds: Mapping[str, float]
    """Of processor time, by process. The chain of a jury is the operator's."""
    size: int
    """Bytes in Postgres."""
    calls: int
    """Of models; players of a trial think elsewhere."""
    watched: bool


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
"""A day, and watchers at once of those that are watched."""


def need(kind: Kind, a_day: int, watchers: int, prices: Prices) -> Need:
    def cores(name: str) -> float:
        return a_day * kind.milliseconds[name] / 1000 / DAY_SECONDS / BUSY

    calls = a_day * kind.calls
    in_hand = calls / DAY_SECONDS * MODEL_SECONDS
    gateways = max(LEAST["gateway"], ceil(cores("gateway") / POD_CORES))
    engines = max(LEAST_ENGINES, ceil(cores(kind.engine) / POD_CORES), ceil(in_hand / EFFECTS_PER_ENGINE))
    readers = watchers if kind.watched else 0
    spectators = max(LEAST["spectator"], ceil(readers / READERS_PER_SPECTATOR))
    disk = a_day * kind.size / 1e9
    pods = gateways + (engines - LEAST_ENGINES) + LEAST["ox-engine"] + spectators
    money = (STANDING_CORES + pods * POD_CORES) * MONTH_HOURS * prices.core_hour
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
    """The figures that it is computed from."""
    rows = ["| kind | processor time, ms | engine | gateway | Postgres | NATS | relay | model calls |"]
    rows.append("|---|---|---|---|---|---|---|---|")
    for name, kind in KINDS.items():
        spent = kind.milliseconds
        parts = " | ".join(f"{spent[part]:,.0f}" for part in (kind.engine, "gateway", "postgres", "nats", "relay"))
        rows.append(f"| {name} | {sum(spent.values()):,.0f} | {parts} | {kind.calls} |")
    return "\n".join([*rows, ""])


if __name__ == "__main__":
    sys.stdout.write(f"{measured()}\n{table(Prices())}")

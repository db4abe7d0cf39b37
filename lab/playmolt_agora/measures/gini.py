"""Inequality of what agents hold (`measures.md`, section 1)."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from playmolt_schemas.instrument.definitions import exact_gini

from playmolt_agora.measures.data.results import Result

Kind = Literal["energy", "influence", "shadow"]


class LoggedGini(msgspec.Struct, frozen=True, kw_only=True):
    """The coefficient that a run logged at the start of an epoch, and how many agents lived then."""

    run: str
    epoch: int
    kind: Kind
    gini: float
    agents: int


def gini(values: Sequence[int]) -> float:
    """The Gini coefficient as the world reckons it, 0 to (n - 1) / n; a negative value raises ValueError."""
    if min(values, default=0) < 0:
        raise ValueError(f"{min(values)} is held; what agents hold is never negative")
    return float(exact_gini(values))


def rows(found: Iterable[LoggedGini]) -> list[Result]:
    """One row per run, epoch and kind."""
    return [
        Result(
            {"run": each.run, "epoch": each.epoch, "kind": each.kind, "gini": each.gini},
            runs=(each.run,),
            n=each.agents,
            unit="agent",
        )
        for each in sorted(found, key=lambda each: (each.run, each.kind, each.epoch))
    ]

"""Inequality of what agents hold (`measures.md`, section 1)."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from playmolt_schemas.instrument.definitions import exact_gini

from playmolt_agora.measures.data.results import Result

Kind = Literal["energy", "influence", "shadow"]


class Holdings(msgspec.Struct, frozen=True, kw_only=True):
    """What the living agents of a run hold at the start of an epoch."""

    run: str
    epoch: int
    kind: Kind
    values: tuple[int, ...]


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


def logged(held: Holdings) -> LoggedGini:
    return LoggedGini(run=held.run, epoch=held.epoch, kind=held.kind, gini=gini(held.values), agents=len(held.values))


def rows(found: Iterable[LoggedGini | Holdings]) -> list[Result]:
    """One row per run, epoch and kind."""
    known = [logged(each) if isinstance(each, Holdings) else each for each in found]
    return [
        Result(
            {"run": each.run, "epoch": each.epoch, "kind": each.kind, "gini": each.gini},
            runs=(each.run,),
            n=each.agents,
            unit="agent",
        )
        for each in sorted(known, key=lambda each: (each.run, each.kind, each.epoch))
    ]

"""Inequality of what agents hold (`measures.md`, section 1)."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from playmolt_agora.measures.data.results import Result

Kind = Literal["energy", "influence", "shadow"]


class Holdings(msgspec.Struct, frozen=True, kw_only=True):
    """What the living agents of a run hold at the start of an epoch."""

    run: str
    epoch: int
    kind: Kind
    values: tuple[int, ...]


class Logged(msgspec.Struct, frozen=True, kw_only=True):
    """The coefficient that a run logged at the start of an epoch, and how many agents lived then."""

    run: str
    epoch: int
    kind: Kind
    gini: float
    agents: int


def gini(values: Sequence[float]) -> float:
    """The Gini coefficient, 0 to (n - 1) / n; 0 for no sum or one value; a negative value raises ValueError."""
    ascending = sorted(values)
    n, total = len(ascending), sum(ascending)
    if ascending and ascending[0] < 0:
        raise ValueError(f"{ascending[0]} is held; what agents hold is never negative")
    if n <= 1 or total == 0:
        return 0.0
    return sum((2 * i - n - 1) * value for i, value in enumerate(ascending, 1)) / (n * total)


def logged(held: Holdings) -> Logged:
    return Logged(run=held.run, epoch=held.epoch, kind=held.kind, gini=gini(held.values), agents=len(held.values))


def rows(found: Iterable[Logged | Holdings]) -> list[Result]:
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

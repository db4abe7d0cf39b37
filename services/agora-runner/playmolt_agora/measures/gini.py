"""Inequality of what agents hold (`measures.md`, section 1)."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from playmolt_agora.measures.results import Result


class Holdings(msgspec.Struct, frozen=True, kw_only=True):
    """What the living agents of a run hold at the start of an epoch."""

    run: str
    epoch: int
    kind: Literal["energy", "influence", "shadow"]
    values: tuple[int, ...]


def gini(values: Sequence[float]) -> float:
    """Give the Gini coefficient, 0 to (n - 1) / n; 0 for no sum or one value; a negative value raises ValueError."""
    ascending = sorted(values)
    n, total = len(ascending), sum(ascending)
    if ascending and ascending[0] < 0:
        raise ValueError(f"{ascending[0]} is held; what agents hold is never negative")
    if n <= 1 or total == 0:
        return 0.0
    return sum((2 * i - n - 1) * value for i, value in enumerate(ascending, 1)) / (n * total)


def rows(holdings: Iterable[Holdings]) -> list[Result]:
    """Give one row per run, epoch and kind."""
    ordered = sorted(holdings, key=lambda held: (held.run, held.kind, held.epoch))
    return [
        Result(
            {"run": held.run, "epoch": held.epoch, "kind": held.kind, "gini": gini(held.values)},
            runs=(held.run,),
            n=len(held.values),
            unit="agent",
        )
        for held in ordered
    ]

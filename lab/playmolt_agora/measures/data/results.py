"""Rows of results with what they were computed from."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from playmolt_agora.measures.data.tables import COLUMNS

if TYPE_CHECKING:
    import polars as pl

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Row = dict[str, Any]
"""A row of a table by the names of its columns; what has no value is None."""


@dataclass(frozen=True, slots=True)
class Result:
    """One row with its provenance: the runs, how many of what it counts, and α where distributions were estimated."""

    row: Row
    _: KW_ONLY
    runs: tuple[str, ...]
    n: int
    unit: str
    alpha: float | None = None


def results(name: str, found: "pl.DataFrame", *, n: str, unit: str = "turn") -> list[Result]:
    """The rows of a table of this name. The column `n` says how many units a row counts, `frame.RUNS` its runs."""
    return [
        Result(
            {column: row.get(column) for column in COLUMNS[name]}, runs=tuple(row["runs of a row"]), n=row[n], unit=unit
        )
        for row in found.iter_rows(named=True)
    ]


def rows_of(
    keys: Mapping[str, object], columns: Mapping[str, ArrayLike], *,
    n: ArrayLike, runs: tuple[str, ...], unit: str = "turn", alpha: float | None = None,
) -> list[Result]:  # fmt: skip
    """The rows of equal keys that columns of equal length give, each with its `n`; NaN becomes None."""
    lines = zip(*(np.asarray(column).tolist() for column in (n, *columns.values())), strict=True)
    return [
        Result({**keys, **dict(zip(columns, map(_known, values), strict=True))}, runs=runs, n=n, unit=unit, alpha=alpha)
        for n, *values in lines
    ]


def _known(value: object) -> object:
    return None if isinstance(value, float) and np.isnan(value) else value


def number(value: Any) -> float | None:
    """A float, or None for None and NaN."""
    return None if value is None or np.isnan(value) else float(value)


def ratio(above: float, below: float) -> float | None:
    """Divide; an empty denominator gives None, never 0."""
    return None if below == 0 else float(above / below)


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is known; None of nothing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def grouped(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """Values by key, in the order in which the keys first occur."""
    found: dict[K, list[V]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return found

"""Percentile bootstrap over runs, because agents of one run are not independent (`measures.md`, section 0)."""

import msgspec
import numpy as np
from playmolt_schemas.instrument.definitions import BOOTSTRAPS, EFFECT_RUNS, INDICATIVE_RUNS, QUANTILES, TIE

from playmolt_agora.measures.data.frame import Integers
from playmolt_agora.measures.divergence import Floats


class Interval(msgspec.Struct, frozen=True):
    """A 95 % interval; `indicative` where an arm has three runs or fewer."""

    low: float | None = None
    high: float | None = None
    indicative: bool = True


def resamples(generator: np.random.Generator, first: int, second: int) -> tuple[Integers, Integers]:
    """Draw the runs of both arms, (2000, runs) each; a replicate draws its first arm, then its second."""
    # One call for all replicates: element by element it draws what a call for each arm of each replicate would draw.
    bounds = np.repeat(np.array([first, second], dtype=np.int64), [first, second])
    drawn = generator.integers(0, np.tile(bounds, (BOOTSTRAPS, 1)))
    return drawn[:, :first], drawn[:, first:]


def interval(values: Floats, first: int, second: int) -> Interval:
    """The interval of replicates of arms of so many runs; replicates without a value are left out.

    None where the others do not differ, because then the runs do not.
    """
    defined = values[~np.isnan(values)]
    indicative = min(first, second) <= INDICATIVE_RUNS
    if defined.size == 0 or np.ptp(defined) <= TIE * max(1.0, float(np.abs(defined).max())):
        return Interval(indicative=indicative)
    low, high = np.quantile(defined, QUANTILES)
    return Interval(float(low), float(high), indicative)


def effect_size(first: Floats, second: Floats) -> Floats:
    """Difference of means over pooled SD along the last axis; NaN below three runs an arm or without spread."""
    n, m = first.shape[-1], second.shape[-1]
    difference = first.mean(axis=-1) - second.mean(axis=-1)
    if min(n, m) < EFFECT_RUNS:
        return np.full_like(difference, np.nan)
    spread = (n - 1) * first.var(axis=-1, ddof=1) + (m - 1) * second.var(axis=-1, ddof=1)
    pooled = np.sqrt(spread / (n + m - 2))
    # A mean of equal values is not always the value itself: what rounding leaves of a spread of 0 would give 1e16.
    size = np.maximum(np.abs(first).max(axis=-1), np.abs(second).max(axis=-1))
    return np.asarray(np.divide(difference, pooled, out=np.full_like(difference, np.nan), where=pooled > TIE * size))

"""Intervals over runs, because agents of one run are not independent (`measures.md`, sections 0 and 3).

By the percentile bootstrap; for a divergence by leaving runs out one by one, since over three or five runs the
bootstrap covers far too rarely, and this as `docs/agora-methods.md` says.
"""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from playmolt_schemas.instrument.definitions import BOOTSTRAPS, EFFECT_RUNS, INDICATIVE_RUNS, QUANTILES, TIE
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]  # scipy ships no types

from playmolt_agora.measures.divergence import Floats, Integers


class Interval(msgspec.Struct, frozen=True):
    """A 95 % interval; `indicative` where an arm has three runs or fewer."""

    low: float | None = None
    high: float | None = None
    indicative: bool = True

    def named(self, of: str) -> dict[str, float | None]:
        """Its ends as columns of a table: `ci` or another name, then `_lo` and `_hi`."""
        return {f"{of}_lo": self.low, f"{of}_hi": self.high}


def resamples(generator: np.random.Generator, first: int, second: int) -> tuple[Integers, Integers]:
    """Draw the runs of both arms, (2000, runs) each; a replicate draws its first arm, then its second."""
    # One call for all replicates: element by element it draws what a call for each arm of each replicate would draw.
    bounds = np.repeat(np.array([first, second], dtype=np.int64), [first, second])
    drawn = generator.integers(0, np.tile(bounds, (BOOTSTRAPS, 1)))
    return drawn[:, :first], drawn[:, first:]


def drawn_sums(generator: np.random.Generator, values: ArrayLike) -> Floats:
    """Draw the runs of one arm 2000 times, and sum their values (runs, …) each time: (2000, …)."""
    runs = np.asarray(values, dtype=np.float64)
    drawn = generator.integers(0, len(runs), (BOOTSTRAPS, len(runs)))
    times = np.zeros((BOOTSTRAPS, len(runs)))
    np.add.at(times, (np.arange(BOOTSTRAPS)[:, None], drawn), 1.0)
    return np.tensordot(times, runs, axes=1)


def bootstrapped(values: Floats, runs: int) -> Interval:
    """The interval of replicates of arms of so many runs or more; replicates without a value are left out.

    None where the others do not differ, because then the runs do not.
    """
    defined = values[~np.isnan(values)]
    indicative = runs <= INDICATIVE_RUNS
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


class Spread:
    """What leaving out each run of several arms says: an estimate's bias, its error, degrees of freedom (Welch)."""

    def __init__(self, value: float, left_out: Sequence[Floats]) -> None:
        """`left_out` has an array an arm: the estimate without each of its runs, at least two."""
        sizes = np.array([len(arm) for arm in left_out], dtype=np.float64)
        means = np.array([arm.mean() for arm in left_out])
        parts = np.array([np.square(arm - arm.mean()).sum() for arm in left_out]) * (sizes - 1) / sizes
        variance = float(parts.sum())
        self.centre = value - float(((sizes - 1) * (means - value)).sum())
        error = variance**0.5
        # Rounding leaves a little of equal values.
        self.error = error if error > TIE else 0.0
        self.freedom = variance**2 / float((parts**2 / (sizes - 1)).sum()) if variance > 0 else float("inf")

    def interval(self, low: float, high: float) -> tuple[float | None, float | None]:
        """The 95 % interval with t quantiles, cut at the ends of what can be; none where no run differs."""
        if not self.error:
            return None, None
        reach = self.error * float(stdtrit(self.freedom, QUANTILES[1]))
        return max(low, min(high, self.centre - reach)), min(high, max(low, self.centre + reach))

    def p(self) -> float | None:
        """Two-sided p of the estimate being 0; none where no run differs."""
        if not self.error:
            return None
        return 2 * float(stdtr(self.freedom, -abs(self.centre) / self.error))


def left_out(first: Floats, second: Floats, statistic: Callable[[Floats, Floats], Floats]) -> tuple[Floats, Floats]:
    """A statistic of two arms of runs (runs, K) without each run of the first, then of the second."""
    one, two = first.sum(axis=0), second.sum(axis=0)
    return statistic(one - first, two[None]), statistic(one[None], two - second)

"""Intervals of a divergence over few runs: runs left out one by one (`measures.md`, section 3).

The percentile bootstrap over three or five runs covers far too rarely; this one as
`docs/agora-methods.md` says.
"""

from collections.abc import Callable, Sequence

import numpy as np
from playmolt_schemas.instrument.definitions import INTERVAL_RUNS, QUANTILES, TIE
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]  # scipy ships no types

from playmolt_agora.measures.divergence import Floats


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

    def interval(self, low: float, high: float) -> tuple[float, float] | tuple[None, None]:
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


def left_out(
    first: Floats, second: Floats, statistic: Callable[[Floats, Floats], Floats]
) -> tuple[Floats, Floats] | None:
    """A statistic of two arms of runs (runs, K) without each run of the first, then of the second.

    None with fewer than three runs an arm.
    """
    if min(len(first), len(second)) < INTERVAL_RUNS:
        return None
    one, two = first.sum(axis=0), second.sum(axis=0)
    return statistic(one - first, two[None]), statistic(one[None], two - second)

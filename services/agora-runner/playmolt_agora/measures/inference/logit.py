"""Whether a ritual fades: a logit with agent intercepts and one common slope (`measures.md`, section 5)."""

from typing import Final

import numpy as np

from playmolt_agora.measures.data.definitions import SLOPE_LIMIT
from playmolt_agora.measures.data.frame import Bools
from playmolt_agora.measures.divergence import Floats

_ROUNDS: Final = 100
_SETTLED: Final = 1e-9
_FLAT: Final = 1e-12
_LONGEST_STEP: Final = 5.0


def padded(histories: list[Bools]) -> tuple[Bools, Bools]:
    """Lay agents' histories out as (agents, longest) with a mask of what is there."""
    longest = max((len(history) for history in histories), default=0)
    y = np.zeros((len(histories), longest), dtype=np.bool_)
    there = np.zeros_like(y)
    for at, history in enumerate(histories):
        y[at, : len(history)] = history
        there[at, : len(history)] = True
    return y, there


def slopes(y: Bools, there: Bools) -> Floats:
    """Fit logit P(y = 1) = a_agent + β log(1 + m), m the earlier y of the agent; give β of each data set.

    Takes y (sets, agents, turns), false where `there` (agents, turns) is false; every agent's y varies. NaN where
    |β| is above 20 or the likelihood has no curvature in β.
    """
    fit = _Fit(y, there)
    for _ in range(_ROUNDS):
        if not fit.step():
            break
    return np.where(fit.flat | (np.abs(fit.slope) > SLOPE_LIMIT), np.nan, fit.slope)


class _Fit:
    """Newton's method on all data sets at once; a step that lowers the likelihood is halved."""

    def __init__(self, y: Bools, there: Bools) -> None:
        self.y = y.astype(np.float64)
        self.there = there
        self.x = np.log1p(np.cumsum(self.y, axis=2) - self.y) * there
        share = self.y.sum(axis=2) / there.sum(axis=1)
        self.intercept = np.log(share / (1 - share))
        self.slope = np.zeros(len(y))
        self.flat = np.zeros(len(y), dtype=np.bool_)
        self.likelihood = np.full(len(y), -np.inf)
        self.up_intercept = np.zeros_like(self.intercept)
        self.up_slope = np.zeros_like(self.slope)

    def step(self) -> bool:
        """Try the pending steps; say whether any data set has still to move."""
        intercept, slope = self.intercept + self.up_intercept, self.slope + self.up_slope
        line = (intercept[:, :, None] + slope[:, None, None] * self.x) * self.there
        likelihood = ((self.y * line - np.logaddexp(0.0, line)) * self.there).sum(axis=(1, 2))
        better = likelihood >= self.likelihood - _SETTLED * (1 + np.abs(likelihood))
        self.intercept = np.where(better[:, None], intercept, self.intercept)
        self.slope = np.where(better, slope, self.slope)
        self.likelihood = np.where(better, likelihood, self.likelihood)
        next_intercept, next_slope = self._newton(line)
        self.up_intercept = np.where(better[:, None], next_intercept, self.up_intercept / 2)
        self.up_slope = np.where(better, next_slope, self.up_slope / 2)
        moving = ~self.flat & (np.abs(self.slope) <= 2 * SLOPE_LIMIT) & (np.abs(self.up_slope) > _SETTLED)
        return bool(moving.any())

    def _newton(self, line: Floats) -> tuple[Floats, Floats]:
        chance = 1 / (1 + np.exp(-np.clip(line, -500, 500)))
        residual = (self.y - chance) * self.there
        weight = chance * (1 - chance) * self.there
        of_a, of_b = residual.sum(axis=2), (residual * self.x).sum(axis=(1, 2))
        aa, ab = weight.sum(axis=2), (weight * self.x).sum(axis=2)
        bb = (weight * self.x**2).sum(axis=(1, 2))
        pull = np.divide(ab, aa, out=np.zeros_like(ab), where=aa > 0)
        curvature = bb - (pull * ab).sum(axis=1)
        self.flat |= curvature <= _FLAT
        up_slope = np.divide(
            of_b - (pull * of_a).sum(axis=1), curvature, out=np.zeros_like(curvature), where=~self.flat
        )
        own = np.divide(of_a, aa, out=np.zeros_like(of_a), where=aa > 0)
        up_intercept = own - pull * up_slope[:, None]
        # A step is shortened as a whole: cut coordinate by coordinate it might no longer lead upwards.
        longest = np.maximum(np.abs(up_slope), np.abs(up_intercept).max(axis=1))
        shorter = np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, _FLAT))
        return up_intercept * shorter[:, None], up_slope * shorter

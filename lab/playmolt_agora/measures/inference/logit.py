"""Whether a ritual fades: a logit with agent intercepts and one common slope (`measures.md`, section 5)."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from playmolt_schemas.instrument.definitions import SLOPE_LIMIT

from playmolt_agora.measures.divergence import Bools, Floats, Integers

_ROUNDS: Final = 100
_SETTLED: Final = 1e-9
_FLAT: Final = 1e-12
_LONGEST_STEP: Final = 5.0


def padded(histories: Sequence[Bools]) -> tuple[Bools, Bools]:
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
    fit, found = _Fit(y, there), np.full(len(y), np.nan)
    for _ in range(_ROUNDS):
        moving = fit.step()
        found[fit.at] = np.where(fit.flat | (np.abs(fit.slope) > SLOPE_LIMIT), np.nan, fit.slope)
        if not moving.any():
            break
        # Few data sets need most of the rounds: the others are not gone through again.
        fit.keep(moving)
    return found


class _Fit:
    """Newton's method on all data sets, `at`, at once; a step that lowers the likelihood is halved.

    Turns with equally many rituals before them are alike, so they are counted together: (sets, agents, rituals before).
    """

    def __init__(self, y: Bools, there: Bools) -> None:
        rituals = y.sum(axis=2)
        levels = int(rituals.max(initial=0)) + 1
        before: Integers = np.cumsum(y, axis=2) - y
        cell = (np.arange(rituals.size).reshape(rituals.shape)[:, :, None] * levels + before)[
            np.broadcast_to(there, y.shape)
        ]
        size = rituals.size * levels
        self.turns = np.bincount(cell, minlength=size).reshape(*rituals.shape, levels).astype(np.float64)
        # A ritual ends each count but the last.
        self.y = (np.arange(levels) < rituals[:, :, None]).astype(np.float64)
        self.x = np.log1p(np.arange(levels, dtype=np.float64))
        share = rituals / there.sum(axis=1)
        self.intercept = np.log(share / (1 - share))
        self.slope = np.zeros(len(y))
        self.flat = np.zeros(len(y), dtype=np.bool_)
        self.likelihood = np.full(len(y), -np.inf)
        self.up_intercept = np.zeros_like(self.intercept)
        self.up_slope = np.zeros_like(self.slope)
        self.at = np.arange(len(y))

    def keep(self, moving: Bools) -> None:
        if not moving.all():
            for name, values in vars(self).items():
                if name != "x":
                    setattr(self, name, values[moving])

    def step(self) -> Bools:
        """Try the pending steps; say which data sets have still to move."""
        intercept, slope = self.intercept + self.up_intercept, self.slope + self.up_slope
        line = intercept[:, :, None] + slope[:, None, None] * self.x
        small = np.exp(-np.abs(line))
        likelihood = (self.y * line - self.turns * (np.maximum(line, 0.0) + np.log1p(small))).sum(axis=(1, 2))
        better = likelihood >= self.likelihood - _SETTLED * (1 + np.abs(likelihood))
        self.intercept = np.where(better[:, None], intercept, self.intercept)
        self.slope = np.where(better, slope, self.slope)
        self.likelihood = np.where(better, likelihood, self.likelihood)
        next_intercept, next_slope = self._newton(line, small)
        self.up_intercept = np.where(better[:, None], next_intercept, self.up_intercept / 2)
        self.up_slope = np.where(better, next_slope, self.up_slope / 2)
        return ~self.flat & (np.abs(self.slope) <= 2 * SLOPE_LIMIT) & (np.abs(self.up_slope) > _SETTLED)

    def _newton(self, line: Floats, small: Floats) -> tuple[Floats, Floats]:
        chance = np.where(line >= 0, 1.0, small) / (1 + small)
        residual = self.y - self.turns * chance
        weight = self.turns * small / np.square(1 + small)
        of_a, of_b = residual.sum(axis=2), (residual @ self.x).sum(axis=1)
        aa, ab = weight.sum(axis=2), weight @ self.x
        bb = (weight @ np.square(self.x)).sum(axis=1)
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

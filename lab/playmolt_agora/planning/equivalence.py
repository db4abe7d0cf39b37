"""What H2b, that slopes are level, can find with the runs it has (measures.md, section 5)."""

from math import sqrt
from typing import Final

import numpy as np
from scipy import special  # type: ignore[import-untyped]  # scipy ships no types
from scipy.optimize import brentq  # type: ignore[import-untyped]

MARGIN: Final = 0.02
"""A slope within ± this much a window is level."""


def level_sd(runs: int, alpha: float = 0.05) -> float:
    """The observed SD of slopes below which H2b passes when their mean is 0; 2 runs or more."""
    return MARGIN * sqrt(runs) / float(special.stdtrit(runs - 1, 1 - alpha))


def level_power(runs: int, sd: float, alpha: float = 0.05) -> float:
    """The power of H2b at a true mean of 0 and a true SD of slopes."""
    quantile = float(special.stdtrit(runs - 1, 1 - alpha))
    # Over the observed SD: its square is chi2 with runs - 1 degrees of freedom.
    steps = (np.arange(2000) + 0.5) / 2000
    observed = sd * np.sqrt(special.chdtri(runs - 1, 1 - steps) / (runs - 1))
    room = np.maximum(0.0, MARGIN - quantile * observed / sqrt(runs))
    return float(np.mean(2 * special.ndtr(room * sqrt(runs) / sd) - 1))


def level_sd_for(runs: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """The true SD of slopes at which H2b has that power."""
    return float(brentq(lambda sd: level_power(runs, sd, alpha) - power, 1e-4, 1.0))

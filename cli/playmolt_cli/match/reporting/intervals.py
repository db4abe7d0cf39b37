"""95 % intervals: of means over blocks by Student's t, of ratings by their own uncertainty."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Final

Interval = tuple[float, float]
_UPPER: Final = 0.975
_NORMAL: Final = 1.96


def of_mean(values: Sequence[float]) -> Interval | None:
    """None below two values, which say nothing of how they spread."""
    if len(values) < 2:
        return None
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # noqa: PLC0415 -- only who reports waits for it

    half = float(stdtrit(len(values) - 1, _UPPER)) * stdev(values) / len(values) ** 0.5
    mean = fmean(values)
    return (mean - half, mean + half)


def of_rating(rating: float, uncertainty: float) -> Interval:
    return (rating - _NORMAL * uncertainty, rating + _NORMAL * uncertainty)

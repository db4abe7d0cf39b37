"""Statistics of a panel: intervals, the paired test, its size and power. Pure Python: an engine imports no NumPy."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Final, TypeVar

import msgspec

LEVEL: Final = 0.05
"""The level of the test, and 1 minus the coverage of every interval."""
FEWEST_COURSES: Final = 3
"""A mean over fewer different courses has no interval."""
TWENTY_POINTS: Final = 0.2
POWER_WANTED: Final = 0.8
_MIDDLE: Final = 0.5
_NEGLIGIBLE: Final = 1e-15
_TIE: Final = 1e-12
_STEPS: Final = 200
_PARTS: Final = 1000
"""A difference is found to a thousandth."""

K = TypeVar("K", bound=Hashable)
Interval = tuple[float, float]


def wilson(successes: int, n: int) -> Interval | None:
    """Wilson's score interval (95 %) of a share; None for an empty sample."""
    if not n:
        return None
    z = NormalDist().inv_cdf(1 - LEVEL / 2)
    share, spread = successes / n, z * z / n
    centre = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    low, high = (centre - half) / (1 + spread), (centre + half) / (1 + spread)
    return (0.0 if successes == 0 else low, 1.0 if successes == n else high)


def mean_interval(rows: Sequence[tuple[Hashable, float]]) -> tuple[float | None, Interval | None]:
    """The mean of all values, and Student's interval (95 %) around it over different courses.

    `rows` are pairs of course and value. Equal courses count once in the interval. None with fewer than three courses,
    and where their values do not differ: such values say nothing of how far others would spread.
    """
    if not rows:
        return None, None
    mean = math.fsum(value for _, value in rows) / len(rows)
    values = list(dict(rows).values())
    n = len(values)
    if n < FEWEST_COURSES or max(values) == min(values):
        return mean, None
    centre = math.fsum(values) / n
    variance = math.fsum((value - centre) ** 2 for value in values) / (n - 1)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    return mean, (mean - half, mean + half)


@lru_cache(maxsize=1024)
def t_quantile(degrees: int, tail: float = LEVEL / 2) -> float:
    """The value that a Student's t of these degrees of freedom exceeds with probability `tail`, below one half."""
    low, high = 0.0, 1.0
    while _t_tail(high, degrees) > tail:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _t_tail(middle, degrees) > tail else (low, middle)
    return (low + high) / 2


def _t_tail(value: float, degrees: int) -> float:
    return _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + value * value)) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, by its continued fraction (Lentz)."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    above, below = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = below
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            below = 1 / (1 + term * below)
            above = 1 + term / above
            value *= above * below
        if abs(above * below - 1) < _NEGLIGIBLE:
            break
    return front * value / a


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """McNemar's exact test over pairs. `a_only`: pairs with a guilty verdict by the first script alone.

    `p_min`: the smallest p that this number of pairs can give. `size`: the probability of p ≤ .05 without a difference.
    `power`: with a difference of 20 points around one half. Both for independent halves of a pair.
    """

    pairs: int
    a_only: int
    b_only: int
    difference: float | None
    p: float | None
    p_min: float | None
    size: float | None
    power: float | None


def compared(verdicts: Iterable[tuple[bool, bool]], *, varies: bool = True) -> Comparison:
    """Compare pairs of verdicts (guilty by the first script, by the second).

    Without pairs nothing is known; where juries cannot differ (`varies` false), there is a difference but no test.
    """
    pairs = list(verdicts)
    n = len(pairs)
    a_only, b_only = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    difference = (a_only - b_only) / n if n else None
    if not n or not varies:
        return Comparison(
            pairs=n, a_only=a_only, b_only=b_only, difference=difference, p=None, p_min=None, size=None, power=None
        )
    return Comparison(
        pairs=n, a_only=a_only, b_only=b_only, difference=difference,
        p=mcnemar(a_only, b_only), p_min=smallest_p(n), size=rejection(n, 0.0), power=rejection(n, TWENTY_POINTS),
    )  # fmt: skip


def mcnemar(a_only: int, b_only: int) -> float:
    """The exact two-sided p of the pairs that differ: a fair coin for each."""
    n = a_only + b_only
    return min(1.0, 2 * _lower_tail(n, min(a_only, b_only)))


def smallest_p(pairs: int) -> float:
    """The p if every pair differed in the same direction."""
    return mcnemar(pairs, 0)


def _lower_tail(n: int, most: int) -> float:
    """P(X ≤ most) for X ~ Binomial(n, ½), from integers."""
    return float(sum(math.comb(n, k) for k in range(most + 1)) / 2**n)


@lru_cache(maxsize=1024)
def _critical(n: int) -> int:
    """The largest smaller count of n differing pairs with p ≤ .05; -1 if there is none."""
    total, limit, found = 0, LEVEL / 2 + _TIE, -1
    for k in range(n // 2 + 1):
        total += math.comb(n, k)
        if total / 2**n > limit:
            break
        found = k
    return found


def rejection(pairs: int, difference: float) -> float:
    """The probability of p ≤ .05, by enumeration: shares ½ ± difference/2, independent halves of a pair."""
    high, low = _MIDDLE + difference / 2, _MIDDLE - difference / 2
    a_only, b_only = high * (1 - low), low * (1 - high)
    differing = a_only + b_only
    toward_a = a_only / differing
    return math.fsum(
        weight * (_tail(n, critical, toward_a) + _tail(n, critical, 1 - toward_a))
        for n in range(pairs + 1)
        if (critical := _critical(n)) >= 0 and (weight := _binomial(pairs, n, differing)) > _NEGLIGIBLE
    )


def _binomial(n: int, k: int, p: float) -> float:
    if p in (0.0, 1.0):
        return float(k == n * p)
    log = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(log + k * math.log(p) + (n - k) * math.log1p(-p))


def _tail(n: int, most: int, p: float) -> float:
    """P(X ≥ n - most) for X ~ Binomial(n, p), from its largest term down."""
    return math.fsum(_binomial(n, n - k, p) for k in range(most + 1))


def detectable(pairs: int, power: float = POWER_WANTED) -> float | None:
    """The smallest difference around one half, in thousandths, with this power; None if even 100 points lack it."""
    if rejection(pairs, 1.0) < power:
        return None
    low, high = 0, _PARTS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rejection(pairs, middle / _PARTS) >= power else (middle, high)
    return high / _PARTS


def speech_share(changes: Iterable[tuple[bool, int]]) -> float | None:
    """Deliberation's share: Σ|change by speeches| / Σ|all changes| of (by a speech, change); None without a change."""
    rows = list(changes)
    total = sum(abs(change) for _, change in rows)
    return sum(abs(change) for spoken, change in rows if spoken) / total if total else None


def ranked(means: Mapping[K, float | None]) -> dict[K, int | None]:
    """The rank of each mean by its size without sign, 1 the largest; equal ones share the better rank."""
    sizes = sorted((abs(mean) for mean in means.values() if mean is not None), reverse=True)
    return {
        key: None if mean is None else next(place for place, size in enumerate(sizes, 1) if size <= abs(mean) + _TIE)
        for key, mean in means.items()
    }

"""The smallest p that a test can reach (`measures.md`, sections 0, 3, 5 and 7); a plan asks before there is a turn.

Tests are exact up to 50,000 arrangements. Beyond, arrangements are drawn, and no p lies below 1 / (1 + draws).
"""

from collections import Counter
from collections.abc import Collection, Sequence
from fractions import Fraction
from math import comb, factorial, prod
from typing import Final

from playmolt_agora.measures.data.definitions import DRAWS, EXACT_LIMIT

Attainable = tuple[int, Fraction]
"""How many labelings there are, and the smallest p among them."""

DRAWN: Final = Fraction(1, 1 + DRAWS)


def relabelled(arms: Sequence[tuple[int, int]]) -> Attainable:
    """Permute run labels inside each stratum of (Stage 1, Phase 1) runs.

    JSD is symmetric, so where the arms are equal the mirrored labelling ties. A stratum is enumerated by itself.
    """
    sizes = [comb(one + two, one) for one, two in arms]
    labelings = prod(sizes)
    if max(sizes, default=1) > EXACT_LIMIT:
        return labelings, DRAWN
    return labelings, Fraction(prod(2 if one == two else 1 for one, two in arms), labelings)


def flipped(runs: int) -> Attainable:
    """Flip the signs of the runs' differences, one-sided."""
    labelings: int = 2**runs
    return labelings, Fraction(1, labelings) if labelings <= EXACT_LIMIT else DRAWN


def shuffled(held: Sequence[Collection[str]]) -> Attainable:
    """Permute labels inside each run among the groups that it holds.

    Labelings tie that rename groups alike in all runs; that keeps every run's groups only where the renamed ones are in
    the same runs.
    """
    labelings = prod(factorial(len(groups)) for groups in held)
    if labelings > EXACT_LIMIT:
        return labelings, DRAWN
    names = {group for groups in held for group in groups}
    alike = Counter(tuple(name in groups for groups in held) for name in names)
    return labelings, Fraction(prod(factorial(count) for count in alike.values()), labelings)

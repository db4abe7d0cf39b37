"""The smallest p that a test can reach (`measures.md`, sections 0, 3, 5 and 7); a plan asks before there is a turn.

Holm's correction is the same for a plan and its analysis: one family is PCS of all models with both arms, another H1
and H2, whether or not each was registered. RI* has no correction.

Tests are exact up to 50,000 arrangements, those of RI* up to 300,000. Beyond that, arrangements are drawn, and no p
is below 1 / (1 + draws).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb, factorial, prod
from typing import Final

from playmolt_schemas.instrument.definitions import DRAWS, EXACT_EXCHANGES, EXACT_LIMIT

CORRECTED: Final = ("pcs", "H")


def family(test: str) -> str:
    """The family of a test of the table `tests`."""
    return "H" if test in {"H1", "H2"} else test.partition(":")[0]


def corrected(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Each test's p by Holm over its family, which `found` holds whole; None for RI* and parts of H1 and H2."""
    adjusted: dict[str, float | None] = dict.fromkeys(found)
    for name in CORRECTED:
        members = [test for test in found if family(test) == name]
        adjusted |= dict(zip(members, holm([found[test] for test in members]), strict=True))
    return adjusted


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values by Holm's step-down; None stays None, and counts: that a test gave no p helps no other one."""
    present = sorted((p, at) for at, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (p, at) in enumerate(present):
        highest = max(highest, min(1.0, p * (len(values) - rank)))
        adjusted[at] = highest
    return adjusted


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


def exchanged(strata: Sequence[Sequence[str]]) -> Attainable:
    """Exchange labels inside each stratum, which is given by its agents' labels.

    Arrangements tie that rename groups alike everywhere; that keeps every stratum's labels only where the renamed
    groups have equally many agents in each of them.
    """
    labelings = prod(
        factorial(len(labels)) // prod(factorial(count) for count in Counter(labels).values()) for labels in strata
    )
    if labelings > EXACT_EXCHANGES:
        return labelings, DRAWN
    names = {group for labels in strata for group in labels}
    alike = Counter(tuple(labels.count(name) for labels in strata) for name in names)
    return labelings, Fraction(prod(factorial(count) for count in alike.values()), labelings)

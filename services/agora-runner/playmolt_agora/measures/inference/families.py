"""Which tests Holm's correction takes together (`measures.md`, sections 3 and 7): the same for a plan and its analysis.

PCS of all models that have both arms, and H1 with H2, whether or not each was registered. RI* has no correction.
"""

from collections.abc import Mapping, Sequence
from typing import Final

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

"""Whether thought and action agree, and whether coders agree on it (`measures.md`, section 4)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from playmolt_schemas.instrument.definitions import TIE

from playmolt_agora.measures.data.frame import Frame
from playmolt_agora.measures.data.results import Result, ratio


def rows(turns: Frame) -> list[Result]:
    """Count the classes of all turns by phase, model and language: the table `dissoc`."""
    groups = turns.groups(lambda seat: (seat.phase, seat.model, seat.language))
    return [_row(dict(zip(("phase", "model", "language"), key, strict=True)), group) for key, group in groups.items()]


def coherence(agreeing: float, dissociated: float) -> float | None:
    """C / (A + C); None where both are 0."""
    return ratio(agreeing, agreeing + dissociated)


def cohens_kappa(matrix: ArrayLike) -> float | None:
    """Agreement of two coders beyond chance, from their square table of counts; None for no counts or p_e = 1."""
    counts = np.asarray(matrix, dtype=np.float64)
    total = counts.sum()
    if total == 0:
        return None
    observed = float(np.trace(counts) / total)
    expected = float(counts.sum(axis=0) @ counts.sum(axis=1) / total**2)
    return None if 1 - expected <= TIE else (observed - expected) / (1 - expected)


def _row(key: dict[str, Any], group: Frame) -> Result:
    a, b, c, u = (int(count) for count in np.bincount(group.dissoc, minlength=4))
    counts = {"dissoc_a": a, "dissoc_b": b, "dissoc_c": c, "dissoc_u": u}
    return Result({**key, **counts, "coherence": coherence(c, a)}, runs=group.runs, n=a + b + c + u, unit="turn")

"""The intervals that adaptive sampling looks at (agora.md, `adaptive`; `measures.md`, sections 0 and 3)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from playmolt_schemas.agora.definitions import BOOTSTRAPS
from playmolt_schemas.stored.agora.plan import AdaptiveMeasure
from playmolt_schemas.stored.agora.turn import ACTIONS, TurnRecord

from playmolt_agora.measures import pcs
from playmolt_agora.measures.data.frame import Frame, frame
from playmolt_agora.measures.divergence import Floats
from playmolt_agora.measures.inference import bootstrap
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.repeats import Repeats

Interval = tuple[float, float]
_FEWEST: Final = 2
"""Resampling one run gives the same each time: an interval of no width, which says nothing of other runs."""


def intervals(
    records: Iterable[Mapping[str, object] | TurnRecord],
    measure: AdaptiveMeasure,
    seed: str,
    stage1_import: Sequence[Mapping[str, object]] = (),
) -> dict[tuple[str, str], Interval | None]:
    """(model, language) → the 95 % interval of a measure over the runs so far; None where there is none.

    `stage1_import` are counts that replace Stage 1 runs, as `analysis.study` takes them.
    """
    turns = frame(records)
    turns = Repeats(turns).once(turns)
    found = _of_pcs(turns, stage1_import) if measure == "pcs" else _of_share(turns, measure.partition(":")[2], seed)
    return {
        key: None if span.low is None or span.high is None else (span.low, span.high) for key, span in found.items()
    }


def _of_pcs(turns: Frame, stage1_import: Sequence[Mapping[str, object]]) -> dict[tuple[str, str], bootstrap.Interval]:
    return {(cell.model, cell.language): cell.interval() for cell in pcs.cells(turns, stage1_import)}


def _of_share(turns: Frame, action: str, seed: str) -> dict[tuple[str, str], bootstrap.Interval]:
    place = ACTIONS.index(action)
    groups = turns.where(lambda seat: seat.phase == "phase1").groups(lambda seat: (seat.model, seat.language))
    return {key: _share(pcs.arm(group), place, stream(seed, f"p:{action}", *key)) for key, group in groups.items()}


def _share(arm: pcs.Arm, place: int, generator: np.random.Generator) -> bootstrap.Interval:
    if not arm.n or len(arm.runs) < _FEWEST:
        return bootstrap.Interval()
    size = len(arm.runs)
    drawn = generator.integers(0, size, (BOOTSTRAPS, size))
    counts: Floats = arm.counts[drawn].sum(axis=1)
    return bootstrap.interval(counts[:, place] / counts.sum(axis=1), size, size)

"""Looks while a matrix runs: PCS so far, and the intervals of adaptive sampling (`measures.md`, sections 0 and 3)."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final, Literal

import numpy as np
from playmolt_schemas.instrument.definitions import BOOTSTRAPS
from playmolt_schemas.instrument.laboratory import PcsArms
from playmolt_schemas.stored.agora.plan import AdaptiveMeasure, PcsSoFar
from playmolt_schemas.stored.agora.turn import ACTIONS, TurnRecord
from playmolt_schemas.text import decimal_text

from playmolt_agora.measures import pcs
from playmolt_agora.measures.data.frame import Frame, frame
from playmolt_agora.measures.divergence import Floats
from playmolt_agora.measures.inference import resampling
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


def _of_pcs(turns: Frame, stage1_import: Sequence[Mapping[str, object]]) -> dict[tuple[str, str], resampling.Interval]:
    return {(cell.model, cell.language): cell.interval() for cell in pcs.cells(turns, stage1_import)}


def _of_share(turns: Frame, action: str, seed: str) -> dict[tuple[str, str], resampling.Interval]:
    place = ACTIONS.index(action)
    groups = turns.where(lambda seat: seat.phase == "phase1").groups(lambda seat: (seat.model, seat.language))
    return {key: _share(pcs.arm(group), place, stream(seed, f"p:{action}", *key)) for key, group in groups.items()}


def _share(arm: pcs.Arm, place: int, generator: np.random.Generator) -> resampling.Interval:
    if not arm.n or len(arm.runs) < _FEWEST:
        return resampling.Interval()
    size = len(arm.runs)
    drawn = generator.integers(0, size, (BOOTSTRAPS, size))
    counts: Floats = arm.counts[drawn].sum(axis=1)
    return resampling.bootstrapped(counts[:, place] / counts.sum(axis=1), size, size)


def pcs_so_far(cells: Mapping[str, PcsArms]) -> dict[str, PcsSoFar]:
    """Cell → PCS over the turns taken so far."""
    return {name: _pcs_of(arms) for name, arms in cells.items()}


def _pcs_of(arms: PcsArms) -> PcsSoFar:
    cell = pcs.PcsCell("", "", pcs.counted_arm(arms.stage1), pcs.counted_arm(arms.phase1))
    within = (pcs.floor_runs(arm, cell.alpha) for arm in (cell.stage1, cell.phase1))
    floors = [None if value is None else _six_decimals(value) for value in within]
    _, floor = cell.test(stream("", "pcs_so_far"))
    return PcsSoFar(
        pcs=_six_decimals(cell.pcs or 0.0),
        floor_iid=_six_decimals(pcs.floor_iid(cell.stage1.n, cell.phase1.n)),
        floor_null=_six_decimals(floor),
        floor_stage1=floors[0],
        floor_phase1=floors[1],
        n_stage1=cell.stage1.n,
        n_phase1=cell.phase1.n,
        runs_stage1=len(arms.stage1),
        runs_phase1=len(arms.phase1),
    )


def decimal(interval: Interval | None, end: Literal[0, 1]) -> str | None:
    """An end of an interval as decimal text."""
    return None if interval is None else _six_decimals(interval[end])


def _six_decimals(value: float) -> str:
    return decimal_text(Decimal(f"{value:.6f}"))

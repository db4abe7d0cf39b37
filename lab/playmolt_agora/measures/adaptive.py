"""The intervals that adaptive sampling looks at (`measures.md`, sections 0 and 3)."""

from collections.abc import Iterable, Mapping, Sequence

from playmolt_schemas.instrument.laboratory import CellInterval
from playmolt_schemas.stored.agora.plan import AdaptiveMeasure
from playmolt_schemas.stored.agora.turn import ACTIONS, TurnRecord

from playmolt_agora.measures import pcs
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.inference import resampling
from playmolt_agora.measures.inference.arms import Arm
from playmolt_agora.measures.inference.looks import six_decimals
from playmolt_agora.measures.inference.resampling import Interval
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.repeats import Repeats


def intervals(
    records: Iterable[Mapping[str, object] | TurnRecord],
    measure: AdaptiveMeasure,
    seed: str,
    stage1_import: Sequence[Mapping[str, object]] = (),
) -> list[CellInterval]:
    """The 95 % interval of a measure in each cell over the runs so far.

    `stage1_import` are counts that replace Stage 1 runs, as `analysis.study` takes them.
    """
    turns = frame(records)
    turns = Repeats(turns).once(turns)
    if measure == "pcs":
        found = {(cell.model, cell.language): cell.interval() for cell in pcs.cells(turns, stage1_import)}
    else:
        action = measure.partition(":")[2]
        found = {cell: _of_share(arm, action, seed, cell) for cell, arm in pcs.by_cell(turns, "phase1").items()}
    return [
        CellInterval(model=model, language=language, low=_decimal(span.low), high=_decimal(span.high))
        for (model, language), span in found.items()
    ]


def _decimal(end: float | None) -> str | None:
    return None if end is None else six_decimals(end)


def _of_share(arm: Arm, action: str, seed: str, cell: tuple[str, str]) -> Interval:
    """The percentile bootstrap of an action's share. One run says nothing of others: it has no interval."""
    if not arm.n or len(arm.runs) < 2:
        return Interval()
    counts = resampling.drawn_runs(stream(seed, f"p:{action}", *cell), arm.counts).sum(axis=1)
    shares = counts[:, ACTIONS.index(action)] / counts.sum(axis=1)
    return resampling.bootstrapped(shares, len(arm.runs))

"""PCS over the turns so far, for a live view of a matrix: its computation needs no frame of turns."""

from collections.abc import Mapping
from decimal import Decimal

from playmolt_schemas.instrument.laboratory import PcsArms
from playmolt_schemas.stored.agora.plan import PcsSoFar
from playmolt_schemas.text import decimal_text

from playmolt_agora.measures.inference.arms import PcsCell, counted_arm, floor_iid, floor_runs
from playmolt_agora.measures.inference.streams import stream


def pcs_so_far(cells: Mapping[str, PcsArms]) -> dict[str, PcsSoFar]:
    """Cell → PCS over the turns taken so far."""
    return {name: _pcs_of(arms) for name, arms in cells.items()}


def _pcs_of(arms: PcsArms) -> PcsSoFar:
    cell = PcsCell("", "", counted_arm(arms.stage1), counted_arm(arms.phase1))
    floors = [floor_runs(arm, cell.alpha) for arm in (cell.stage1, cell.phase1)]
    _, floor = cell.test(stream("", "pcs_so_far"))
    return PcsSoFar(
        pcs=six_decimals(cell.pcs or 0.0),
        floor_iid=six_decimals(floor_iid(cell.stage1.n, cell.phase1.n)),
        floor_null=six_decimals(floor),
        floor_stage1=None if floors[0] is None else six_decimals(floors[0]),
        floor_phase1=None if floors[1] is None else six_decimals(floors[1]),
        n_stage1=cell.stage1.n,
        n_phase1=cell.phase1.n,
        runs_stage1=len(arms.stage1),
        runs_phase1=len(arms.phase1),
    )


def six_decimals(value: float) -> str:
    return decimal_text(Decimal(f"{value:.6f}"))

"""Adaptive sampling (G6): Phase 1 cells grow, one run a look, until their interval is narrow enough."""

from collections.abc import Mapping
from decimal import Decimal

from playmolt_schemas.agora.plan import Plan

from playmolt_agora.plan import matrix

Intervals = Mapping[str, tuple[str, str] | None]


def cells(plan: Plan) -> tuple[matrix.Cell, ...]:
    """Give the cells that may grow; none without `adaptive`."""
    if plan.adaptive is None:
        return ()
    return tuple(cell for cell in matrix.cells(plan) if cell.arm == "phase1")


def growing(plan: Plan, held: Mapping[str, int], intervals: Intervals) -> tuple[matrix.Cell, ...]:
    """Give the cells that get one more run: interval too wide, or none yet, and fewer runs than `max_runs`.

    `held` is cell → runs it has; `intervals` is cell → low and high end as decimal strings.
    """
    adaptive = plan.adaptive
    if adaptive is None:
        return ()
    return tuple(
        cell
        for cell in cells(plan)
        if held.get(cell.name, 0) < adaptive.max_runs and not _narrow(intervals.get(cell.name), adaptive.width)
    )


def _narrow(interval: tuple[str, str] | None, width: str) -> bool:
    return interval is not None and Decimal(interval[1]) - Decimal(interval[0]) <= Decimal(width)

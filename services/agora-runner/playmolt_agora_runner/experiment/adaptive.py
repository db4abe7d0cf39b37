"""Adaptive sampling (G6): Phase 1 cells grow, one run a look, until their interval is narrow enough."""

from collections.abc import Mapping
from decimal import Decimal

from playmolt_core.game.decider import Accepted, Decision
from playmolt_schemas.stored.agora.experiment import Looked, PlannedRun, RunAdded
from playmolt_schemas.stored.agora.plan import RUNS, Plan

from playmolt_agora_runner.experiment import commands, effects, preregistration
from playmolt_agora_runner.experiment.state import BY_CHARS, State
from playmolt_agora_runner.plan import matrix

Intervals = Mapping[str, tuple[str, str] | None]


def cells(plan: Plan) -> tuple[matrix.Cell, ...]:
    """The cells that may grow; none without `adaptive`."""
    if plan.adaptive is None:
        return ()
    return tuple(cell for cell in matrix.cells(plan) if cell.arm == "phase1")


def growing(plan: Plan, held: Mapping[str, int], intervals: Intervals) -> tuple[matrix.Cell, ...]:
    """The cells that get one more run: interval too wide, or none yet, and fewer runs than `max_runs`.

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


def look(state: State, command: commands.Look) -> Decision:
    if state.ended or not effects.look_is_due(state) or command.effect_id != effects.look_effect(state):
        return Accepted()
    looked = Looked(
        number=len(state.looks) + 1,
        by=command.by[:BY_CHARS],
        measure=command.measure[:BY_CHARS],
        intervals={cell: ends for cell, ends in command.intervals.items() if ends is not None},
        adaptive=True,
        finished=len(effects.ended_of_matrix(state)),
    )
    return Accepted((looked, *_additions(state, command, looked.number)))


def _additions(state: State, command: commands.Look, look: int) -> tuple[RunAdded, ...]:
    plan, held = state.plan, state.held()
    if plan is None:
        return ()
    grow = growing(plan, held, command.intervals)[: RUNS - len(state.runs)]
    return tuple(RunAdded(look=look, planned=_added(state, plan, cell, held[cell.name] + 1)) for cell in grow)


def _added(state: State, plan: Plan, cell: matrix.Cell, number: int) -> PlannedRun:
    return preregistration.planned_run(matrix.spec(plan, state.game_id, cell, number))


def _narrow(interval: tuple[str, str] | None, width: str) -> bool:
    return interval is not None and Decimal(interval[1]) - Decimal(interval[0]) <= Decimal(width)

"""Looks at a matrix while it runs: adaptive sampling, and PCS so far (measures.md, section 3).

Adaptive sampling (G6) adds one run a look to Phase 1 cells until their interval is narrow enough. PCS comes from the
counts that the experiment holds; no run is read.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from playmolt_core.game.decider import Accepted, Decision, Refused
from playmolt_schemas.codes import Code
from playmolt_schemas.instrument.laboratory import PcsArms
from playmolt_schemas.stored.agora.experiment import Looked, PcsSeen, RunAdded
from playmolt_schemas.stored.agora.plan import RUNS, Plan
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora_runner.experiment import commands, effects, preregistration
from playmolt_agora_runner.experiment.state import OPERATOR, RUNNER, Run, State
from playmolt_agora_runner.plan import matrix
from playmolt_agora_runner.plan import plan as plans

Counts = Sequence[int]


def growing_cells(plan: Plan) -> tuple[matrix.Cell, ...]:
    """The cells that may grow; none without `adaptive`."""
    if plan.adaptive is None:
        return ()
    return tuple(cell for cell in matrix.cells(plan) if cell.arm == "phase1")


def growing(plan: Plan, held: Mapping[str, int], intervals: Mapping[str, tuple[str, str]]) -> tuple[matrix.Cell, ...]:
    """The cells that get one more run: interval too wide, or none yet, and fewer runs than `max_runs`.

    `held` is cell → runs it has; `intervals` is cell → low and high end as decimal strings.
    """
    adaptive = plan.adaptive
    return tuple(
        cell
        for cell in growing_cells(plan)
        if adaptive
        and held.get(cell.name, 0) < adaptive.max_runs
        and not _narrow(intervals.get(cell.name), adaptive.width)
    )


def _narrow(interval: tuple[str, str] | None, width: str) -> bool:
    return interval is not None and Decimal(interval[1]) - Decimal(interval[0]) <= Decimal(width)


def take(state: State, command: commands.Look) -> Decision:
    plan, held, number = state.plan, state.held(), len(state.looks) + 1
    due = effects.look_is_due(state) and command.effect_id == effects.look_effect(state)
    if plan is None or plan.adaptive is None or state.ended or not due:
        return Accepted()
    looked = Looked(
        number=number,
        by=RUNNER,
        measure=plan.adaptive.measure,
        intervals=dict(command.intervals),
        adaptive=True,
        finished=len(effects.ended_of_matrix(state)),
    )
    grow = growing(plan, held, command.intervals)[: RUNS - len(state.runs)]
    specs = (matrix.spec(plan, state.game_id, cell, held[cell.name] + 1) for cell in grow)
    return Accepted((looked, *(RunAdded(look=number, planned=preregistration.planned_run(spec)) for spec in specs)))


_LOOKS: Final = 2000


def pcs_cells(plan: Plan) -> tuple[matrix.Cell, ...]:
    """The Phase 1 cells that have a Stage 1 to be compared with; none of an exploratory plan."""
    if plan.exploratory:
        return ()
    phase1 = (cell for cell in matrix.cells(plan) if cell.arm == "phase1")
    return tuple(cell for cell in phase1 if plans.stage1_runs(plan, str(cell.model), cell.language))


def enters_pcs(plan: Plan, run: Run) -> bool:
    """Whether what is done in a run enters PCS."""
    named = {name for cell in pcs_cells(plan) for name in (cell.name, _stage1(cell))}
    return run.parent is None and run.cell in named


def arms(plan: Plan, runs: Iterable[Run]) -> dict[str, PcsArms]:
    """Cell → its counts over the turns taken so far; a cell is left out until both arms have a valid turn.

    Whole runs that the analysis will exclude for failed parses are still in it.
    """
    counted: dict[str, list[Counts]] = {}
    for run in runs:
        own = [run.acts.get(action, 0) for action in ACTIONS]
        if run.parent is None and any(own):
            counted.setdefault(run.cell, []).append(own)
    found = {}
    for cell in pcs_cells(plan):
        imported = plans.imported(plan, str(cell.model), cell.language)
        stage1 = [[run.get(action, 0) for action in ACTIONS] for run in imported] or counted.get(_stage1(cell), [])
        phase1 = counted.get(cell.name, [])
        if stage1 and phase1:
            found[cell.name] = PcsArms(stage1=stage1, phase1=phase1)
    return found


def see(state: State, command: commands.SeePcs) -> Decision:
    if state.plan is None or not pcs_cells(state.plan):
        return Refused(
            Code.INVALID_REQUEST, "This plan has no PCS, which needs Stage 1 and Phase 1 runs of the same model."
        )
    found, turns = dict(command.figures), command.turns
    last = next((look for look in reversed(state.looks) if look.turns is not None), None)
    if state.over or not found or (last is not None and last.pcs == found):
        return Accepted()
    if len(state.looks) >= _LOOKS:
        return Refused(
            Code.INVALID_REQUEST, f"An experiment may have at most {_LOOKS} looks. The report will contain the figures."
        )
    seen = PcsSeen(number=len(state.looks) + 1, by=OPERATOR, turns=turns, figures=found)
    return Accepted((seen,))


def _stage1(cell: matrix.Cell) -> str:
    return f"stage1/{cell.model}/{cell.language}"

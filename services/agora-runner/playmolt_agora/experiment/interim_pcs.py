"""PCS while a matrix runs (measures.md, section 3), from the counts that the experiment holds; no run is read."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from playmolt_core.game.decider import Accepted, Decision, Refused
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.agora.experiment import PcsSeen
from playmolt_schemas.stored.agora.plan import PcsSoFar, Plan, Stage1Import
from playmolt_schemas.stored.agora.turn import ACTIONS
from playmolt_schemas.text import decimal_text

from playmolt_agora.experiment import commands
from playmolt_agora.experiment.state import BY_CHARS, Run, State
from playmolt_agora.plan import matrix
from playmolt_agora.plan import plan as plans

Counts = Sequence[int]
_LOOKS: Final = 2000


def cells(plan: Plan) -> tuple[matrix.Cell, ...]:
    """The Phase 1 cells that have a Stage 1 to be compared with; none of an exploratory plan."""
    if plan.exploratory:
        return ()
    phase1 = (cell for cell in matrix.cells(plan) if cell.arm == "phase1")
    return tuple(cell for cell in phase1 if plans.stage1_runs(plan, str(cell.model), cell.language))


def counts(plan: Plan, run: Run) -> bool:
    """Whether what is done in a run enters PCS."""
    named = {name for cell in cells(plan) for name in (cell.name, _stage1(cell))}
    return run.parent is None and run.cell in named


def figures(plan: Plan, runs: Iterable[Run]) -> dict[str, PcsSoFar]:
    """Cell → PCS over the turns taken so far; a cell is left out until both arms have a valid turn.

    Whole runs that the analysis will exclude for failed parses are still in it.
    """
    arms: dict[str, list[Counts]] = {}
    for run in runs:
        own = [run.acts.get(action, 0) for action in ACTIONS]
        if run.parent is None and any(own):
            arms.setdefault(run.cell, []).append(own)
    found = {}
    for cell in cells(plan):
        stage1 = _imported(plan, cell) or arms.get(_stage1(cell), [])
        phase1 = arms.get(cell.name, [])
        if stage1 and phase1:
            found[cell.name] = _figure(stage1, phase1)
    return found


def see(state: State, command: commands.SeePcs) -> Decision:
    if state.plan is None or not cells(state.plan):
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
    seen = PcsSeen(number=len(state.looks) + 1, by=command.by[:BY_CHARS], turns=turns, figures=found)
    return Accepted((seen,))


def _figure(stage1: Sequence[Counts], phase1: Sequence[Counts]) -> PcsSoFar:
    from playmolt_agora.measures import pcs  # noqa: PLC0415 -- numpy: only who looks has to wait for it
    from playmolt_agora.measures.inference.streams import stream  # noqa: PLC0415

    cell = pcs.PcsCell("", "", pcs.counted_arm(stage1), pcs.counted_arm(phase1))
    within = (pcs.floor_runs(arm, cell.alpha) for arm in (cell.stage1, cell.phase1))
    floors = [None if value is None else six_decimals(value) for value in within]
    _, floor = cell.test(stream("", "pcs_so_far"))
    return PcsSoFar(
        pcs=six_decimals(cell.pcs or 0.0),
        floor_iid=six_decimals(pcs.floor_iid(cell.stage1.n, cell.phase1.n)),
        floor_null=six_decimals(floor),
        floor_stage1=floors[0],
        floor_phase1=floors[1],
        n_stage1=cell.stage1.n,
        n_phase1=cell.phase1.n,
        runs_stage1=len(stage1),
        runs_phase1=len(phase1),
    )


def six_decimals(value: float) -> str:
    return decimal_text(Decimal(f"{value:.6f}"))


def _stage1(cell: matrix.Cell) -> str:
    return f"stage1/{cell.model}/{cell.language}"


def _imported(plan: Plan, cell: matrix.Cell) -> list[Counts]:
    imported = plan.stage1_import
    if not isinstance(imported, Stage1Import):
        return []
    here = (run.counts for run in imported.runs if (run.model, run.language) == (cell.model, cell.language))
    return [[counts.get(action, 0) for action in ACTIONS] for counts in here if any(counts.values())]

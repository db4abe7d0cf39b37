"""PCS while a matrix runs (measures.md, section 3), from the counts that the experiment holds; no run is read."""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Final

from playmolt_core.game.decider import Accepted, Decision, Refused
from playmolt_core.llm.catalogue import decimal_text
from playmolt_schemas.agora.plan import PcsSoFar, Plan, Stage1Import
from playmolt_schemas.agora.turn import ACTIONS
from playmolt_schemas.codes import Code

from playmolt_agora.experiment import commands
from playmolt_agora.experiment.events import PcsSeen
from playmolt_agora.experiment.refusals import BY_CHARS
from playmolt_agora.experiment.state import Run, State
from playmolt_agora.measures.data.definitions import SMOOTHING, UNSMOOTHED_FROM
from playmolt_agora.plan import matrix
from playmolt_agora.plan import plan as plans

Counts = Sequence[int]
_LN2: Final = math.log(2)
_LOOKS: Final = 2000


def cells(plan: Plan) -> tuple[matrix.Cell, ...]:
    """Give the Phase 1 cells that have a Stage 1 to be compared with; none of an exploratory plan."""
    if plan.exploratory:
        return ()
    phase1 = (cell for cell in matrix.cells(plan) if cell.arm == "phase1")
    return tuple(cell for cell in phase1 if plans.stage1_runs(plan, str(cell.model), cell.language))


def counts(plan: Plan, run: Run) -> bool:
    """Say whether what is done in a run enters PCS."""
    named = {name for cell in cells(plan) for name in (cell.name, _stage1(cell))}
    return run.parent is None and run.cell in named


def figures(plan: Plan, runs: Iterable[Run]) -> dict[str, PcsSoFar]:
    """Give cell → PCS over the turns taken so far; a cell is left out until both arms have a valid turn.

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
        return Refused(Code.INVALID_REQUEST, "This plan has no PCS: it takes Stage 1 and Phase 1 of one model.")
    found, turns = figures(state.plan, state.runs), state.spent.turns
    last = next((look for look in reversed(state.looks) if look.turns is not None), None)
    if state.over or not found or (last is not None and last.pcs == found):
        return Accepted()
    if len(state.looks) >= _LOOKS:
        return Refused(Code.INVALID_REQUEST, f"An experiment holds {_LOOKS} looks; the report will have the figures.")
    seen = PcsSeen(number=len(state.looks) + 1, by=command.by[:BY_CHARS], turns=turns, figures=found)
    return Accepted((seen,))


def jsd(left: Counts, right: Counts, alpha: float) -> float:
    """Give the divergence of two rows of counts in bits, each smoothed by α."""
    first, second = _shares(left, alpha), _shares(right, alpha)
    return sum(_half(p, (p + q) / 2) + _half(q, (p + q) / 2) for p, q in zip(first, second, strict=True))


def _figure(stage1: Sequence[Counts], phase1: Sequence[Counts]) -> PcsSoFar:
    one, other = _pooled(stage1), _pooled(phase1)
    n, m = sum(one), sum(other)
    alpha = 0.0 if min(n, m) >= UNSMOOTHED_FROM else SMOOTHING
    return PcsSoFar(
        pcs=_text(jsd(one, other, alpha)),
        floor_iid=_text((len(ACTIONS) - 1) * (1 / n + 1 / m) / (8 * _LN2)),
        floor_stage1=_inside(stage1, alpha),
        floor_phase1=_inside(phase1, alpha),
        n_stage1=n,
        n_phase1=m,
        runs_stage1=len(stage1),
        runs_phase1=len(phase1),
    )


def _inside(arm: Sequence[Counts], alpha: float) -> str | None:
    """Give the mean divergence between pairs of runs of an arm; None below two runs."""
    pairs = [jsd(one, other, alpha) for one, other in combinations(arm, 2)]
    return _text(sum(pairs) / len(pairs)) if pairs else None


def _pooled(arm: Sequence[Counts]) -> Counts:
    return [sum(column) for column in zip(*arm, strict=True)]


def _shares(row: Counts, alpha: float) -> list[float]:
    total = sum(row) + alpha * len(row)
    return [(count + alpha) / total for count in row]


def _half(p: float, middle: float) -> float:
    return p * math.log2(p / middle) / 2 if p else 0.0


def _text(value: float) -> str:
    return decimal_text(Decimal(f"{value:.6f}"))


def _stage1(cell: matrix.Cell) -> str:
    return f"stage1/{cell.model}/{cell.language}"


def _imported(plan: Plan, cell: matrix.Cell) -> list[Counts]:
    imported = plan.stage1_import
    if not isinstance(imported, Stage1Import):
        return []
    here = (run.counts for run in imported.runs if (run.model, run.language) == (cell.model, cell.language))
    return [[counts.get(action, 0) for action in ACTIONS] for counts in here if any(counts.values())]

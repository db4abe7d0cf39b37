"""The operator's view of an experiment. Other viewers see none of it."""

from collections import Counter

from msgspec.structs import replace
from playmolt_schemas.agora.coding import CoderRow, Codings, JudgeRow
from playmolt_schemas.agora.plan import (
    DeviationRow,
    ExperimentProgress,
    ExperimentRow,
    ExperimentRuns,
    ExperimentState,
    RunRow,
)
from playmolt_schemas.copying import copied
from playmolt_schemas.instrument.usage import cost_lines
from playmolt_schemas.stored.agora.experiment import ANSWERED

from playmolt_agora_runner.experiment import looks
from playmolt_agora_runner.experiment.state import Run, State


def experiment(state: State) -> ExperimentState:
    spent = state.spent
    return copied(
        ExperimentState,
        state,
        state.pins,
        experiment=state.game_id,
        id=state.game_id,
        plan=state.text,
        exploratory=_exploratory(state),
        scripted=_scripted(state),
        models=tuple(model.alias for model in state.models),
        progress=_progress(state),
        tokens=spent.tokens,
        cost=spent.cost,
        spent=spent,
        tests=tuple(test.test for test in state.tests if test.confirmatory),
        deviations=tuple(_deviation(state, line) for line in state.deviations),
        prompt_cut=dict(sum((Counter(run.noticed.prompt_cut) for run in state.runs), Counter())),
        costs=tuple(cost_lines([(run.cell, run.models) for run in state.runs])),
        pcs_cells=tuple(cell.name for cell in looks.pcs_cells(state.plan)) if state.plan else (),
    )


def runs(state: State) -> ExperimentRuns:
    """Its runs, planned ones first, then those that were added or branched off, in the order they came."""
    return ExperimentRuns(tuple(_run(state, run) for run in state.runs))


def codings(state: State) -> Codings:
    """Who has coded its thoughts, in the order they began."""
    return Codings(
        judges=tuple(copied(JudgeRow, each, each.judge, judge=each.judge.alias) for each in state.judges.values()),
        coders=tuple(CoderRow(coder=coder, rows=rows) for coder, rows in state.coders.items()),
    )


def line(state: State) -> ExperimentRow:
    return copied(
        ExperimentRow,
        state,
        experiment=state.game_id,
        progress=_progress(state),
        spent=state.spent,
        scripted=_scripted(state),
        exploratory=_exploratory(state),
    )


def _deviation(state: State, line: DeviationRow) -> DeviationRow:
    if not line.field.startswith(ANSWERED):
        return line
    alias = line.field.removeprefix(ANSWERED)
    count = sum(run.noticed.answered.get(alias, {}).get(line.after, 0) for run in state.runs)
    return replace(line, count=count)


def _progress(state: State) -> ExperimentProgress:
    return ExperimentProgress(
        runs=len(state.runs),
        open=len(state.open),
        finished=state.finished,
        turns_planned=sum(map(_planned, state.runs)),
    )


def _planned(run: Run) -> int:
    """The turns that a run has to take; what a fork took over of its parent shows when it has ended."""
    return run.spent.turns if run.parent and run.status == "finished" else run.turns


def _scripted(state: State) -> bool:
    return any(model.scripted for model in state.models)


def _exploratory(state: State) -> bool:
    return state.plan is not None and state.plan.exploratory


def _run(state: State, run: Run) -> RunRow:
    return copied(
        RunRow,
        run,
        turns_planned=_planned(run),
        exploratory=run.parent is not None or _exploratory(state),
        parent=run.parent.run if run.parent else None,
    )

"""What workers report of an experiment's runs: opened, under way, ended, refused, aborted."""

from collections.abc import Mapping, Sequence
from typing import Final

from playmolt_core.game.decider import Accepted, Decision, Refused
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.copying import copied
from playmolt_schemas.stored.agora.experiment import (
    ANSWERED,
    ActsCounted,
    Deviation,
    PinnedModel,
    RunFinished,
    RunProgressed,
    RunStarted,
)
from playmolt_schemas.stored.agora.plan import NOTE_CHARS, Noticed, Spent

from playmolt_agora_runner.experiment import commands, looks
from playmolt_agora_runner.experiment.state import DEVIATIONS_MOST, RUNNER, Run, State, no_run

_ANOTHER: Final = "another model answered than the one requested"
_OTHERWISE: Final = "the runner's version differs from the locked one"


def run_opened(state: State, command: commands.ReportRunOpened) -> Decision:
    run = _unfinished(state, command.run)
    if not isinstance(run, Run):
        return run
    return Accepted(_first_opened(run))


def run_reported(state: State, command: commands.ReportRun) -> Decision:
    report = command.report
    run = _unfinished(state, report.run)
    if not isinstance(run, Run):
        return run
    if isinstance(report, RunProgressed) and not _more(run.spent, report.spent):
        return Accepted()
    counted = _counted(state, run, command.acts)
    return Accepted((*_first_opened(run), *counted, *_other_models(state, report.noticed), report))


def run_without_result(state: State, command: commands.ReportRunWithoutResult) -> Decision:
    """End a run that nothing more will come of: the experiment must not wait for it."""
    run = _unfinished(state, command.run)
    if not isinstance(run, Run):
        return run
    return Accepted((copied(RunFinished, command, run),))


def stop_for_budget(state: State, command: commands.StopForBudget) -> Decision:
    if state.status != "running":
        return Accepted()
    run = str(command.stopped.run)
    return Accepted((command.stopped,)) if state.run(run) is not None else no_run(run)


def _unfinished(state: State, identifier: str) -> Run | Accepted | Refused:
    """The run that a report is about. An ended run has nothing more to report, and an ended experiment is closed."""
    run = state.run(identifier)
    if run is None:
        return no_run(identifier)
    return Accepted() if state.over or run.status == "finished" else run


def _counted(state: State, run: Run, acts: Mapping[str, int]) -> tuple[ActsCounted, ...]:
    """Keep what was done where PCS may be looked at, and nowhere else."""
    if state.plan is None or dict(acts) == run.acts or not looks.enters_pcs(state.plan, run):
        return ()
    return (ActsCounted(run=run.run, acts=dict(acts)),)


def _other_models(state: State, noticed: Noticed) -> tuple[Deviation, ...]:
    """Another model answered than was asked: a deviation once, counted with the runs."""
    known = {(line.field, line.after) for line in state.deviations}
    asked = {model.alias: model.model for model in state.models}
    found = (
        (f"{ANSWERED}{alias}", asked.get(alias, alias), other[:NOTE_CHARS])
        for alias, others in noticed.answered.items()
        for other in others
    )
    return _deviations(state, _ANOTHER, [each for each in found if (each[0], each[2]) not in known])


def compare(state: State, command: commands.Compare) -> Decision:
    """A model that the runner does not have plays nothing."""
    if state.over:
        return Accepted()
    now = {model.alias: model for model in command.models}
    compared = [
        ("stimuli", state.pins.stimuli, command.pins.stimuli),
        ("stage1", state.pins.stage1, command.pins.stage1),
        *((f"models.{each.alias}", _text(each), _text(now.get(each.alias, each))) for each in state.models),
    ]
    recorded = {line.field: line.after for line in state.deviations}
    changes = [(field, recorded.get(field, locked), after) for field, locked, after in compared]
    changed = [each for each in changes if each[1] != each[2]]
    return Accepted(_deviations(state, _OTHERWISE, changed))


def _text(model: PinnedModel) -> str:
    return canonical_json(model).decode()


def _deviations(state: State, reason: str, changes: Sequence[tuple[str, str, str]]) -> tuple[Deviation, ...]:
    """A deviation for each change, as field, value before and value after, as long as there is room for more."""
    first, room = len(state.deviations) + 1, DEVIATIONS_MOST - len(state.deviations)
    return tuple(
        Deviation(
            number=number, by=RUNNER, field=field, before=before[:NOTE_CHARS], after=after[:NOTE_CHARS], reason=reason
        )
        for number, (field, before, after) in enumerate(changes[:room], first)
    )


def _first_opened(run: Run) -> tuple[RunStarted, ...]:
    """A worker that reports turns may have lost the report that the run was opened."""
    if run.status != "planned":
        return ()
    return (copied(RunStarted, run),)


def _more(before: Spent, after: Spent) -> bool:
    grown = (after.turns, after.calls, after.tokens) > (before.turns, before.calls, before.tokens)
    return grown and after.turns >= before.turns and after.calls >= before.calls and after.tokens >= before.tokens

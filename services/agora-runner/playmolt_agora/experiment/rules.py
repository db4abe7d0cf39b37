"""An experiment: a plan is locked, its runs are opened, what they took is counted, what departs from it is recorded."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace
from playmolt_core.game.decider import (
    Accepted,
    Command,
    Decision,
    Effect,
    EndGame,
    Event,
    Refused,
    Viewer,
)
from playmolt_core.game.endings import ended
from playmolt_core.game.game import Game
from playmolt_core.llm.catalogue import Catalogue, is_scripted
from playmolt_schemas.agora.plan import NOTE_CHARS, RUNS, Hidden, Plan, Preview, Spent
from playmolt_schemas.agora.turn import Parent, RunSpec
from playmolt_schemas.canonical import canonical_json, digest
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.games.game_summary import GameSummary
from playmolt_schemas.limits import RECORD_BYTES
from playmolt_schemas.text import trimmed, unstorable
from typing_extensions import override

from playmolt_agora.checks import symmetry
from playmolt_agora.experiment import adaptive, budget, commands, interim_pcs, preregistration
from playmolt_agora.experiment.events import (
    EVENTS,
    ActsCounted,
    BudgetStopped,
    Deviation,
    ExperimentAborted,
    ExperimentFinished,
    Forked,
    Looked,
    PcsSeen,
    PinnedModel,
    PlannedRun,
    Resumed,
    RunAdded,
    RunFinished,
    RunOpened,
    RunProgressed,
    Stopped,
)
from playmolt_agora.experiment.state import FOLDS, Run, State
from playmolt_agora.plan import matrix
from playmolt_agora.plan import plan as plans
from playmolt_agora.plan.preview import preview
from playmolt_agora.run import branch, opening
from playmolt_agora.scripted import residents
from playmolt_agora.turn import texts

_METADATA_BYTES: Final = 16 * 1024
"""What a record holds beside its data, generously."""
_BY_CHARS: Final = 100
_LOOKS: Final = 2000
_FORKS: Final = 200
_OTHERWISE: Final = "the runner has it otherwise than it was locked"


class Experiment(Game[State]):
    """The decider of an experiment. It owes the opening of its runs, and nothing of it is public."""

    game = "experiment"
    rules_version = 1
    needed = 0
    events = EVENTS
    folds = FOLDS
    opening = frozenset((commands.OpenExperiment,))
    unknown = Refused(Code.NOT_FOUND, "There is no such experiment. POST /api/agora/experiments opens one.")
    foreign = Refused(Code.INVALID_REQUEST, "An experiment takes a plan, stop, resume, fork; it is no bot game.")

    def __init__(self) -> None:
        self.content_version = texts.version()
        super().__init__(
            {
                commands.OpenExperiment: self._open,
                commands.RunOpened: _run_opened,
                commands.RunProgressed: _run_progressed,
                commands.RunFinished: _run_finished,
                commands.StopForBudget: _stop_for_budget,
                commands.Stop: _stop,
                commands.Resume: _resume,
                commands.RunRefused: _run_refused,
                commands.RunAborted: _run_aborted,
                commands.RaiseBudget: _raise_budget,
                commands.Compare: _compare,
                commands.Look: _look,
                commands.SeePcs: _see_pcs,
                commands.Fork: _fork,
                EndGame: _end,
            }
        )

    @override
    def initial(self, game_id: str) -> State:
        return State(game_id=game_id)

    @override
    def follow(self, state: State, command: Command) -> Event | None:
        return ExperimentFinished(runs=len(state.runs), spent=state.spent) if _complete(state) else None

    @override
    def view(self, state: State, viewer: Viewer) -> Hidden:
        """Its operator reads it through routes of its own."""
        return Hidden()

    @override
    def operator_view(self, state: State) -> Mapping[str, Any]:
        """Give what pins the experiment."""
        return {"name": state.name, "plan_hash": state.plan_hash, "seed": state.seed, "operator": state.operator}

    @override
    def summary(self, state: State) -> GameSummary:
        """Give the experiment at a glance; its round counts the runs that ended."""
        total = len(state.runs)
        return GameSummary(phase=state.status, round=state.finished, seated=total, needed=total, over=state.over)

    @override
    def effects(self, state: State) -> Sequence[Effect]:
        """Ask for each run that is not opened yet, all at once, for the look that adaptive sampling needs, and for an
        eye on those that are open.
        """
        if state.status != "running" or state.since is None:
            return ()
        effects = [
            Effect(id=open_effect(state, run), kind=commands.EFFECT_OPEN, due=state.since)
            for run in state.runs
            if run.status == "planned"
        ]
        if _look_is_due(state):
            effects.append(Effect(id=look_effect(state), kind=commands.EFFECT_LOOK, due=state.since))
        if state.open:
            watch = digest([commands.EFFECT_WATCH, state.game_id])[:32]
            effects.append(Effect(id=watch, kind=commands.EFFECT_WATCH, due=state.since))
        return effects

    def run_owed(self, state: State, effect_id: str) -> RunSpec | None:
        """Give the specification of the run that an `open_run` effect asks for; None when it is owed no more."""
        owed = (run for run in state.runs if run.status == "planned" and open_effect(state, run) == effect_id)
        found = next(owed, None)
        return self.spec(state, found.run) if found else None

    def spec(self, state: State, run: str) -> RunSpec | None:
        """Give the specification of a run as it was locked; None for one that is none of this experiment's.

        Raises ValueError when it is no longer what the lock hashed: this software then is another than the lock's.
        """
        found = state.run(run)
        if found is None or state.plan is None:
            return None
        made = _spec(state, state.plan, found)
        if digest(made) != found.spec:
            raise ValueError(f"{run}: its specification is not the one that was locked; run it with that version")
        return made

    def _open(self, state: State, command: commands.OpenExperiment) -> Decision:
        read = read_plan(command.plan, command.imported, command.catalogue)
        if isinstance(read, Refused):
            return read
        text, plan, found = read
        if state.version:
            same = state.plan_hash == found.plan_hash
            return Accepted() if same else Refused(Code.ALREADY_STARTED, "This experiment has another plan.")
        if not symmetry.certificate().ok:
            return Refused(Code.INVALID_REQUEST, "The prompts are not symmetric: `playmolt agora check` says where.")
        locked = preregistration.preregistered(
            state.game_id,
            command.operator[:_BY_CHARS],
            text,
            plan,
            found,
            command.catalogue,
            rules_version=self.rules_version,
            content_version=self.content_version,
        )
        size = len(canonical_json(locked))
        if size > RECORD_BYTES - _METADATA_BYTES:
            fault = FieldFault(
                "phases", f"come to a lock of {size} bytes, which one record cannot hold: plan fewer runs"
            )
            return _invalid((fault,))
        return Accepted((locked,))


def read_plan(body: Any, imported: Mapping[str, str], catalogue: Catalogue) -> tuple[str, Plan, Preview] | Refused:
    """Read a plan (YAML or JSON text, or a JSON object) and work it out, or refuse it with every fault."""
    if isinstance(body, str):
        text, plan = body, plans.read(body, imported)
    else:
        plan = plans.read_document(body, imported)
        text = plans.text_of(body) if isinstance(plan, Plan) else ""
    if not isinstance(plan, Plan):
        return _invalid(plan)
    found = preview(plan, catalogue)
    return _invalid(found.faults) if found.faults else (text, plan, found)


def open_effect(state: State, run: Run) -> str:
    """Name the opening of a run: 32 hex digits, the same after a crash."""
    return digest([commands.EFFECT_OPEN, state.game_id, run.run])[:32]


def look_effect(state: State) -> str:
    """Name the look that adaptive sampling waits for: 32 hex digits, another one once more runs have ended."""
    return digest([commands.EFFECT_LOOK, state.game_id, _settled(state)])[:32]


def _invalid(faults: Sequence[FieldFault]) -> Refused:
    told = "; ".join(f"{fault.field}: {fault.message}" if fault.field else fault.message for fault in faults[:5])
    more = f" (and {len(faults) - 5} more)" if len(faults) > 5 else ""
    return Refused(Code.INVALID_REQUEST, f"Mend the plan and send it again. {told}{more}", tuple(faults))


def _spec(state: State, plan: Plan, run: Run) -> RunSpec:
    if run.parent is not None:
        parent = state.run(run.parent.run)
        if parent is None:
            raise LookupError(f"{run.run} branches off a run that is not there")
        return branch.forked(_spec(state, plan, parent), run.run, run.parent.version, run.parent.change)
    made = matrix.spec(plan, state.game_id, matrix.cell_of(plan, run.cell), run.number)
    if digest(made) == run.spec:
        return made
    return replace(made, seed=matrix.seed_of_cell(plan, run.cell, run.number))


def _settled(state: State) -> int:
    """Count the ended runs that count for the matrix."""
    return sum(run.status == "finished" and run.parent is None for run in state.runs)


def _look_is_due(state: State) -> bool:
    if state.plan is None or state.plan.adaptive is None:
        return False
    of_matrix = [run for run in state.runs if run.parent is None]
    return all(run.status == "finished" for run in of_matrix) and state.looked != len(of_matrix)


def _complete(state: State) -> bool:
    ended = all(run.status == "finished" for run in state.runs)
    return ended and not state.over and not _look_is_due(state)


def _run_opened(state: State, command: commands.RunOpened) -> Decision:
    run = state.run(command.run)
    if run is None:
        return _no_run(command.run)
    return Accepted() if state.over or run.status != "planned" else Accepted((_opened(run),))


def _run_progressed(state: State, command: commands.RunProgressed) -> Decision:
    run = state.run(command.run)
    if run is None:
        return _no_run(command.run)
    if state.over or run.status == "finished" or not _more(run.spent, command.spent):
        return Accepted()
    progressed = RunProgressed(run=run.run, spent=command.spent)
    return Accepted((*_first_opened(run), progressed, *_counted(state, run, command.acts)))


def _run_finished(state: State, command: commands.RunFinished) -> Decision:
    run = state.run(command.run)
    if run is None:
        return _no_run(command.run)
    if state.over or run.status == "finished":
        return Accepted()
    finished = RunFinished(
        run=run.run, outcome=command.outcome, version=command.version, hash=command.hash, spent=command.spent
    )
    return Accepted((*_first_opened(run), *_counted(state, run, command.acts), finished))


def _run_refused(state: State, command: commands.RunRefused) -> Decision:
    return _without_result(state, command.run, "refused", 0, "")


def _run_aborted(state: State, command: commands.RunAborted) -> Decision:
    return _without_result(state, command.run, "aborted", command.version, command.hash)


def _without_result(state: State, identifier: str, outcome: str, version: int, last: str) -> Decision:
    """End a run that nothing more will come of: the experiment must not wait for it."""
    run = state.run(identifier)
    if run is None:
        return _no_run(identifier)
    if state.over or run.status == "finished":
        return Accepted()
    return Accepted((RunFinished(run=run.run, outcome=outcome, version=version, hash=last, spent=run.spent),))


def _counted(state: State, run: Run, acts: Mapping[str, int]) -> tuple[ActsCounted, ...]:
    """Keep what was done where PCS may be looked at, and nowhere else."""
    if state.plan is None or dict(acts) == run.acts or not interim_pcs.counts(state.plan, run):
        return ()
    return (ActsCounted(run=run.run, acts=dict(acts)),)


def _first_opened(run: Run) -> tuple[RunOpened, ...]:
    """Who tells of a run's turns may have lost the word that it was opened."""
    return (_opened(run),) if run.status == "planned" else ()


def _opened(run: Run) -> RunOpened:
    return RunOpened(run=run.run, cell=run.cell, number=run.number, spec=run.spec)


def _more(before: Spent, after: Spent) -> bool:
    grown = (after.turns, after.calls, after.tokens) > (before.turns, before.calls, before.tokens)
    return grown and after.turns >= before.turns and after.calls >= before.calls and after.tokens >= before.tokens


def _no_run(run: str) -> Refused:
    return Refused(Code.NOT_FOUND, f"{run[:60]} is no run of this experiment. GET …/runs lists them.")


def _stop_for_budget(state: State, command: commands.StopForBudget) -> Decision:
    if state.status != "running":
        return Accepted()
    if state.run(command.run) is None:
        return _no_run(command.run)
    reached = command.reached
    stopped = BudgetStopped(
        limit=reached.limit,
        scope=reached.scope,
        run=command.run,
        most=reached.most,
        spent=reached.spent,
        detail=reached.detail[:NOTE_CHARS],
    )
    return Accepted((stopped,))


def _stop(state: State, command: commands.Stop) -> Decision:
    if state.over:
        return _game_over(state)
    if state.status == "stopped":
        return Accepted()
    return _with_reason(command.reason, lambda reason: (Stopped(by=command.by[:_BY_CHARS], reason=reason),))


def _resume(state: State, command: commands.Resume) -> Decision:
    if state.over:
        return _game_over(state)
    return Accepted() if state.status == "running" else Accepted((Resumed(by=command.by[:_BY_CHARS]),))


def _raise_budget(state: State, command: commands.RaiseBudget) -> Decision:
    if state.over:
        return _game_over(state)
    by = command.by[:_BY_CHARS]
    going_on = () if state.status == "running" else (Resumed(by=by),)
    if command.budget == state.budget:
        return Accepted(going_on)
    fault = budget.raised(state.budget, command.budget)
    if fault:
        return Refused(Code.INVALID_REQUEST, f"{fault}.", (FieldFault("budget", fault),))

    def deviation(reason: str) -> tuple[Event, ...]:
        before, after = (canonical_json(each).decode() for each in (state.budget, command.budget))
        number = len(state.deviations) + 1
        return (
            Deviation(
                number=number, by=by, field="budget", before=before, after=after, reason=reason, budget=command.budget
            ),
            *going_on,
        )

    return _with_reason(command.reason, deviation)


def _compare(state: State, command: commands.Compare) -> Decision:
    if state.over or len(state.deviations) >= _LOOKS:
        return Accepted()
    told = {line.field: line.after for line in state.deviations}
    found: list[Deviation] = []
    for field, locked, now in _compared(state, command):
        before = told.get(field, locked)
        if now != before:
            number = len(state.deviations) + len(found) + 1
            found.append(
                Deviation(
                    number=number, by=command.by[:_BY_CHARS], field=field, before=before[:NOTE_CHARS],
                    after=now[:NOTE_CHARS], reason=_OTHERWISE,
                )
            )  # fmt: skip
    return Accepted(tuple(found))


def _compared(state: State, command: commands.Compare) -> Iterator[tuple[str, str, str]]:
    """Give field, value at the lock and value now; a model that the runner has not, plays nothing."""
    yield "stimuli", state.pins.stimuli, command.pins.stimuli
    yield "stage1", state.pins.stage1, command.pins.stage1
    now = {model.alias: model for model in command.models}
    for model in state.models:
        yield f"models.{model.alias}", _model_text(model), _model_text(now.get(model.alias, model))


def _model_text(model: PinnedModel) -> str:
    return canonical_json(model).decode()


def _with_reason(reason: str, events: Callable[[str], tuple[Event, ...]]) -> Decision:
    if unstorable(reason):
        fault = FieldFault("reason", "holds NUL or a lone surrogate")
        return Refused(Code.INVALID_REQUEST, "The reason must not hold NUL or lone surrogates.", (fault,))
    return Accepted(events(trimmed(reason)[:NOTE_CHARS]))


def _look(state: State, command: commands.Look) -> Decision:
    if state.status == "aborted" or not _look_is_due(state) or command.effect_id != look_effect(state):
        return Accepted()
    looked = Looked(
        number=len(state.looks) + 1,
        by=command.by[:_BY_CHARS],
        measure=command.measure[:_BY_CHARS],
        intervals={cell: ends for cell, ends in command.intervals.items() if ends is not None},
        adaptive=True,
        finished=_settled(state),
    )
    return Accepted((looked, *_additions(state, command, looked.number)))


def _see_pcs(state: State, command: commands.SeePcs) -> Decision:
    if state.plan is None or not interim_pcs.cells(state.plan):
        return Refused(Code.INVALID_REQUEST, "This plan has no PCS: it takes Stage 1 and Phase 1 of one model.")
    figures, turns = interim_pcs.figures(state.plan, state.runs), state.spent.turns
    last = next((look for look in reversed(state.looks) if look.turns is not None), None)
    if state.over or not figures or (last is not None and last.pcs == figures):
        return Accepted()
    if len(state.looks) >= _LOOKS:
        return Refused(Code.INVALID_REQUEST, f"An experiment holds {_LOOKS} looks; the report will have the figures.")
    seen = PcsSeen(number=len(state.looks) + 1, by=command.by[:_BY_CHARS], turns=turns, figures=figures)
    return Accepted((seen,))


def _additions(state: State, command: commands.Look, look: int) -> tuple[RunAdded, ...]:
    plan, held = state.plan, state.held()
    if plan is None:
        return ()
    grow = adaptive.growing(plan, held, command.intervals)[: RUNS - len(state.runs)]
    return tuple(RunAdded(look=look, planned=_added(state, plan, cell, held[cell.name] + 1)) for cell in grow)


def _added(state: State, plan: Plan, cell: matrix.Cell, number: int) -> PlannedRun:
    return preregistration.planned_run(matrix.spec(plan, state.game_id, cell, number))


def _fork(state: State, command: commands.Fork) -> Decision:
    parent = state.run(command.run)
    if parent is None or state.plan is None:
        return _no_run(command.run)
    refusal = _no_fork(state, parent, command)
    if refusal:
        return refusal
    forks = sum(run.parent is not None for run in state.runs)
    identifier = matrix.run_id(state.game_id, f"fork/{parent.run}/{command.version}/{command.change}", forks + 1)
    try:
        spec = branch.forked(_spec(state, state.plan, parent), identifier, command.version, command.change)
    except branch.InvalidChange as error:
        return Refused(Code.INVALID_REQUEST, f"{error}.", (FieldFault("set", str(error)),))
    unknown = [model for model in branch.models_of(spec) if not _plays(model, state, command.catalogue)]
    if unknown:
        message = f"{unknown[0][:64]} is no model here"
        return Refused(Code.INVALID_REQUEST, f"{message}.", (FieldFault("set", message),))
    if found := opening.faults(spec):
        return Refused(
            Code.INVALID_REQUEST, f"{found[0].field} {found[0].message}.", (FieldFault("set", found[0].message),)
        )
    origin = Parent(run=parent.run, version=command.version, change=command.change)
    return Accepted((Forked(by=command.by[:_BY_CHARS], parent=origin, planned=preregistration.planned_run(spec)),))


def _no_fork(state: State, parent: Run, command: commands.Fork) -> Refused | None:
    if state.status == "aborted":
        return _game_over(state)
    if parent.status == "planned":
        return Refused(Code.NOT_STARTED, "This run has no events yet. Fork it once it is under way.")
    if command.version < 1 or unstorable(command.change):
        return Refused(Code.INVALID_REQUEST, f"Give a version from 1 on and a change of {branch.CHANGES}.")
    if sum(run.parent is not None for run in state.runs) >= _FORKS:
        return Refused(Code.INVALID_REQUEST, f"An experiment holds {_FORKS} forks. Open another experiment.")
    return None


def _plays(model: str, state: State, catalogue: Catalogue) -> bool:
    if is_scripted(model):
        return model in residents.ALIASES
    return model in catalogue.models or model in {pinned.alias for pinned in state.models}


def _end(state: State, command: EndGame) -> Decision:
    if state.over:
        return _game_over(state)
    return ended(command, ExperimentAborted)


def _game_over(state: State) -> Refused:
    return Refused(Code.GAME_OVER, f"This experiment is {state.status}; its runs and report can be read.")


__all__ = ["Experiment", "look_effect", "open_effect", "read_plan"]

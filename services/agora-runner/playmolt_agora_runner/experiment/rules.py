"""An experiment: a plan is preregistered, its runs are opened, what they take is counted, deviations are recorded."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import UNSET
from playmolt_core.game.decider import Accepted, Command, Decision, Effect, EndGame, Refused, Viewer
from playmolt_core.game.game import Game, ended
from playmolt_schemas.agora.plan import INTERRUPTED, Hidden
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import Code
from playmolt_schemas.copying import copied
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.stored.agora.experiment import (
    EVENTS,
    BatchEnded,
    Deviation,
    ExperimentAborted,
    ExperimentFinished,
    Resumed,
    Stopped,
)
from playmolt_schemas.stored.agora.plan import NOTE_CHARS
from playmolt_schemas.stored.event import Event
from playmolt_schemas.text import trimmed
from typing_extensions import override

from playmolt_agora_runner import budget
from playmolt_agora_runner.experiment import coding, commands, effects, forking, looks, run_reports
from playmolt_agora_runner.experiment.preregistration import RULES_VERSION
from playmolt_agora_runner.experiment.state import FOLDS, OPERATOR, RUNNER, State, game_over, invalid
from playmolt_agora_runner.turn import texts

_WHILE_GOING: Final = frozenset((commands.Stop, commands.Resume, EndGame))
_UNLESS_ENDED: Final = frozenset((commands.StartJudge, commands.StopJudge, commands.TakeSheet, commands.ForkRun))
"""What an operator may ask of a finished experiment as well."""


class Experiment(Game[State]):
    """The decider of an experiment. Nothing of it is public."""

    game = "experiment"
    rules_version = RULES_VERSION
    needed = 0
    events = EVENTS
    folds = FOLDS
    opening = frozenset((commands.OpenExperiment,))
    unknown = Refused(Code.NOT_FOUND, "This experiment does not exist. Open one with POST /api/agora/experiments.")
    foreign = Refused(Code.INVALID_REQUEST, "Bots cannot play an experiment. Send a plan, stop, resume or fork.")

    def __init__(self) -> None:
        self.content_version = texts.version()
        super().__init__(
            {
                commands.OpenExperiment: _open,
                commands.ReportRunOpened: run_reports.run_opened,
                commands.ReportRun: run_reports.run_reported,
                commands.StopForBudget: run_reports.stop_for_budget,
                commands.Stop: _stop,
                commands.Resume: _resume,
                commands.ReportRunWithoutResult: run_reports.run_without_result,
                commands.Compare: run_reports.compare,
                commands.Look: looks.take,
                commands.SeePcs: looks.see,
                commands.ForkRun: forking.fork,
                commands.StartJudge: coding.start_judging,
                commands.StopJudge: coding.stop_judging,
                commands.RecordJudgement: coding.record_judgement,
                commands.EndJudge: coding.end_judging,
                commands.TakeSheet: coding.take_sheet,
                commands.SubmitBatch: _submit_batch,
                commands.EndBatch: _end_batch,
                commands.CloseBatches: _close_batches,
                EndGame: _end,
            }
        )

    @override
    def initial(self, game_id: str) -> State:
        return State(game_id=game_id)

    @override
    def decide(self, state: State, command: Command, at: datetime) -> Decision:
        refused = state.ended if type(command) in _UNLESS_ENDED else state.over and type(command) in _WHILE_GOING
        return game_over(state) if refused else super().decide(state, command, at)

    @override
    def follow(self, state: State, command: Command) -> Event | None:
        return ExperimentFinished(runs=len(state.runs), spent=state.spent) if _complete(state) else None

    @override
    def view(self, state: State, viewer: Viewer) -> Hidden:
        """Its operator reads it through separate routes."""
        return Hidden()

    @override
    def operator_view(self, state: State) -> Mapping[str, object]:
        """What pins the experiment."""
        return {"name": state.name, "plan_hash": state.plan_hash, "seed": state.seed, "operator": state.operator}

    @override
    def summary(self, state: State) -> GameSummary:
        """Its round counts the runs that ended."""
        total = len(state.runs)
        return GameSummary(phase=state.status, round=state.finished, seated=total, needed=total, over=state.over)

    @override
    def effects(self, state: State) -> Sequence[Effect[effects.Payload]]:
        return tuple(effects.effects(state))


def _open(state: State, command: commands.OpenExperiment) -> Decision:
    lock = command.preregistered
    if not state.version:
        return Accepted((lock,))
    same = state.plan_hash == lock.plan_hash and state.folder == lock.folder
    return Accepted() if same else Refused(Code.ALREADY_STARTED, "This experiment has a different plan.")


def _complete(state: State) -> bool:
    if state.status == "finished":
        return state.coded_since and not state.judging
    ended = all(run.status == "finished" for run in state.runs)
    return ended and not state.over and not effects.look_is_due(state)


def _stop(state: State, command: commands.Stop) -> Decision:
    if state.status == "stopped":
        return Accepted()
    kind = "interrupt" if command.kind == "operator" and command.reason == INTERRUPTED else command.kind
    by = OPERATOR if command.kind == "operator" else RUNNER
    return Accepted((copied(Stopped, command, by=by, reason=_note(command.reason), kind=kind),))


def _resume(state: State, command: commands.Resume) -> Decision:
    resumed = Resumed(by=OPERATOR)
    if command.budget is UNSET:
        # Also of a running one, some of whose runs may wait for it.
        return Accepted((resumed,))
    going_on = () if state.status == "running" else (resumed,)
    if command.budget == state.budget:
        return Accepted(going_on)
    if fault := budget.raised(state.budget, command.budget):
        return invalid("budget", fault)
    before, after = (canonical_json(each).decode() for each in (state.budget, command.budget))
    deviation = Deviation(
        number=len(state.deviations) + 1, by=OPERATOR, field="budget", before=before, after=after,
        reason=_note(command.reason), budget=command.budget,
    )  # fmt: skip
    return Accepted((deviation, *going_on))


def _note(reason: str) -> str:
    return trimmed(reason)[:NOTE_CHARS]


def _submit_batch(state: State, command: commands.SubmitBatch) -> Decision:
    open_already = any(each.batch == command.submitted.batch for each in state.batches)
    return Accepted(() if state.status == "aborted" or open_already else (command.submitted,))


def _close_batches(state: State, _: commands.CloseBatches) -> Decision:
    settled = state.ends and state.status != "aborted" and not state.batches
    return Accepted((ExperimentAborted(reason=state.reason),) if settled else ())


def _end_batch(state: State, command: commands.EndBatch) -> Decision:
    batch = next((each for each in state.batches if each.batch == command.batch), None)
    # Of an experiment that was ended meanwhile, the cost of the answers has to be counted first.
    if batch is None or (state.ended and not command.spent):
        return Accepted()
    done = min(command.done, batch.calls)
    return Accepted((BatchEnded(batch=batch.batch, done=done, failed=batch.calls - done, spent=command.spent),))


def _end(state: State, command: EndGame) -> Decision:
    found = ended(command, ExperimentAborted)
    if isinstance(found, Refused):
        return found
    # A judge that goes on would ask, and pay, about one thought after the other.
    judges = coding.all_stopped(state)
    if not state.uses_batches:
        return Accepted((*judges, *found.events))
    # An aborted experiment holds no further event, and what its batches cost is to be in it.
    return Accepted((*judges, Stopped(by=OPERATOR, reason=trimmed(command.reason), kind="operator", ends=True)))

"""Coding of an experiment's thoughts: by judges, within separate budgets, and by people on sheets."""

from playmolt_core.game.decider import Accepted, Decision, Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.copying import copied
from playmolt_schemas.stored.agora.experiment import (
    JudgeBudget,
    JudgingEnded,
    JudgingStarted,
    JudgingStatus,
    PinnedModel,
    SheetCoded,
)
from playmolt_schemas.stored.agora.plan import NOTE_CHARS

from playmolt_agora_runner.budget import with_prices
from playmolt_agora_runner.experiment import commands
from playmolt_agora_runner.experiment.preregistration import pinned
from playmolt_agora_runner.experiment.state import OPERATOR, Judge, State, game_over, invalid
from playmolt_agora_runner.plan.plan import known_models


def pinned_judge(alias: str, budget: JudgeBudget, catalogue: Catalogue, *, batch: bool) -> PinnedModel | Refused:
    """A judge as the catalogue names it; refused if it does not exist, has no price although money is limited, or
    does not support the requested batches."""
    if alias not in (known := known_models(catalogue)):
        return invalid("model", f"the catalogue has no model {alias[:60]!r}; it has {', '.join(known)}")
    if budget.money is not None and not with_prices(alias, catalogue.models.get(alias)).priced:
        return invalid("budget.money", f"{alias} has no price in the catalogue, so its cost cannot be counted")
    entry = catalogue.models.get(alias)
    if batch and not (entry and entry.batch):
        return invalid("batch", f"{alias} does not accept batches; models that do have `batch = true` in the catalogue")
    return pinned(alias, catalogue)


def start_judging(state: State, command: commands.StartJudge) -> Decision:
    before = state.judges.get(command.judge.alias)
    number = state.judgings + 1
    started = copied(JudgingStarted, command, number=number, by=OPERATOR)
    if before is not None and before.status == "running":
        known = (before.turns, before.budget, before.judge, bool(before.batch))
        same = known == (command.turns, command.budget, command.judge, command.batch)
        return Accepted() if same else Accepted((_ended(before, "stopped", "it is begun otherwise"), started))
    return Accepted((started,))


def stop_judging(state: State, command: commands.StopJudge) -> Decision:
    judge = state.judges.get(command.judge)
    if judge is None:
        return _no_judge(command.judge)
    return Accepted((_ended(judge, "stopped", "its operator stopped it"),)) if judge.status == "running" else Accepted()


def all_stopped(state: State) -> tuple[JudgingEnded, ...]:
    """The ends of the judges at work, as their experiment is ended."""
    return tuple(_ended(judge, "stopped", "the experiment was ended") for judge in state.judging)


def record_judgement(state: State, command: commands.RecordJudgement) -> Decision:
    """Store the reply even if the judge was stopped meanwhile: it is paid for."""
    if state.status == "aborted":
        return game_over(state)
    return Accepted(command.calls) if command.judge in state.judges else _no_judge(command.judge)


def end_judging(state: State, command: commands.EndJudge) -> Decision:
    judges = (each for each in state.judging if each.number == command.number)
    return Accepted(tuple(_ended(judge, command.outcome, command.detail[:NOTE_CHARS]) for judge in judges))


def take_sheet(_: State, command: commands.TakeSheet) -> Decision:
    keys = [row.key for row in command.rows]
    faults = tuple(
        FieldFault(f"rows[{number}].key", "occurs twice in the sheet")
        for number, key in enumerate(keys)
        if key in keys[:number]
    )
    if faults:
        return Refused(Code.INVALID_REQUEST, "Fix the sheet and retry.", faults)
    return Accepted((SheetCoded(coder=command.coder, rows=command.rows),))


def _no_judge(alias: str) -> Refused:
    return invalid("model", f"{alias[:60]!r} has not judged anything in this experiment")


def _ended(judge: Judge, outcome: JudgingStatus, detail: str) -> JudgingEnded:
    return JudgingEnded(number=judge.number, judge=judge.judge.alias, outcome=outcome, detail=detail)

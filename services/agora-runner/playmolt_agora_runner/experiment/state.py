"""An experiment as the fold of its events, and the refusals that follow from its state."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace
from playmolt_core.game.decider import Refused
from playmolt_core.game.game import Changes, Fold
from playmolt_schemas.agora.plan import DeviationRow, ExperimentStatus, LookRow, RunStatus, StoppedBy
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.copying import copied
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.instrument.usage import summed, with_call
from playmolt_schemas.stored.agora.experiment import (
    ActsCounted,
    BatchEnded,
    BatchSubmitted,
    BudgetStopped,
    Deviation,
    ExperimentAborted,
    ExperimentFinished,
    Forked,
    JudgeBudget,
    JudgeCoded,
    JudgingEnded,
    JudgingStarted,
    JudgingStatus,
    Looked,
    PcsSeen,
    PinnedModel,
    PinnedTest,
    Pins,
    PlannedRun,
    Preregistered,
    Resumed,
    RunAdded,
    RunFinished,
    RunProgressed,
    RunStarted,
    SheetCoded,
    Stopped,
    Which,
)
from playmolt_schemas.stored.agora.plan import Budget, Folder, LockedRoom, Noticed, Plan, Spent
from playmolt_schemas.stored.agora.run import PauseCode
from playmolt_schemas.stored.agora.turn import Parent
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.plan import plan as plans

_NO_PINS: Final = Pins(stimuli="", stage1="", measures="")


DEVIATIONS_MOST: Final = 2000


class Run(PlannedRun, frozen=True, kw_only=True):
    """A run of the matrix, or one that was added or branched off."""

    status: RunStatus = "planned"
    spent: Spent = Spent()
    acts: dict[str, int] = msgspec.field(default_factory=dict)
    noticed: Noticed = Noticed()
    models: dict[str, Spent] = msgspec.field(default_factory=dict)
    added: bool = False
    parent: Parent | None = None
    outcome: str | None = None
    version: int | None = None
    hash: str | None = None


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """A model that codes thoughts; `number` is that of its newest beginning, `since` when that was."""

    judge: PinnedModel
    number: int
    turns: Which
    budget: JudgeBudget
    since: datetime
    batch: bool = False
    status: JudgingStatus = "running"
    detail: str = ""
    coded: int = 0
    failed: int = 0
    spent: Spent = Spent()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment. `since` is when its present effects arose."""

    game_id: str
    version: int = 0
    status: ExperimentStatus = "unlocked"
    reason: str = ""
    stopped: StoppedBy | None = None
    operator: str = ""
    name: str = ""
    seed: str = ""
    created_at: str = ""
    since: datetime | None = None
    resumed_at: datetime | None = None
    plan: Plan | None = None
    plan_hash: str = ""
    text: str = ""
    pins: Pins = _NO_PINS
    models: tuple[PinnedModel, ...] = ()
    tests: tuple[PinnedTest, ...] = ()
    budget: Budget = Budget()
    runs: tuple[Run, ...] = ()
    deviations: tuple[DeviationRow, ...] = ()
    looks: tuple[LookRow, ...] = ()
    looked: int = -1
    """Finished runs at the last look of adaptive sampling; -1 before the first."""
    folder: Folder | None = None
    rooms: tuple[LockedRoom, ...] = ()
    judges: dict[str, Judge] = {}
    """Alias → judge, in the order in which they started."""
    judgings: int = 0
    """How often a judge was begun."""
    coders: dict[str, int] = {}
    """Coder → rows of the sheet that counts."""
    batches: tuple[BatchSubmitted, ...] = ()
    """Those under way."""
    coded_since: bool = False
    """Whether thoughts were coded since the experiment finished."""
    ends: bool = False
    """Whether it is aborted as soon as no call is in a batch."""
    unread: Spent = Spent()
    """What answers of batches cost that no run takes."""

    @property
    def ended(self) -> bool:
        """Whether the operator ended it for good."""
        return self.status == "aborted" or self.ends

    @property
    def over(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.status == "finished" or self.ended

    @property
    def halted(self) -> PauseCode | None:
        """Why its runs may take no turn."""
        if self.status == "budget_stopped":
            return "budget"
        return "stopped" if self.status in ("stopped", "aborted") else None

    @property
    def plays_in_batches(self) -> bool:
        """Whether models that take batches are asked in them."""
        return self.plan is not None and plans.plays_in_batches(self.plan)

    @property
    def spent(self) -> Spent:
        return summed((*(run.spent for run in self.runs), self.unread))

    @property
    def finished(self) -> int:
        return sum(run.status == "finished" for run in self.runs)

    @property
    def open(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.status == "open")

    def run(self, identifier: str) -> Run | None:
        return next((run for run in self.runs if run.run == identifier), None)

    @property
    def judging(self) -> tuple[Judge, ...]:
        """The judges at work."""
        return tuple(each for each in self.judges.values() if each.status == "running")

    def asks_in_batches(self, judge: Judge) -> bool:
        """Whether a judge's questions travel in batches, as it was begun or as the plan says of all."""
        planned = self.plan.batch if self.plan else None
        return bool(judge.batch or (planned and planned.judge))

    @property
    def uses_batches(self) -> bool:
        """Whether calls of it may wait for batches or be in one."""
        return self.plays_in_batches or any(map(self.asks_in_batches, self.judges.values())) or bool(self.batches)

    def held(self) -> dict[str, int]:
        """Cell → runs, forks left out."""
        return Counter(run.cell for run in self.runs if run.parent is None)


_REGISTERED: Final = (
    "operator", "name", "seed", "plan", "plan_hash", "text", "pins", "models", "tests", "folder", "rooms",
)  # fmt: skip


def _preregistered(_: State, event: Preregistered, at: datetime) -> Changes:
    return {
        **{name: getattr(event, name) for name in _REGISTERED},
        "status": "running",
        "created_at": rfc3339(at),
        "since": at,
        "budget": event.plan.budget,
        "runs": tuple(copied(Run, planned) for planned in event.runs),
    }


def _changed(state: State, run: str, **changes: object) -> Changes:
    return {"runs": tuple(replace(each, **changes) if each.run == run else each for each in state.runs)}


def _of_run(*names: str, **changes: object) -> Fold:
    """A fold by which a run takes over fields of the event, and changes."""

    def fold(state: State, event: RunStarted | RunProgressed | ActsCounted, _: datetime) -> Changes:
        return _changed(state, event.run, **{name: getattr(event, name) for name in names}, **changes)

    return fold


def _run_finished(state: State, event: RunFinished, at: datetime) -> Changes:
    facts = {name: getattr(event, name) for name in ("outcome", "version", "hash", "spent", "noticed", "models")}
    return {"since": at, **_changed(state, event.run, status="finished", **facts)}


def _budget_stopped(_: State, event: BudgetStopped, __: datetime) -> Changes:
    stopped = StoppedBy(by="budget", detail=event.detail)
    return {"status": "budget_stopped", "reason": event.detail, "stopped": stopped}


def _stopped(_: State, event: Stopped, at: datetime) -> Changes:
    stopped = StoppedBy(by=event.kind, model=event.model, status=event.status, detail=event.reason)
    changes: Changes = {"status": "stopped", "reason": event.reason, "stopped": stopped}
    return changes | {"ends": True, "since": at} if event.ends else changes


def _resumed(_: State, __: Resumed, at: datetime) -> Changes:
    return {"status": "running", "reason": "", "stopped": None, "since": at, "resumed_at": at}


def _deviated(state: State, event: Deviation, at: datetime) -> Changes:
    line = copied(DeviationRow, event, n=event.number, at=rfc3339(at))
    return {"deviations": (*state.deviations, line), "budget": event.budget or state.budget}


def _looked(state: State, event: Looked, at: datetime) -> Changes:
    line = copied(LookRow, event, n=event.number, at=rfc3339(at))
    return {"looks": (*state.looks, line), "looked": event.finished if event.adaptive else state.looked}


def _pcs_seen(state: State, event: PcsSeen, at: datetime) -> Changes:
    line = copied(LookRow, event, n=event.number, at=rfc3339(at), measure="pcs", intervals={}, pcs=event.figures)
    return {"looks": (*state.looks, line)}


def _added(state: State, event: RunAdded, at: datetime) -> Changes:
    return {"runs": (*state.runs, copied(Run, event.planned, added=True)), "since": at}


def _forked(state: State, event: Forked, at: datetime) -> Changes:
    status = "running" if state.status == "finished" else state.status
    return {"runs": (*state.runs, copied(Run, event.planned, parent=event.parent)), "since": at, "status": status}


def _judging_started(state: State, event: JudgingStarted, at: datetime) -> Changes:
    alias = event.judge.alias
    before = state.judges.get(alias)
    begun = copied(Judge, event, since=at)
    if before is not None:
        begun = replace(begun, coded=before.coded, failed=before.failed, spent=before.spent)
    return _with_judge(state, alias, begun) | {"judgings": event.number}


def _judge_coded(state: State, event: JudgeCoded, _: datetime) -> Changes:
    judge, coded = state.judges[event.judge], event.survival is not None and event.social is not None
    after = replace(
        judge,
        coded=judge.coded + coded,
        failed=judge.failed + (event.code is not None and not coded),
        spent=with_call(judge.spent, event.taken),
    )
    return _with_judge(state, event.judge, after)


def _judging_ended(state: State, event: JudgingEnded, _: datetime) -> Changes:
    ended = replace(state.judges[event.judge], status=event.outcome, detail=event.detail)
    return _with_judge(state, event.judge, ended)


def _with_judge(state: State, alias: str, judge: Judge) -> Changes:
    return {"judges": {**state.judges, alias: judge}, "coded_since": state.status == "finished"}


def _sheet_coded(state: State, event: SheetCoded, _: datetime) -> Changes:
    return {"coders": {**state.coders, event.coder: len(event.rows)}, "coded_since": state.status == "finished"}


def _batch_submitted(state: State, event: BatchSubmitted, _: datetime) -> Changes:
    return {"batches": (*state.batches, event)}


def _batch_ended(state: State, event: BatchEnded, _: datetime) -> Changes:
    changes: Changes = {"batches": tuple(each for each in state.batches if each.batch != event.batch)}
    return changes | {"unread": summed((state.unread, event.spent))} if event.spent else changes


def _finished(_: State, __: ExperimentFinished, ___: datetime) -> Changes:
    return {"status": "finished", "reason": "", "coded_since": False}


def _aborted(_: State, event: ExperimentAborted, __: datetime) -> Changes:
    return {"status": "aborted", "reason": event.reason}


FOLDS: Final[Mapping[type[Event], Fold]] = {
    Preregistered: _preregistered,
    RunStarted: _of_run(status="open"),
    RunProgressed: _of_run("spent", "noticed", "models"),
    ActsCounted: _of_run("acts"),
    RunFinished: _run_finished,
    BudgetStopped: _budget_stopped,
    Stopped: _stopped,
    Resumed: _resumed,
    Deviation: _deviated,
    Looked: _looked,
    PcsSeen: _pcs_seen,
    RunAdded: _added,
    Forked: _forked,
    JudgingStarted: _judging_started,
    JudgeCoded: _judge_coded,
    JudgingEnded: _judging_ended,
    SheetCoded: _sheet_coded,
    BatchSubmitted: _batch_submitted,
    BatchEnded: _batch_ended,
    ExperimentFinished: _finished,
    ExperimentAborted: _aborted,
}


OPERATOR: Final = "operator"
RUNNER: Final = "runner"
"""Who an event is by."""


def invalid(field: str, message: str) -> Refused:
    return Refused(Code.INVALID_REQUEST, f"{field}: {message}.", (FieldFault(field, message),))


def no_run(run: str) -> Refused:
    return Refused(Code.NOT_FOUND, f"{run[:60]} is not a run of this experiment. List its runs with GET …/runs.")


def game_over(state: State) -> Refused:
    status = "aborted" if state.ended else state.status
    return Refused(Code.GAME_OVER, f"This experiment is {status}; you can still read its runs and report.")

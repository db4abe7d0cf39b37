"""Commands of an experiment, from its operator and from the workers that fulfil its effects."""

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, UnsetType
from playmolt_core.game.decider import Command
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.stored.agora.experiment import (
    BatchSubmitted,
    BudgetStopped,
    JudgeBudget,
    JudgeCoded,
    JudgingStatus,
    PinnedModel,
    Pins,
    Preregistered,
    RunFinished,
    RunProgressed,
    SheetRow,
    Which,
)
from playmolt_schemas.stored.agora.plan import Budget, PcsSoFar, Spent, StopKind


class OpenExperiment(Command, frozen=True, kw_only=True):
    """Preregister a plan that was examined. Idempotent."""

    preregistered: Preregistered


class ReportRunOpened(Command, frozen=True, kw_only=True):
    """A run's stream exists."""

    run: str


class ReportRunWithoutResult(Command, frozen=True, kw_only=True):
    """A run that its rules refuse to open, or that the operator ended; `version` and `hash` are those of the last
    record of its stream, if it has one."""

    run: str
    outcome: Literal["refused", "aborted"]
    version: int = 0
    hash: str = ""


class ReportRun(Command, frozen=True, kw_only=True):
    """The total usage of an open run, or its end. Usage below an earlier report changes nothing.

    `acts` is action → valid turns.
    """

    report: RunProgressed | RunFinished
    acts: Mapping[str, int] = {}


class StopForBudget(Command, frozen=True, kw_only=True):
    """A call did not fit into the budget."""

    stopped: BudgetStopped


class Stop(Command, frozen=True, kw_only=True):
    """Begin no further turn. `model` and `status` name the model's answer that caused it, if any."""

    reason: str = ""
    kind: StopKind = "operator"
    model: str | None = None
    status: int | None = None


class Resume(Command, frozen=True, kw_only=True):
    """Resume after a stop. A budget is raised first; an unchanged one only resumes."""

    budget: Budget | UnsetType = UNSET
    reason: str = ""


class Compare(Command, frozen=True, kw_only=True):
    """Record differences from the preregistration: texts, Stage 1 rules, models. What is recorded already is skipped;
    a change of the measures is reported by the report."""

    pins: Pins
    models: tuple[PinnedModel, ...]


class Look(Command, frozen=True, kw_only=True):
    """Answer a `look` effect. `intervals` is cell → low and high end as decimal strings, for cells that have them."""

    intervals: Mapping[str, tuple[str, str]] = {}
    effect_id: str


class SeePcs(Command, frozen=True, kw_only=True):
    """Record a look at PCS as far as it was computed. Without new turns nothing is recorded."""

    turns: int
    figures: Mapping[str, PcsSoFar] = {}


class StartJudge(Command, frozen=True, kw_only=True):
    """Let a model code thoughts. Repeated while it runs, only a raised budget changes anything."""

    judge: PinnedModel
    turns: Which
    budget: JudgeBudget = JudgeBudget()
    batch: bool = False


class StopJudge(Command, frozen=True, kw_only=True):
    """Stop a judge."""

    judge: str


class RecordJudgement(Command, frozen=True, kw_only=True):
    """A judge's reply about a thought, or its failure: an event for each of its calls, in order."""

    judge: str
    calls: tuple[JudgeCoded, ...]


class EndJudge(Command, frozen=True, kw_only=True):
    """A judge has finished."""

    number: int
    outcome: JudgingStatus
    detail: str = ""


class SubmitBatch(Command, frozen=True, kw_only=True):
    """A server took calls to a model as a batch."""

    submitted: BatchSubmitted


class EndBatch(Command, frozen=True, kw_only=True):
    """A batch has ended. A batch that is not open is ignored. `spent` is that of answers that no run takes."""

    batch: str
    done: int
    spent: Spent | UnsetType = UNSET


class CloseBatches(Command, frozen=True, kw_only=True):
    """No call waits for a batch any more: an experiment that its operator ended is aborted unless one is under way."""


class TakeSheet(Command, frozen=True, kw_only=True):
    """Store a person's codings."""

    coder: str
    rows: tuple[SheetRow, ...]


class ForkRun(Command, frozen=True, kw_only=True):
    """Branch a run off another one after its event `version`, with one change as in `model=ALIAS`."""

    run: str
    version: int
    change: str
    catalogue: Catalogue = Catalogue()

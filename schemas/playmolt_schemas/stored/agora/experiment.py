"""The stored events of an experiment, and what they hold. Their names and fields are the storage format.

No event has a message: only the operator sees an experiment.
"""

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.stored.agora.plan import (
    Amount,
    Budget,
    Count,
    Folder,
    LockedRoom,
    Noticed,
    PcsSoFar,
    Plan,
    Spent,
    Square,
    StopKind,
)
from playmolt_schemas.stored.agora.turn import Parent
from playmolt_schemas.stored.event import Event, stored_types

CODER_NOTE_CHARS: Final = 200
Which = Literal["sample", "all"]
JudgingStatus = Literal["running", "done", "budget", "stopped", "model", "away"]
"""The status of a judge. `model`: the model server refused the key or address; `away`: it did not answer."""
Key = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$", description="The first 16 hex digits of sha256(run|agent|turn).")]
CoderNote = Annotated[str, Meta(max_length=CODER_NOTE_CHARS)]


class JudgeBudget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The budget of a judge; omitted limits are unlimited."""

    money: Amount | None = None
    calls: Count | None = None


class SheetRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The codes of one thought; null means not coded."""

    key: Key
    survival: bool | None = None
    social: bool | None = None
    note: CoderNote = ""


LimitName = Literal["money", "tokens", "calls"]
Scope = Literal["all", "run"]


class PinnedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model as the catalogue named it when the plan was preregistered; prices per million tokens, None is unknown."""

    alias: str
    model: str
    base_url: str | None
    input_price: str | None
    output_price: str | None
    cached_price: str | None = None
    reasoning_price: str | None = None
    scripted: bool
    cache_prompt: bool | UnsetType = UNSET
    """The field of this name in every request, if the catalogue sets it."""


class PinnedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test as registered; `p_min` is the smallest p it can reach, as a fraction."""

    test: str
    confirmatory: bool
    alpha: str
    family: str
    n: str
    p_min: str | None
    claim: str


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the matrix; `spec` is the hash of its whole specification."""

    run: str
    cell: str
    number: int
    turns: int
    spec: str


class Pins(msgspec.Struct, frozen=True, kw_only=True):
    """What the texts, the Stage 1 rules and the definitions of the measures were when the plan was preregistered."""

    stimuli: str
    stage1: str
    measures: str


class RunStarted(Event, frozen=True, kw_only=True):
    """A run's own stream was opened with its specification."""

    type: ClassVar[str] = "run_opened"
    run: str
    cell: str
    number: int
    spec: str


class RunProgressed(Event, frozen=True, kw_only=True):
    """What an open run took so far, as its worker counted it."""

    type: ClassVar[str] = "run_progressed"
    run: str
    spent: Spent
    noticed: Noticed = Noticed()
    models: dict[str, Spent]
    """What the calls of each model took."""


class ActsCounted(Event, frozen=True, kw_only=True):
    """What the agents of a run that enters PCS did so far: action → valid turns. Visible through a look only."""

    type: ClassVar[str] = "acts_counted"
    run: str
    acts: dict[str, int]


class RunFinished(Event, frozen=True, kw_only=True):
    """A run came to its end; `version` and `hash` are those of the last record of its stream."""

    type: ClassVar[str] = "run_finished"
    run: str
    outcome: str
    version: int
    hash: str
    spent: Spent
    noticed: Noticed = Noticed()
    models: dict[str, Spent]


class BudgetStopped(Event, frozen=True, kw_only=True):
    """The next call did not fit into the budget: no further turn is begun until it is raised."""

    type: ClassVar[str] = "budget_stopped"
    limit: LimitName
    scope: Scope
    run: str | None
    most: str
    spent: str
    detail: str


class Stopped(Event, frozen=True, kw_only=True):
    """The operator stopped the experiment, or a server rejected a setting of the plan.

    `ends`: the experiment is aborted for this reason as soon as no call is in a batch."""

    type: ClassVar[str] = "stopped"
    by: str
    reason: str
    kind: StopKind
    model: str | None = None
    status: int | None = None
    ends: bool | UnsetType = UNSET


class Resumed(Event, frozen=True, kw_only=True):
    """The experiment resumes."""

    type: ClassVar[str] = "resumed"
    by: str


ANSWERED: Final = "answered."
"""Prefix of the field of a deviation that reports another model; the alias follows."""


class Deviation(Event, frozen=True, kw_only=True):
    """A deviation from the preregistration. A raised budget is given whole, as `budget`."""

    type: ClassVar[str] = "deviation"
    number: int
    by: str
    field: str
    before: str
    after: str
    reason: str
    budget: Budget | None = None


class Looked(Event, frozen=True, kw_only=True):
    """Adaptive sampling saw figures before the matrix was complete; cell → low and high end."""

    type: ClassVar[str] = "looked"
    number: int
    by: str
    measure: str
    intervals: dict[str, tuple[str, str]]
    adaptive: bool
    finished: int
    """Runs that the look was taken over."""


class PcsSeen(Event, frozen=True, kw_only=True):
    """Somebody looked at PCS before the matrix was complete, after this many turns; cell → what was seen."""

    type: ClassVar[str] = "pcs_seen"
    number: int
    by: str
    turns: int
    figures: dict[str, PcsSoFar]


class RunAdded(Event, frozen=True, kw_only=True):
    """Adaptive sampling adds a run to a cell."""

    type: ClassVar[str] = "run_added"
    look: int
    planned: PlannedRun


class Forked(Event, frozen=True, kw_only=True):
    """A run is to branch off another one, exploratory, with one thing changed."""

    type: ClassVar[str] = "forked"
    by: str
    parent: Parent
    planned: PlannedRun


class JudgingStarted(Event, frozen=True, kw_only=True):
    """A model starts or resumes coding thoughts; `budget` is that of all its calls in the experiment."""

    type: ClassVar[str] = "judging_started"
    number: int
    by: str
    judge: PinnedModel
    turns: Which
    budget: JudgeBudget
    batch: bool = False
    """Whether its questions travel in batches."""


class JudgeCoded(Event, frozen=True, kw_only=True):
    """A call to a judge about the thought of one turn, or about an answer in words, and what it said of it.

    `code` is null where the question stays open: the call was repeated, or was lost. With a code it is settled;
    labels are null where the reply gave none. `call` is the rest of the call as it is stored of a turn's.
    """

    type: ClassVar[str] = "judge_coded"
    run: str
    agent: str
    turn: int
    judge: str
    prompt_hash: str
    raw_reply: str
    survival: bool | None
    social: bool | None
    code: str | None
    usage: dict[str, int | None] | None
    cost: str | None
    call: dict[str, Any]
    interview: str | UnsetType = UNSET
    """The question of an answer in words; UNSET for a thought."""

    @property
    def taken(self) -> dict[str, object]:
        """The call as those of turns are counted."""
        return {**self.call, "usage": self.usage, "cost": self.cost}


class JudgingEnded(Event, frozen=True, kw_only=True):
    """A judge stops until it is started again."""

    type: ClassVar[str] = "judging_ended"
    number: int
    judge: str
    outcome: JudgingStatus
    detail: str


class SheetCoded(Event, frozen=True, kw_only=True):
    """A person coded thoughts on a sheet; an earlier one of the same coder counts no more."""

    type: ClassVar[str] = "sheet_coded"
    coder: str
    rows: tuple[SheetRow, ...]


class BatchSubmitted(Event, frozen=True, kw_only=True):
    """The next call of every open run was sent to a model as one batch, under the server's id."""

    type: ClassVar[str] = "batch_submitted"
    batch: str
    model: str
    calls: int


class BatchEnded(Event, frozen=True, kw_only=True):
    """A batch has ended; failed calls are repeated outside batches.

    `spent` is what its answers cost if the experiment ended before, so that no run takes them."""

    type: ClassVar[str] = "batch_ended"
    batch: str
    done: int
    failed: int
    spent: Spent | UnsetType = UNSET


class ExperimentFinished(Event, frozen=True, kw_only=True):
    """All runs came to their end. It closes nothing: a fork opens the experiment again, and a look may follow.

    Stored again after later coding, so that it stays the last event."""

    type: ClassVar[str] = "experiment_finished"
    rests: ClassVar[bool] = True
    runs: int
    spent: Spent


class ExperimentAborted(Event, frozen=True, kw_only=True):
    """The operator ended the experiment for good."""

    type: ClassVar[str] = "game_aborted"
    closes: ClassVar[bool] = True
    reason: str


class Preregistered(Event, frozen=True, kw_only=True):
    """The first event of an experiment: no turn comes before it.

    `seed` and `name` are the plan's; `turns` of a run counts the turns of all its agents.
    """

    type: ClassVar[str] = "preregistered"
    operator: str
    name: str
    seed: str
    rules_version: int
    content_version: str
    plan_hash: str
    text_hash: str
    text: str
    plan: Plan
    models: tuple[PinnedModel, ...]
    tests: tuple[PinnedTest, ...]
    squares: tuple[Square, ...]
    runs: tuple[PlannedRun, ...]
    exclusions: tuple[str, ...]
    stopping_rule: str
    warnings: tuple[str, ...]
    pins: Pins
    folder: Folder | None = None
    """The files of the plan's folder; their texts are in the blob store."""
    rooms: tuple[LockedRoom, ...] = ()


EVENTS: Final = stored_types(
    Preregistered,
    RunStarted,
    RunProgressed,
    ActsCounted,
    RunFinished,
    BudgetStopped,
    Stopped,
    Resumed,
    Deviation,
    Looked,
    PcsSeen,
    RunAdded,
    Forked,
    JudgingStarted,
    JudgeCoded,
    JudgingEnded,
    SheetCoded,
    BatchSubmitted,
    BatchEnded,
    ExperimentFinished,
    ExperimentAborted,
)

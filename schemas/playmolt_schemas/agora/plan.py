"""The plan of an Agora experiment, its preview, and its state for the operator (agora.md: Plan, lock, run).

Amounts are decimal strings, because stored data contains no floats. A plan may contain them as numbers.
"""

from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from playmolt_schemas.codes import FieldFault
from playmolt_schemas.stored.agora.plan import Budget, Folder, Note, PcsSoFar, Plan, PlanPart, Spent, Square, StopKind
from playmolt_schemas.stored.agora.turn import Language

Arm = Literal["stage1", "phase1", "phase1_costs_real", "phase2"]
PLAN_BYTES: Final = 60 * 1024
"""The size of a plan in UTF-8: it must fit into a request and into one record."""


EXAMINE_SECONDS: Final = 300.0
"""A plan that takes longer to examine is refused."""
EXAMINE_WAIT_SECONDS: Final = 5.0
"""How long `POST /api/agora/experiments` waits for the examination before it answers 202."""


EXAMINING: Final = "examining"


class PlanUnderWay(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that is being examined: look for its result at `/api/agora/plans/{plan}`."""

    plan: str
    status: Literal["examining"] = EXAMINING
    detail: str = "The plan is being examined. GET the address in Location until the status is not 202."


class PlanWithFiles(PlanPart, frozen=True, kw_only=True):
    """A plan with the files of its folder: path → SHA-256 of a text that was uploaded before."""

    plan: Plan | str
    files: dict[str, str] = msgspec.field(default_factory=dict)


class PlannedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test and the smallest p that it can reach with this number of runs.

    `p_holm` is that p after Holm's correction over its family, `reachable` whether it can reach `alpha`. They are null
    if the design gives no p.
    """

    test: str
    confirmatory: bool
    alpha: str
    family: str
    n: str
    """The units, for example `5 v 3 runs, ko + en`."""
    labelings: int | None
    p_min: float | None
    p_exact: str | None
    """`p_min` as a fraction."""
    p_holm: float | None
    reachable: bool
    note: str = ""
    size: float | None = None
    """The rejection rate at `alpha` without the effect, after Holm's correction, in `draws` simulations."""
    power: float | None = None
    """The rejection rate with the effect."""
    attainable_p: float | None = None
    """The smallest p after Holm's correction, if it has a family."""
    effect: str | None = None
    dispersion: str | None = None
    draws: int = 0
    underpowered: bool = False
    """Its power is below one half."""
    declared: bool = False
    """The plan declares it as underpowered."""


class MatrixCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of the matrix: its number of runs, agents and turns."""

    cell: str
    phase: str
    language: Language
    runs: int
    agents: int
    turns: int


class ModelCost(msgspec.Struct, frozen=True, kw_only=True):
    """The expected usage of a model. `cost` is null if a price is unknown."""

    model: str
    scripted: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: str | None


FaultCode = Literal[
    "asymmetric",
    "baseline_header",
    "baseline_persons",
    "duplicate_row",
    "file_too_large",
    "measure_declaration",
    "measure_failed",
    "measure_forbidden",
    "measure_memory",
    "measure_output",
    "measure_syntax",
    "measure_timeout",
    "measure_unstable",
    "missing_file",
    "missing_text",
    "name_taken",
    "no_price",
    "not_text",
    "out_of_range",
    "too_many_files",
    "too_many_seats",
    "unbalanced",
    "underpowered",
    "unknown_condition",
    "unknown_field",
    "unknown_item",
    "unknown_key",
    "unknown_model",
    "unknown_test",
    "unreachable",
    "unreadable",
    "world_ends_at_once",
    "world_unpayable",
    "world_unreachable",
    "wrong_type",
]


class PlanFault(FieldFault, frozen=True):
    """A fault of a plan: `file` is relative to the plan; `line` is null if unknown."""

    code: FaultCode = "out_of_range"
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}{f':{self.line}' if self.line else ''}: " if self.file else ""
        return f"{place}{self.field + ': ' if self.field else ''}{self.message}"


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """The preview of a plan: `agora plan --json` and the answer to `?dry=1`. Values that faults leave unknown are null.

    `calls` assumes one call per turn and per question asked aside (`interviews` of them); `calls_most` includes every
    re-ask. `cost` is the projected cost, null if a price
    is unknown and "0" if all models are scripted; `cost_most` assumes the longest replies and every re-ask.
    """

    name: str | None
    plan_hash: str | None
    runs: int | None
    agents: int | None
    turns: int | None
    calls: int | None
    calls_most: int | None
    tokens: int | None
    cost: str | None
    cost_most: str | None
    scripted: bool
    exploratory: bool
    matrix: tuple[MatrixCell, ...]
    models: tuple[ModelCost, ...]
    squares: tuple[Square, ...]
    tests: tuple[PlannedTest, ...]
    warnings: tuple[str, ...]
    folder: Folder | None = None
    """The files of the plan's folder that would be locked."""
    interviews: int | UnsetType = UNSET
    """How many of `calls` are questions asked aside, in a plan with any."""
    faults: tuple[PlanFault, ...] = ()
    """Why the plan would be refused."""


ExperimentStatus = Literal["unlocked", "running", "stopped", "budget_stopped", "finished", "aborted"]
RunStatus = Literal["planned", "open", "finished"]


INTERRUPTED: Final = "Ctrl-C in `playmolt agora`"
"""The reason of a stop that the same command resumes."""


class StoppedBy(msgspec.Struct, frozen=True, kw_only=True):
    """Who stopped an experiment and why; `model` and `status` are set if a model's answer caused it."""

    by: StopKind
    model: str | None = None
    status: int | None = None
    detail: str = ""


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run in `GET …/{id}/runs`."""

    run: str
    cell: str
    number: int
    status: RunStatus
    turns_planned: int
    spent: Spent
    exploratory: bool
    added: bool
    parent: str | None
    outcome: str | None
    version: int | None
    hash: str | None


class DeviationRow(msgspec.Struct, frozen=True, kw_only=True):
    """A deviation after the lock; `count` is how often it happened, if it can be counted."""

    n: int
    at: str
    by: str
    field: str
    before: str
    after: str
    reason: str
    count: int | None = None


class LookRow(msgspec.Struct, frozen=True, kw_only=True):
    """An interim look: by adaptive sampling, or at PCS."""

    n: int
    at: str
    by: str
    measure: str
    intervals: dict[str, tuple[str, str]]
    """Cell → lower and upper end."""
    turns: int | None = None
    """The number of turns before a look at PCS."""
    pcs: dict[str, PcsSoFar] = {}
    """Cell → result of a look at PCS."""


class ExperimentProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of the matrix."""

    runs: int
    open: int
    finished: int
    turns_planned: int


class CostRow(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of a model in a cell; `known` is a decimal string."""

    cell: str
    model: str
    calls: int
    failed_calls: int
    refused_calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    known: str
    unknown_calls: int


class ExperimentState(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment as its operator sees it. `id` equals `experiment`."""

    experiment: str
    id: str
    name: str
    status: ExperimentStatus
    reason: str
    """Why it stopped; empty while it runs."""
    version: int
    created_at: str
    plan_hash: str
    plan: str
    """The locked text."""
    seed: str
    exploratory: bool
    scripted: bool
    models: tuple[str, ...]
    progress: ExperimentProgress
    tokens: int
    cost: str | None
    """The totals of `spent`."""
    spent: Spent
    budget: Budget
    tests: tuple[str, ...]
    """Names of the confirmatory tests."""
    stimuli: str
    stage1: str
    measures: str
    deviations: tuple[DeviationRow, ...]
    looks: tuple[LookRow, ...]
    pcs_cells: tuple[str, ...]
    """Cells whose interim PCS can be requested."""
    stopped: StoppedBy | None = None
    """Null while it runs and after it finished."""
    prompt_cut: dict[str, int] = {}
    """Alias → replies to prompts that its server truncated."""
    costs: tuple[CostRow, ...] = ()
    folder: Folder | None = None
    """The files of the plan's folder that were locked with the plan."""


class ExperimentRuns(msgspec.Struct, frozen=True):
    """The answer of `GET …/{id}/runs`."""

    runs: tuple[RunRow, ...]


class ExperimentRow(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment in the list."""

    experiment: str
    name: str
    status: ExperimentStatus
    created_at: str
    progress: ExperimentProgress
    spent: Spent
    scripted: bool
    exploratory: bool


class Experiments(msgspec.Struct, frozen=True):
    """The operator's experiments, newest first."""

    experiments: tuple[ExperimentRow, ...]


class StopRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`POST …/{id}/stop`."""

    reason: Note = ""


class ResumeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`POST …/{id}/resume`. A changed budget is recorded as a deviation with its reason."""

    budget: Budget | UnsetType = UNSET
    reason: Note = ""


class Hidden(msgspec.Struct, frozen=True):
    """The public view of an experiment: empty, because only the operator may see it."""

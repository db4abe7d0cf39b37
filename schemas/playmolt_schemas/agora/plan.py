"""The plan of an Agora experiment, its preview, and its state for the operator (agora.md: Plan, lock, run).

Amounts are decimal strings, because stored data contains no floats. A plan may contain them as numbers.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.codes import FieldFault
from playmolt_schemas.stored.agora.turn import Action, Decoding, Language, Persona, SamplingSettings, SetName

PLAN_BYTES: Final = 60 * 1024
"""The size of a plan in UTF-8: it must fit into a request and into one record."""
RUNS: Final = 1000
"""The maximum number of runs in an experiment, including added ones."""
NOTE_CHARS: Final = 2000

SEATS: Final = 200
"""The maximum number of seats in a room."""

NAME: Final = r"^[a-z][a-z0-9_]{0,31}$"
Name = Annotated[str, Meta(pattern=NAME)]
Amount = Annotated[
    str,
    Meta(
        pattern=r"^(0|[1-9][0-9]{0,14})(\.[0-9]{1,12})?$",
        description="A non-negative decimal number, as a string or a number.",
        extra_json_schema={"type": ["string", "number"], "minimum": 0},
    ),
]
Count = Annotated[int, Meta(ge=0, le=10**15)]
Alias = Annotated[str, Meta(min_length=1, max_length=64)]
Note = Annotated[str, Meta(max_length=NOTE_CHARS)]
Line = Annotated[str, Meta(min_length=1, max_length=200)]
Runs = Annotated[int, Meta(ge=0, le=RUNS)]
Turns = Annotated[int, Meta(ge=1, le=1000)]
Arm = Literal["stage1", "phase1", "phase1_costs_real", "phase2"]
AdaptiveMeasure = Literal["pcs", "p:speak", "p:trade", "p:support", "p:whisper", "p:move", "p:idle"]
HomePolicy = Literal["persona", "rotated"]
Pairs = Literal["neighbours", "all"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class PhasePlan(_Part, frozen=True, kw_only=True):
    """A phase: runs per cell and turns (epochs) per run.

    `models` and `languages` default to the plan's; `rules` overrides the world's preset, with the names in stage1.md.
    """

    runs: Runs
    turns: Turns
    models: tuple[Alias, ...] | None = None
    languages: tuple[Language, ...] | None = None
    rules: dict[str, Any] = {}


class Stage1Plan(PhasePlan, frozen=True, kw_only=True):
    """Stage 1: one model per room, a cell for each model and language."""

    runs: Runs = 5
    turns: Turns = 50


class Phase1Plan(PhasePlan, frozen=True, kw_only=True):
    """Phase 1, Empty Agora: one model per room, a cell for each model and language."""

    runs: Runs = 3
    turns: Turns = 50


class CostsRealPlan(PhasePlan, frozen=True, kw_only=True):
    """The optional arm: Phase 1's prompt with costs deducted, no decay, no death (measures.md, section 3)."""

    runs: Runs = 3
    turns: Turns = 50


class Phase2Plan(PhasePlan, frozen=True, kw_only=True):
    """Phase 2, Enriched Neutral: all models in one room; a cell for each set.

    Sets A and B have personas, C and D do not; A and C are Korean, B and D English. `sets` defaults to all sets in the
    plan's languages.
    """

    runs: Runs = 3
    turns: Turns = 100
    sets: tuple[SetName, ...] | None = None


class Phases(_Part, frozen=True, kw_only=True):
    """The phases to run; omitted phases do not run."""

    stage1: Stage1Plan | None = None
    phase1: Phase1Plan | None = None
    phase1_costs_real: CostsRealPlan | None = None
    phase2: Phase2Plan | None = None


class Hypothesis(_Part, frozen=True, kw_only=True):
    """A confirmatory test by its name in measures.md, section 11; `pcs` and `ri_star` select all tests of that kind.

    Without `test` it is a recorded claim that is not tested. Power is computed for `effect` and `dispersion`; a test
    with power below one half can only be registered as `underpowered`.
    """

    test: Annotated[str, Meta(max_length=200)] = ""
    alpha: Amount = "0.05"
    claim: Note = ""
    effect: Amount | UnsetType = UNSET
    dispersion: Amount | UnsetType = UNSET
    underpowered: bool | UnsetType = UNSET


class Limits(_Part, frozen=True, kw_only=True):
    """Spending limits; omitted limits are unlimited. `tokens` counts prompts and replies."""

    money: Amount | None = None
    tokens: Count | None = None
    calls: Count | None = None


class Budget(Limits, frozen=True, kw_only=True):
    """The limits of the experiment and of each run."""

    per_run: Limits = Limits()


class Adaptive(_Part, frozen=True, kw_only=True):
    """Adaptive sampling: adds one run per look to a Phase 1 cell until the interval of `measure` is at most `width`."""

    measure: AdaptiveMeasure
    width: Amount
    max_runs: Annotated[int, Meta(ge=1, le=RUNS)]
    """Per cell, including planned runs."""


class SeedEvent(_Part, frozen=True, kw_only=True):
    """A neutral event that every agent sees in a Phase 2 turn."""

    turn: Turns
    ko: Line
    en: Line


class ImportedRun(_Part, frozen=True, kw_only=True):
    """Counts of attempted actions in an external Stage 1 run."""

    run: Line
    model: Alias
    language: Language
    counts: dict[Action, Count]


class Stage1Import(_Part, frozen=True, kw_only=True):
    """An external Stage 1 distribution, and the file name that reports cite."""

    file: Line
    runs: tuple[ImportedRun, ...]


class RoomSeat(_Part, frozen=True, kw_only=True):
    """Seats of a room: persona, number, start place. `model` is allowed only if models share the room."""

    persona: Name | None = None
    count: Annotated[int, Meta(ge=1, le=SEATS)] = 1
    model: Alias | None = None
    home: Name | None = None


class RoomPlan(_Part, frozen=True, kw_only=True):
    """Runs in a world of the plan's folder, or in a packaged world with custom seats.

    `mix: one` gives a cell for each model and language; with `all` every seat names its model, or the models alternate.
    `events` are files of the folder.
    """

    name: Name
    world: Name
    runs: Runs
    seats: Annotated[tuple[RoomSeat, ...], Meta(min_length=1, max_length=SEATS)]
    turns: Turns | None = None
    models: tuple[Alias, ...] | None = None
    languages: tuple[Language, ...] | None = None
    mix: Literal["one", "all"] = "one"
    events: tuple[Name, ...] = ()
    neutral_ids: bool = False


class BatchPlan(_Part, frozen=True, kw_only=True):
    """Whether models with a batch API (`batch` in the catalogue) are called through it."""

    judge: bool = False
    play: bool = False


class Plan(_Part, frozen=True, kw_only=True):
    """The plan of an experiment, fixed before its first turn."""

    name: Line
    seed: Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema={"type": ["string", "integer"]})] = "0"
    models: Annotated[tuple[Alias, ...], Meta(min_length=1, max_length=20)]
    languages: Annotated[tuple[Language, ...], Meta(min_length=1)] = ("ko", "en")
    phases: Phases = Phases()
    decoding: Decoding = "prompt"
    sampling: SamplingSettings = SamplingSettings()
    reask: Annotated[int, Meta(ge=0, le=2)] = 1
    hypotheses: Annotated[tuple[str | Hypothesis, ...], Meta(max_length=50)] = ()
    """The confirmatory tests; all other figures are descriptive. A string is a test's name, or a claim that is only
    recorded."""
    budget: Budget = Budget()
    exploratory: bool = False
    stage1_import: str | Stage1Import | None = None
    """A file name, or the counts."""
    adaptive: Adaptive | None = None
    home_policy: HomePolicy = "persona"
    allow_unbalanced: bool = False
    pairs: Pairs = "neighbours"
    shuffle_labels: bool = False
    seed_events: Annotated[tuple[SeedEvent, ...], Meta(max_length=200)] = ()
    rooms: Annotated[tuple[RoomPlan, ...], Meta(min_length=1, max_length=50)] | UnsetType = UNSET
    measures: Annotated[tuple[Name, ...], Meta(max_length=50)] | UnsetType = UNSET
    """Measures of the folder. Default: all."""
    batch: BatchPlan | UnsetType = UNSET


class PlanWithFiles(_Part, frozen=True, kw_only=True):
    """A plan with the files of its folder: path → SHA-256 of a text that was uploaded before."""

    plan: Plan | str
    files: dict[str, str] = {}


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


class SquareAgent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One seat of a square."""

    agent: str
    model: str
    home: str
    persona: Persona | None = None
    slot: int | None = None


class SquareRun(msgspec.Struct, frozen=True):
    """One run of a square."""

    run: int
    agents: tuple[SquareAgent, ...]


class Square(msgspec.Struct, frozen=True, kw_only=True):
    """The seats of a set's runs, with their margins.

    `margins` is name → row → column → count; `balanced` is whether they are even, `reasons` why not.
    """

    sets: tuple[SetName, ...]
    condition: Literal["A", "B"]
    models: tuple[str, ...]
    """In the order that was used to build the square."""
    runs: tuple[SquareRun, ...]
    margins: dict[str, dict[str, dict[str, int]]]
    balanced: bool
    reasons: tuple[str, ...] = ()


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


class FolderFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the plan's folder."""

    path: str
    bytes: int
    sha256: str


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """The locked files of the plan's folder; `hash` is the SHA-256 of the canonical JSON of `files`."""

    hash: str
    files: tuple[FolderFile, ...]


FaultCode = Literal[
    "asymmetric",
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
    "unknown_field",
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

    `calls` assumes one call per turn; `calls_most` includes every re-ask. `cost` is the projected cost, null if a price
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
    faults: tuple[PlanFault, ...] = ()
    """Why the plan would be refused."""


ExperimentStatus = Literal["unlocked", "running", "stopped", "budget_stopped", "finished", "aborted"]
RunStatus = Literal["planned", "open", "finished"]


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Usage. `known` is the known cost, `unknown_calls` the number of calls without a known cost.

    `calls` were answered, failed or lost; `failed_calls` are those without a usable reply. `cost` equals `known`, or is
    null if the cost of any call is unknown.
    """

    turns: int = 0
    calls: int = 0
    tokens: int = 0
    cost: str | None = "0"
    failed_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    known: str = "0"
    unknown_calls: int = 0
    refused_calls: int = 0
    """Requests that a server refused with 429; they do not count as calls and cost nothing."""
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    held: str = "0"
    """The worst case of answered calls without a known cost; it counts against budgets."""

    @property
    def cost_text(self) -> str:
        """The cost as text: the known sum, with the number of calls of unknown cost."""
        if not self.unknown_calls:
            return self.known
        return f"≥ {self.known}, {self.unknown_calls} {'call' if self.unknown_calls == 1 else 'calls'} unknown"


INTERRUPTED: Final = "Ctrl-C in `playmolt agora`"
"""The reason of a stop that the same command resumes."""


StopKind = Literal["operator", "interrupt", "budget", "model", "setting", "runner"]


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


class Noticed(msgspec.Struct, frozen=True, kw_only=True):
    """Anomalies of a run's models that did not cost a reply.

    `answered` is alias → model that answered instead of the requested one → replies; `prompt_cut` is alias → replies to
    prompts that the server truncated.
    """

    answered: dict[str, dict[str, int]] = {}
    prompt_cut: dict[str, int] = {}


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


class PcsSoFar(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The interim PCS of a cell, and its floors: the values expected without any difference.

    Decimal strings. `floor_null` is the mean over all labelings of the runs. `floor_stage1` and `floor_phase1` are not
    floors: they measure how much single runs of an arm differ, and require two runs of the arm. `n_…` counts
    valid turns.
    """

    pcs: str
    floor_iid: str
    floor_stage1: str | None
    floor_phase1: str | None
    n_stage1: int
    n_phase1: int
    runs_stage1: int
    runs_phase1: int
    floor_null: str | None = None


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

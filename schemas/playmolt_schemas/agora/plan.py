"""The plan of an Agora experiment, what it comes to, and what its operator sees of it (agora.md: Plan, lock, run).

Amounts are decimal strings: what is stored holds no floats. A plan may write them as numbers.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.agora.turn import Action, Decoding, Language, Persona, SamplingSettings, SetName
from playmolt_schemas.codes import FieldFault

PLAN_BYTES: Final = 60 * 1024
"""A plan's text, in UTF-8: it travels in a body and is stored in one record."""
RUNS: Final = 1000
"""Runs of one experiment, added ones included."""
NOTE_CHARS: Final = 2000

SEATS: Final = 200
"""Of a room."""

NAME: Final = r"^[a-z][a-z0-9_]{0,31}$"
Name = Annotated[str, Meta(pattern=NAME)]
Amount = Annotated[
    str,
    Meta(
        pattern=r"^(0|[1-9][0-9]{0,14})(\.[0-9]{1,12})?$",
        description="A decimal number, not negative. A number is taken for its text.",
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
    """One phase: runs of each cell, turns (epochs) of each run.

    `models` and `languages` are the plan's unless the phase names its own; `rules` overrides the world's preset by the
    names of stage1.md.
    """

    runs: Runs
    turns: Turns
    models: tuple[Alias, ...] | None = None
    languages: tuple[Language, ...] | None = None
    rules: dict[str, Any] = {}


class Stage1Plan(PhasePlan, frozen=True, kw_only=True):
    """Stage 1: one model a room, a cell for each model and language."""

    runs: Runs = 5
    turns: Turns = 50


class Phase1Plan(PhasePlan, frozen=True, kw_only=True):
    """Phase 1, Empty Agora: one model a room, a cell for each model and language."""

    runs: Runs = 3
    turns: Turns = 50


class CostsRealPlan(PhasePlan, frozen=True, kw_only=True):
    """The optional arm: Phase 1's prompt with costs deducted, no decay, no death (measures.md, section 3)."""

    runs: Runs = 3
    turns: Turns = 50


class Phase2Plan(PhasePlan, frozen=True, kw_only=True):
    """Phase 2, Enriched Neutral: all models in a room; a cell for each set.

    A and B are with personas, C and D without; A and C Korean, B and D English. Without `sets`: all whose language the
    plan has.
    """

    runs: Runs = 3
    turns: Turns = 100
    sets: tuple[SetName, ...] | None = None


class Phases(_Part, frozen=True, kw_only=True):
    """The phases that run; one that is left out does not."""

    stage1: Stage1Plan | None = None
    phase1: Phase1Plan | None = None
    phase1_costs_real: CostsRealPlan | None = None
    phase2: Phase2Plan | None = None


class Hypothesis(_Part, frozen=True, kw_only=True):
    """A confirmatory test by its name in measures.md, section 11; `pcs` and `ri_star` stand for all of theirs.

    Without `test` it is a claim that is recorded and not tested. `effect` and `dispersion` are what its power is worked
    out for; a test whose power is below a half is registered only as `underpowered`.
    """

    test: Annotated[str, Meta(max_length=200)] = ""
    alpha: Amount = "0.05"
    claim: Note = ""
    effect: Amount | UnsetType = UNSET
    dispersion: Amount | UnsetType = UNSET
    underpowered: bool | UnsetType = UNSET


class Limits(_Part, frozen=True, kw_only=True):
    """What may be spent; what is left out has no limit. `tokens` counts prompts and replies."""

    money: Amount | None = None
    tokens: Count | None = None
    calls: Count | None = None


class Budget(Limits, frozen=True, kw_only=True):
    """The limits in all, and those of each run."""

    per_run: Limits = Limits()


class Adaptive(_Part, frozen=True, kw_only=True):
    """Runs are added to a Phase 1 cell, one a look, until the interval of `measure` is at most `width` wide."""

    measure: AdaptiveMeasure
    width: Amount
    max_runs: Annotated[int, Meta(ge=1, le=RUNS)]
    """Of a cell, the planned ones included."""


class SeedEvent(_Part, frozen=True, kw_only=True):
    """A neutral happening that every agent is told of in a Phase 2 turn."""

    turn: Turns
    ko: Line
    en: Line


class ImportedRun(_Part, frozen=True, kw_only=True):
    """Counts of attempted actions of one Stage 1 run from elsewhere."""

    run: Line
    model: Alias
    language: Language
    counts: dict[Action, Count]


class Stage1Import(_Part, frozen=True, kw_only=True):
    """A Stage 1 distribution from elsewhere, and the file that reports name."""

    file: Line
    runs: tuple[ImportedRun, ...]


class RoomSeat(_Part, frozen=True, kw_only=True):
    """Some seats of a room: who sits there, how many, where they start. `model` only where models share the room."""

    persona: Name | None = None
    count: Annotated[int, Meta(ge=1, le=SEATS)] = 1
    model: Alias | None = None
    home: Name | None = None


class RoomPlan(_Part, frozen=True, kw_only=True):
    """Runs in a world of the plan's folder, or in a packaged one with seats of one's own.

    `mix: one` is a cell for each model and language; with `all` every seat names its model, or models take seats in
    turn. `events` are files of the folder.
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
    """Whether models that take batches (`batch` in the catalogue) are asked in them."""

    judge: bool = False
    play: bool = False


class Plan(_Part, frozen=True, kw_only=True):
    """What an experiment does, fixed before its first turn."""

    name: Line
    seed: Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema={"type": ["string", "integer"]})] = "0"
    models: Annotated[tuple[Alias, ...], Meta(min_length=1, max_length=20)]
    languages: Annotated[tuple[Language, ...], Meta(min_length=1)] = ("ko", "en")
    phases: Phases = Phases()
    decoding: Decoding = "prompt"
    sampling: SamplingSettings = SamplingSettings()
    reask: Annotated[int, Meta(ge=0, le=2)] = 1
    hypotheses: Annotated[tuple[str | Hypothesis, ...], Meta(max_length=50)] = ()
    """What is tested in confirmation; every other figure is descriptive. A text is a test's name, or a sentence that is
    recorded as a claim."""
    budget: Budget = Budget()
    exploratory: bool = False
    stage1_import: str | Stage1Import | None = None
    """A file's name, or the counts themselves."""
    adaptive: Adaptive | None = None
    home_policy: HomePolicy = "persona"
    allow_unbalanced: bool = False
    pairs: Pairs = "neighbours"
    shuffle_labels: bool = False
    seed_events: Annotated[tuple[SeedEvent, ...], Meta(max_length=200)] = ()
    rooms: Annotated[tuple[RoomPlan, ...], Meta(min_length=1, max_length=50)] | UnsetType = UNSET
    measures: Annotated[tuple[Name, ...], Meta(max_length=50)] | UnsetType = UNSET
    """Measures of the folder; all of them where it is left out."""
    batch: BatchPlan | UnsetType = UNSET


class PlanWithFiles(_Part, frozen=True, kw_only=True):
    """A plan with the files of its folder, path → SHA-256 of a text that was put before."""

    plan: Plan | str
    files: dict[str, str] = {}


class PlannedTest(msgspec.Struct, frozen=True, kw_only=True):
    """One test and the smallest p it can reach with this many runs.

    `p_holm` is that p after Holm's correction over its family, `reachable` whether it can come to `alpha`. None where
    the design gives no p at all.
    """

    test: str
    confirmatory: bool
    alpha: str
    family: str
    n: str
    """The units, as in `5 v 3 runs, ko + en`."""
    labelings: int | None
    p_min: float | None
    p_exact: str | None
    """The same as a fraction."""
    p_holm: float | None
    reachable: bool
    note: str = ""
    size: float | None = None
    """How often it rejects at `alpha` without the effect, after Holm's correction, in `draws` draws."""
    power: float | None = None
    """The same with the effect."""
    attainable_p: float | None = None
    """The smallest p after Holm's correction where it has a family."""
    effect: str | None = None
    dispersion: str | None = None
    draws: int = 0
    underpowered: bool = False
    """Its power is below a half."""
    declared: bool = False
    """The plan says that it is underpowered."""


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
    """The seats of a set's runs, with the margins that were checked.

    `margins` is name → row → column → how often; `balanced` says whether they are even, `reasons` why not.
    """

    sets: tuple[SetName, ...]
    condition: Literal["A", "B"]
    models: tuple[str, ...]
    """In the order that the square was made with."""
    runs: tuple[SquareRun, ...]
    margins: dict[str, dict[str, dict[str, int]]]
    balanced: bool
    reasons: tuple[str, ...] = ()


class MatrixCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of the matrix: how many runs, agents and turns it holds."""

    cell: str
    phase: str
    language: Language
    runs: int
    agents: int
    turns: int


class ModelCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one model is expected to take. `cost` is null where a price is unknown."""

    model: str
    scripted: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: str | None


class FolderFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the plan's folder, by its path there."""

    path: str
    bytes: int
    sha256: str


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """What of the plan's folder was locked; `hash` is the SHA-256 of the canonical JSON of `files`."""

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
    """A fault of a plan: `file` is relative to the plan, `line` null where there is none."""

    code: FaultCode = "out_of_range"
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}{f':{self.line}' if self.line else ''}: " if self.file else ""
        return f"{place}{self.field + ': ' if self.field else ''}{self.message}"


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan comes to: `agora plan --json` and the answer to `?dry=1`; null is what its faults leave unknown.

    `calls` is one a turn; `calls_most` counts every re-ask. `cost` is the projection, null where a price is unknown and
    "0" where all models are scripted; `cost_most` the same with the longest replies and every re-ask.
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
    """What of the plan's folder the lock would hold."""
    faults: tuple[PlanFault, ...] = ()
    """Why the plan would be refused."""


ExperimentStatus = Literal["unlocked", "running", "stopped", "budget_stopped", "finished", "aborted"]
RunStatus = Literal["planned", "open", "finished"]


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What was used. `known` is what is known to be spent, `unknown_calls` how many calls have no figure.

    `calls` were answered, failed or lost; `failed_calls` those of them without a reply to use. `cost` is `known`, null
    once a call came whose cost is unknown.
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
    refused_calls: int | UnsetType = UNSET
    """Requests that a server had no room for (429); they are no calls and cost nothing."""
    cached_tokens: int | UnsetType = UNSET
    reasoning_tokens: int | UnsetType = UNSET
    held: str | UnsetType = UNSET
    """The worst case of calls that were answered without a figure: a budget holds it."""

    @property
    def whole(self) -> "Spent":
        """With a zero where nothing was counted: that is UNSET, so that old states hash to what their log says."""
        return msgspec.structs.replace(
            self,
            refused_calls=self.refused_calls or 0,
            cached_tokens=self.cached_tokens or 0,
            reasoning_tokens=self.reasoning_tokens or 0,
            held=self.held or "0",
        )

    @property
    def told(self) -> str:
        """The cost in words: a sum with what nobody can tell beside it."""
        if not self.unknown_calls:
            return self.known
        return f"≥ {self.known}, {self.unknown_calls} {'call' if self.unknown_calls == 1 else 'calls'} unknown"


INTERRUPTED: Final = "Ctrl-C in `playmolt agora`"
"""The reason of a stop that the same command takes back."""


StopKind = Literal["operator", "interrupt", "budget", "model", "setting", "runner"]


class StoppedBy(msgspec.Struct, frozen=True, kw_only=True):
    """Who stopped an experiment, and why: `model` and `status` say whose answer it was where a model did."""

    by: StopKind
    model: str | None = None
    status: int | None = None
    detail: str = ""


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run of an experiment, as `GET …/{id}/runs` lists it."""

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
    """What a run's models did that cost no reply and should be looked at.

    `answered` is alias → another model than was asked → its replies; `prompt_cut` is alias → replies to prompts that
    the server had cut.
    """

    answered: dict[str, dict[str, int]] = {}
    prompt_cut: dict[str, int] = {}


class DeviationRow(msgspec.Struct, frozen=True, kw_only=True):
    """A change after the lock; `count` says how often, where it can be counted."""

    n: int
    at: str
    by: str
    field: str
    before: str
    after: str
    reason: str
    count: int | None = None


class PcsSoFar(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """PCS of a cell over the turns taken so far, and what it would be about without any difference (its floors).

    Decimal strings. `floor_null` is the mean over all labelings of the runs; looks of before there was one have none.
    `floor_stage1` and `floor_phase1`, how much single runs of an arm differ, are no floors, and need two runs there.
    `n_…` count valid turns.
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
    """A look at figures while the matrix ran: one that adaptive sampling took, or one at PCS."""

    n: int
    at: str
    by: str
    measure: str
    intervals: dict[str, tuple[str, str]]
    """Cell → low and high end."""
    turns: int | None = None
    """Turns of the experiment that a look at PCS was taken after."""
    pcs: dict[str, PcsSoFar] = {}
    """Cell → what a look at PCS saw."""


class ExperimentProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the matrix is."""

    runs: int
    open: int
    finished: int
    turns_planned: int


class CostRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the calls of a model in a cell took; `known` is decimal text."""

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
    """An experiment as its operator sees it. `id` is the same as `experiment`."""

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
    """The text that was locked."""
    seed: str
    exploratory: bool
    scripted: bool
    models: tuple[str, ...]
    progress: ExperimentProgress
    tokens: int
    cost: str | None
    """The sums of `spent`, by themselves."""
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
    """Cells whose PCS can be looked at while the experiment runs."""
    stopped: StoppedBy | None = None
    """Null while it runs or is finished."""
    prompt_cut: dict[str, int] = {}
    """Alias → replies to prompts that its server had cut."""
    costs: tuple[CostRow, ...] = ()
    folder: Folder | None = None
    """The files of the plan's folder that were locked with it."""


class ExperimentRuns(msgspec.Struct, frozen=True):
    """The answer of `GET …/{id}/runs`."""

    runs: tuple[RunRow, ...]


class ExperimentRow(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment in a list."""

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
    """The body of `POST …/{id}/stop`."""

    reason: Note = ""


class ResumeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST …/{id}/resume`; a raised budget is recorded as a deviation, with its reason."""

    budget: Budget | UnsetType = UNSET
    reason: Note = ""


class Hidden(msgspec.Struct, frozen=True):
    """An experiment as anybody but its operator sees it: not at all."""

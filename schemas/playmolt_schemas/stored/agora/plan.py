"""What an experiment stores of its plan: the plan itself, its squares, its folder, and what its runs spent.

Amounts are decimal strings, because stored data contains no floats. A plan may contain them as numbers.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.stored.agora.turn import (
    Action,
    ConstraintLevel,
    Decoding,
    Interview,
    Language,
    Persona,
    PhaseName,
    SamplingSettings,
    SetName,
)

RUNS: Final = 1000
"""The maximum number of runs in an experiment, including added ones."""
NOTE_CHARS: Final = 2000
INTERVIEWS: Final = 50
"""The maximum number of questions asked aside."""
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
AdaptiveMeasure = Literal["pcs", "p:speak", "p:trade", "p:support", "p:whisper", "p:move", "p:idle"]
HomePolicy = Literal["persona", "rotated"]
Pairs = Literal["neighbours", "all"]


class PlanPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a plan: unknown keys are faults."""


class PhasePlan(PlanPart, frozen=True, kw_only=True):
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


class Phases(PlanPart, frozen=True, kw_only=True):
    """The phases to run; omitted phases do not run."""

    stage1: Stage1Plan | None = None
    phase1: Phase1Plan | None = None
    phase1_costs_real: CostsRealPlan | None = None
    phase2: Phase2Plan | None = None


class Hypothesis(PlanPart, frozen=True, kw_only=True):
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


class Limits(PlanPart, frozen=True, kw_only=True):
    """Spending limits; omitted limits are unlimited. `tokens` counts prompts and replies."""

    money: Amount | None = None
    tokens: Count | None = None
    calls: Count | None = None


class Budget(Limits, frozen=True, kw_only=True):
    """The limits of the experiment and of each run."""

    per_run: Limits = Limits()


class Adaptive(PlanPart, frozen=True, kw_only=True):
    """Adaptive sampling: adds one run per look to a Phase 1 cell until the interval of `measure` is at most `width`."""

    measure: AdaptiveMeasure
    width: Amount
    max_runs: Annotated[int, Meta(ge=1, le=RUNS)]
    """Per cell, including planned runs."""


class PlannedSeedEvent(PlanPart, frozen=True, kw_only=True):
    """A neutral event that every agent sees in a Phase 2 turn."""

    turn: Turns
    ko: Line
    en: Line


class ImportedRun(PlanPart, frozen=True, kw_only=True):
    """Counts of attempted actions in an external Stage 1 run."""

    run: Line
    model: Alias
    language: Language
    counts: dict[Action, Count]


class Stage1Import(PlanPart, frozen=True, kw_only=True):
    """An external Stage 1 distribution, and the file name that reports cite."""

    file: Line
    runs: tuple[ImportedRun, ...]


class RoomSeat(PlanPart, frozen=True, kw_only=True):
    """Seats of a room: persona, number, start place. `model` is allowed only if models share the room."""

    persona: Name | None = None
    count: Annotated[int, Meta(ge=1, le=SEATS)] = 1
    model: Alias | None = None
    home: Name | None = None


class RoomPlan(PlanPart, frozen=True, kw_only=True):
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


class BatchPlan(PlanPart, frozen=True, kw_only=True):
    """Whether models with a batch API (`batch` in the catalogue) are called through it."""

    judge: bool = False
    play: bool = False


class Probe(PlanPart, frozen=True, kw_only=True):
    """How often a model gave the same reply to the same prompt, as `playmolt agora probe` found.

    Each of `prompts` was asked `times` times alone, then as often beside the others. `alone` and `beside` count the
    replies that were the usual one of their prompt, `first` the prompts whose first reply was.
    """

    model: Alias
    at: Line
    prompts: Annotated[int, Meta(ge=1, le=1000)]
    times: Annotated[int, Meta(ge=1, le=1000)]
    alone: Count
    first: Count
    beside: Count
    temperature: Amount | None = None
    cache_prompt: bool | None = None


class Author(PlanPart, frozen=True, kw_only=True):
    """A person who answers for the experiment, as archives show it."""

    name: Line
    orcid: (
        Annotated[str, Meta(max_length=40, description="Such as 0000-0002-1825-0097, or its address.")] | UnsetType
    ) = UNSET
    affiliation: Line | UnsetType = UNSET


class Plan(PlanPart, frozen=True, kw_only=True):
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
    seed_events: Annotated[tuple[PlannedSeedEvent, ...], Meta(max_length=200)] = ()
    rooms: Annotated[tuple[RoomPlan, ...], Meta(min_length=1, max_length=50)] | UnsetType = UNSET
    measures: Annotated[tuple[Name, ...], Meta(max_length=50)] | UnsetType = UNSET
    """Measures of the folder. Default: all."""
    batch: BatchPlan | UnsetType = UNSET
    probes: Annotated[tuple[Probe, ...], Meta(max_length=20)] | UnsetType = UNSET
    """What a pilot found of the models' reproducibility."""
    interviews: Annotated[tuple[Interview, ...], Meta(max_length=INTERVIEWS)] | UnsetType = UNSET
    """Questions asked aside."""
    baselines: Annotated[tuple[Name, ...], Meta(max_length=50)] | UnsetType = UNSET
    """Answers of people, files of the folder. Default: all."""
    authors: Annotated[tuple[Author, ...], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    license: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET
    """The SPDX name of the licence of the bundle, for example CC-BY-4.0."""

    @property
    def stage1_rows(self) -> list[dict[str, Any]]:
        """The imported counts, a row for each run and action, as measures take them."""
        if not isinstance(self.stage1_import, Stage1Import):
            return []
        return [
            {"run": run.run, "model": run.model, "language": run.language, "action": action, "count": count}
            for run in self.stage1_import.runs
            for action, count in run.counts.items()
        ]


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


class FolderFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the plan's folder."""

    path: str
    bytes: int
    sha256: str


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """The locked files of the plan's folder; `hash` is the SHA-256 of the canonical JSON of `files`."""

    hash: str
    files: tuple[FolderFile, ...]


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


StopKind = Literal["operator", "interrupt", "budget", "model", "setting", "runner"]


class Noticed(msgspec.Struct, frozen=True, kw_only=True):
    """Anomalies of a run's models that did not cost a reply.

    `answered` is alias → model that answered instead of the requested one → replies; `prompt_cut` is alias → replies to
    prompts that the server truncated.
    """

    answered: dict[str, dict[str, int]] = {}
    prompt_cut: dict[str, int] = {}


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


class LockedSeat(msgspec.Struct, frozen=True, kw_only=True):
    """A seat of a room. `model` is null where the cell's model plays it."""

    agent: str
    persona: str | None
    home: str
    model: str | None = None


class LockedRoom(msgspec.Struct, frozen=True, kw_only=True):
    """A room with nothing left open.

    `rules` are all rules of a world of the folder; of a packaged world they are UNSET, and `changes` has what the room
    changes in it. `levels` says how strongly personas of the folder instruct, `files` is path → SHA-256.
    """

    name: str
    world: str
    base: PhaseName
    runs: int
    turns: int
    models: tuple[str, ...]
    languages: tuple[Language, ...]
    mix: Literal["one", "all"]
    seats: tuple[LockedSeat, ...]
    rules: dict[str, Any] | UnsetType = UNSET
    changes: dict[str, Any] = {}
    levels: dict[str, ConstraintLevel] = {}
    files: dict[str, str] = {}

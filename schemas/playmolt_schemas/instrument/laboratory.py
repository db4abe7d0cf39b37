"""What the runner of experiments asks the laboratory, and its answers. A job is one call, a body of JSON each way."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from playmolt_schemas.agora.plan import PlannedTest
from playmolt_schemas.instrument.measure_file import MeasureDeclaration
from playmolt_schemas.stored.agora.plan import AdaptiveMeasure, Hypothesis, SquareAgent
from playmolt_schemas.stored.agora.turn import Language

JobName = Literal["power", "trial", "pcs", "intervals", "thoughts", "study"]
JOBS: Final[Mapping[JobName, float]] = {
    "power": 120.0,
    "trial": 300.0,
    "pcs": 30.0,
    "intervals": 120.0,
    "thoughts": 120.0,
    "study": 600.0,
}
"""Job → the seconds that it may take, from its start in the laboratory."""
REPORT: Final = "report.html"
BUNDLE: Final = "bundle.zip"
SHARES: Final = "shares.csv"
STUDY_FILES: Final = (REPORT, SHARES, BUNDLE)
"""The answer of `study` is a tar with these files in this order."""


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of a model in one language, and the turns of one run of each arm."""

    language: Language
    stage1: int
    phase1: int
    stage1_turns: int
    phase1_turns: int


class Design(msgspec.Struct, frozen=True, kw_only=True):
    """What size and power of a plan's tests follow from.

    `tests` are the tests that the plan could hold, `hypotheses` those that it names. `pcs` is model → languages with
    both arms. `persona_runs` are the seats of each run of Sets A and B, `sets` those sets; `turns` is for Phase 2.
    """

    seed: str
    exploratory: bool
    tests: tuple[str, ...]
    hypotheses: tuple[Hypothesis, ...] = ()
    pcs: dict[str, tuple[Stratum, ...]] = {}
    sets: tuple[str, ...] = ()
    persona_runs: tuple[tuple[SquareAgent, ...], ...] = ()
    turns: int = 0

    @property
    def named(self) -> dict[str, Hypothesis]:
        """Test → its hypothesis."""
        return {hypothesis.test: hypothesis for hypothesis in self.hypotheses}


class LevelTest(msgspec.Struct, frozen=True, kw_only=True):
    """What H2b can find: it passes below `sd` at a mean of 0, with `power` there; 80 % need a true SD of `needed`."""

    sd: float
    needed: float
    power: float


class Power(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `power`. `level` is absent unless the plan names H2 and has two runs with personas."""

    tests: tuple[PlannedTest, ...]
    most_divergence: float
    level: LevelTest | None = None


class MeasureTrial(msgspec.Struct, frozen=True, kw_only=True):
    """Measures to be tried twice on turns as `turns.jsonl` holds them. The answer is a fault for each that fails."""

    measures: tuple[MeasureDeclaration, ...]
    turns: tuple[dict[str, Any], ...]


class PcsArms(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the actions of 𝒜, a row for each run."""

    stage1: Sequence[Sequence[int]]
    phase1: Sequence[Sequence[int]]


class IntervalsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that an adaptive look reads, and the counts that replace Stage 1 runs."""

    runs: tuple[str, ...]
    measure: AdaptiveMeasure
    seed: str
    stage1_import: tuple[dict[str, Any], ...] = ()


class CellInterval(msgspec.Struct, frozen=True, kw_only=True):
    """The interval of a measure in a cell, decimal text; both ends are absent where there is none."""

    model: str
    language: str
    low: str | None = None
    high: str | None = None


class Thought(msgspec.Struct, frozen=True):
    """The thought of a valid turn, or an answer in words to the question `interview`; `phase` is its arm."""

    run: str
    agent: str
    turn: int
    phase: str
    language: Language
    model: str
    text: str
    interview: str = ""

    @property
    def key(self) -> str:
        """An anonymous key of 16 hex digits, shown to coders instead of the author."""
        return key_of(self.run, self.agent, self.turn, self.interview)


def key_of(run: str, agent: str, turn: int, interview: str = "") -> str:
    """The key of a thought, or of an answer in words to a question."""
    place = f"{run}|{agent}|{turn}|{interview}" if interview else f"{run}|{agent}|{turn}"
    return hashlib.sha256(place.encode()).hexdigest()[:16]


class ThoughtsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The thoughts of these runs that can be coded: a sample drawn by the experiment's seed, or all.

    With either come all answers in words to questions with `code: true`.
    """

    runs: tuple[str, ...]
    seed: str
    sample: bool


class StudyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The study of an experiment: report, shares and sealed bundle."""

    experiment: str

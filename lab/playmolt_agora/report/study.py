"""What a report is made of: the turns and tables of one experiment, and what was fixed before its first turn."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.instrument.baseline_file import Baseline
from playmolt_schemas.instrument.definitions import arm_of, version
from playmolt_schemas.stored.agora.experiment import Preregistered
from playmolt_schemas.stored.agora.plan import Folder, LockedRoom
from playmolt_schemas.stored.agora.turn import Language, Parent, TurnRecord

from playmolt_agora.bundle.seal import ModelNote
from playmolt_agora.measures.data.results import Row
from playmolt_agora.own_measures.running import MeasureResult


class StudyFault(ValueError):
    """What was handed over cannot be reported; the message says which table or run and why."""


class RunNote(msgspec.Struct, frozen=True, kw_only=True):
    """One run: the versions of its events, and whether its turns count.

    `first` and `last` are versions of its stream; `last` 0 means that nothing is stored.
    """

    run: str
    cell: str
    number: int
    phase: str
    language: Language
    first: int = 1
    last: int
    outcome: str = "finished"
    exploratory: bool = False
    scripted: bool = False
    parent: Parent | None = None
    money: str | None = None
    """What its calls cost, as a decimal string; None when a price is unknown."""
    known: str = "0"
    unknown_calls: int = 0
    model: str | None = None
    """Of a run that one model plays alone."""
    set: str | None = None

    @property
    def events(self) -> int:
        """How many are stored."""
        return self.last - self.first + 1 if self.last else 0

    @property
    def label(self) -> str:
        """How people read of it: `phase1 · steady · ko · 2`, `phase2 A · ko · 2`."""
        arm = self.cell.split("/")[0]
        who = self.model.removeprefix("scripted-") if self.model else ""
        parts = (f"{arm} {self.set}" if self.set else arm, who, self.language, str(self.number))
        return " · ".join(part for part in parts if part)


class DeviationNote(msgspec.Struct, frozen=True, kw_only=True):
    """A change after the preregistration."""

    at: str
    text: str
    version: int
    """Of the experiment's stream."""


class OwnContent(msgspec.Struct, frozen=True, kw_only=True):
    """The custom material of a study: the locked folder, its rooms and texts, and the results of its measures."""

    folder: Folder
    rooms: tuple[LockedRoom, ...] = ()
    texts: Mapping[str, str] = {}
    measures: tuple[MeasureResult, ...] = ()


class StudyData(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment, ready to be reported.

    `tables` and `provenance` are those of `measures.analysis` and more, under names of `tables.toml`. The rows of
    `treasury` have run, epoch and treasury.
    """

    experiment: str
    name: str
    made_at: str = msgspec.field(default_factory=lambda: rfc3339(datetime.now(UTC)))
    definitions: str = msgspec.field(default_factory=version)
    stage1: str = ""
    stage1_import: str | None = None
    seed: str
    lock: Preregistered | None = None
    locked_at: str = ""
    runs: tuple[RunNote, ...]
    models: tuple[ModelNote, ...] = ()
    turns: Sequence[TurnRecord]
    tables: Mapping[str, Sequence[Row]]
    provenance: Mapping[str, Sequence[Row]] = {}
    treasury: Sequence[Row] = ()
    deviations: tuple[DeviationNote, ...] = ()
    prompt_cut: Mapping[str, int] = {}
    looks: int = 0
    judges: Sequence[Row] = ()
    """The models that judged thoughts: how many got labels, how many a reply without them, and what it took."""
    events_at: Literal["platform", "bundle", ""] = ""
    """Where the page leads to the events of its runs; nowhere from a file beside which there are none."""
    plan: Mapping[str, Any] = {}
    baselines: tuple[Baseline, ...] = ()
    """The answers of people that came with the plan."""
    own: OwnContent | None = None
    """What came with the plan, where it has a folder."""

    def rows(self, name: str) -> Sequence[Row]:
        """A table; none for one that is not there."""
        return self.tables.get(name, ())

    def counted(self, name: str) -> Sequence[Row]:
        """A table, each row with the `n` of what it counts and the unit where the table has no such column."""
        found, stored = self.rows(name), self.provenance.get(name)
        if not stored or any("n" in row for row in found):
            return found
        return [{**row, "n": each["n"], "n of": f"{each['unit']}s"} for row, each in zip(found, stored, strict=True)]

    @property
    def has_stage1(self) -> bool:
        """Whether anything rests on Stage 1, played or imported."""
        return self.stage1_import is not None or any(run.phase == "stage1" for run in self.runs)

    @property
    def has_pcs(self) -> bool:
        """Whether any model has both arms of PCS."""
        return any(row["pcs"] is not None for row in self.rows("pcs"))

    @property
    def registered_runs(self) -> tuple[RunNote, ...]:
        """The runs that may confirm something: neither exploratory nor a fork."""
        return tuple(run for run in self.runs if not run.exploratory and run.parent is None)

    def shown_runs(self, *arms: str) -> tuple[RunNote, ...]:
        """The runs that figures are of, of the named arms or of all.

        The registered ones. Where there are none (pilots only), all but forks, whose first turns are their parents'.
        """
        kept = self.registered_runs or tuple(run for run in self.runs if run.parent is None) or self.runs
        return tuple(run for run in kept if not arms or arm_of(run.cell, run.phase) in arms)

    @property
    def shown_turns(self) -> list[TurnRecord]:
        kept = {run.run for run in self.shown_runs()}
        return [turn for turn in self.turns if turn.run in kept]

    def shown_rows(self, name: str) -> list[Row]:
        """The rows of a table with a row a run, of the runs that figures are of."""
        kept = {run.run for run in self.shown_runs()}
        return [row for row in self.rows(name) if row["run"] in kept]

    @property
    def described(self) -> dict[str, object]:
        """What was locked and what came after, for readers of the tables; keys and labels of custom measures."""
        own = self.own.measures if self.own else ()
        held = [each.declared for each in own if each.declared and each.table is not None]
        return {
            "id": self.experiment, "name": self.name, "seed": self.seed, "definitions": self.definitions,
            "stimuli": self.lock.pins.stimuli if self.lock else "", "stage1": self.stage1, "plan": self.plan,
            "models": self.models, "deviations": self.deviations,
            "own_measures": {each.table: {"keys": each.keys, "labels": each.labels} for each in held},
        }  # fmt: skip

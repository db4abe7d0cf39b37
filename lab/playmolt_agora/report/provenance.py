"""Where a figure comes from: runs, event ranges and definition, each leading to the events themselves."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.report.study import RunNote, StudyData, rows


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """What a figure was computed from: which measure in which version, further facts by name, and its runs."""

    measure: str
    version: str
    runs: tuple[RunNote, ...]
    facts: Mapping[str, str] = {}

    @property
    def events(self) -> int:
        return sum(run.last - run.first + 1 for run in self.runs if run.last)

    @property
    def scripted(self) -> str:
        """Which of the runs were scripted: none (`""`), all or some."""
        marked = sum(run.scripted for run in self.runs)
        if not marked:
            return ""
        return "all" if marked == len(self.runs) else "some"


def source(study: StudyData, measure: str, runs: Iterable[RunNote], table: str = "", **facts: str) -> Provenance:
    """The source of a figure of this study.

    `runs` are those that it shows; where `table` has a provenance, that says which of them it was computed from, and
    α, unit and how many runs or models of runs were left out of it.
    """
    stored = rows(study.provenance.get(table))
    kept = tuple(runs)
    if stored:
        named = {run for row in stored for run in row["runs"]}
        kept = tuple(run for run in kept if run.run in named)
    return Provenance(measure=measure, version=study.definitions, runs=kept, facts={**_stored(stored), **facts})


def _stored(stored: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    if not stored:
        return {"K": str(len(ACTIONS))}
    facts = {"K": _distinct(stored, "k"), "smoothing α": _distinct(stored, "alpha"), "unit": _distinct(stored, "unit")}
    excluded = {each for row in stored for each in row["exclusions"]}
    return {**{name: value for name, value in facts.items() if value}, "left out": str(len(excluded) or "none")}


def _distinct(stored: Sequence[Mapping[str, object]], column: str) -> str:
    return ", ".join(sorted({f"{row[column]}" for row in stored if row[column] is not None}))

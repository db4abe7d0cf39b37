"""What figures have in common: a sketch, the runs and turns that they are of, and how they name things."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from playmolt_schemas.instrument.definitions import COSTS_REAL, arm_of
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.report import vega
from playmolt_agora.report.study import RunNote, StudyData, Table, rows

PHASES: Final = {"stage1": "Stage 1", "phase1": "Phase 1", COSTS_REAL: "Phase 1, real costs", "phase2": "Phase 2"}
CONDITIONS: Final = {"": "", "with_persona": "personas", "no_persona": "no persona"}


def phase_title(phase: str) -> str:
    """What people call a phase; a room has its name."""
    return PHASES.get(phase, phase)


class Sketch(NamedTuple):
    """A chart, what it shows in words, and the rows that its numbers are columns of; all columns if none are named."""

    chart: vega.Spec
    alt: str
    of: Sequence[Mapping[str, object]] = ()
    columns: tuple[str, ...] = ()
    table: str = ""


def registered_runs(study: StudyData) -> tuple[RunNote, ...]:
    """The runs that may confirm something: neither exploratory nor a fork."""
    return tuple(run for run in study.runs if not run.exploratory and run.parent is None)


def shown_runs(study: StudyData, *arms: str) -> tuple[RunNote, ...]:
    """The runs that figures are of, of the named arms or of all.

    The registered ones. Where there are none (pilots only), all but forks, whose first turns are their parents'.
    """
    kept = registered_runs(study) or tuple(run for run in study.runs if run.parent is None) or study.runs
    return tuple(run for run in kept if not arms or arm_of(run.cell, run.phase) in arms)


def shown_turns(study: StudyData) -> list[TurnRecord]:
    kept = {run.run for run in shown_runs(study)}
    return [turn for turn in study.turns if turn.run in kept]


def shown_rows(study: StudyData, table: Table | None) -> list[dict[str, Any]]:
    """The rows of a table with a row a run, of the runs that figures are of."""
    kept = {run.run for run in shown_runs(study)}
    return [row for row in rows(table) if row["run"] in kept]


def in_order(values: Iterable[object]) -> list[str]:
    """The distinct texts among values, sorted."""
    return sorted({str(value) for value in values if value is not None})


def percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.0f} %"


def in_words(head: str, said: Iterable[str], empty: str = "", between: str = "; ") -> str:
    """What a chart shows; `empty` where there is nothing to say."""
    words = between.join(said)
    return f"{head} {words}." if words else empty

"""The report: one HTML file that opens offline, without scripts and without anything loaded from elsewhere."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from playmolt_schemas.instrument.definitions import SMOOTHING
from playmolt_schemas.stored.agora.turn import ACTIONS, TurnRecord

from playmolt_agora.measures import drift
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.data.results import grouped
from playmolt_agora.measures.divergence import count_jsd
from playmolt_agora.report import chapters, markup
from playmolt_agora.report.plots.gallery import Plot, gallery
from playmolt_agora.report.study import RunNote, StudyData

_ACT: Final = attrgetter("parse_code", "action", "target", "content")
"""What a turn did, for a comparison: not what it cost or how long it took."""


def render(study: StudyData, figures: Mapping[str, Plot] | None = None) -> str:
    """Equal studies give equal bytes. `figures` are those of its `gallery`, where they are already drawn."""
    return markup.rendered(
        "page.html",
        study=study,
        drawn=gallery(study) if figures is None else figures,
        rows=study.rows,
        counted=study.counted,
        chapters=chapters,
        source_of=source_of,
        forks=forks,
    )


def source_of(
    study: StudyData, runs: Iterable[RunNote], table: str = "", **facts: str
) -> tuple[list[RunNote], dict[str, str]]:
    """The runs that a figure was computed from, and further facts by name.

    `runs` are those that it shows; where `table` has a provenance, that says which of them it was computed from, and
    α, unit and how many runs or models of runs were left out of it.
    """
    stored = study.provenance.get(table, ())
    named = {run for row in stored for run in row["runs"]}
    return [run for run in runs if not stored or run.run in named], {**_stored(stored), **facts}


def _stored(stored: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    if not stored:
        return {"K": str(len(ACTIONS))}
    facts = {"K": _distinct(stored, "k"), "smoothing α": _distinct(stored, "alpha"), "unit": _distinct(stored, "unit")}
    excluded = {each for row in stored for each in row["exclusions"]}
    return {**{name: value for name, value in facts.items() if value}, "left out": str(len(excluded) or "none")}


def _distinct(stored: Sequence[Mapping[str, object]], column: str) -> str:
    return ", ".join(sorted({f"{row[column]}" for row in stored if row[column] is not None}))


First = tuple[TurnRecord, TurnRecord] | None
"""The parent's and the fork's turn where they first differ."""
Divergence = tuple[tuple[int, float | None], ...]
"""By window of Instruction Drift, None where one side has no valid turn."""


def forks(study: StudyData) -> Iterator[tuple[RunNote, First, Divergence]]:
    """The forks of a study whose parent is in it, too."""
    by_run = grouped(study.turns, lambda turn: turn.run)
    for run in study.runs:
        if run.parent is not None and run.parent.run in by_run:
            parent, child = by_run[run.parent.run], by_run.get(run.run, [])
            yield run, _first(parent, child), _divergence(parent, child)


def _first(parent: Sequence[TurnRecord], child: Sequence[TurnRecord]) -> First:
    before = {(turn.turn, turn.agent): turn for turn in parent}
    for turn in sorted(child, key=lambda turn: (turn.turn, turn.order)):
        other = before.get((turn.turn, turn.agent))
        if other is not None and _ACT(other) != _ACT(turn):
            return other, turn
    return None


def _divergence(parent: Sequence[TurnRecord], child: Sequence[TurnRecord]) -> Divergence:
    """Windows in which either has a valid turn."""
    sides = [frame(turns) for turns in (parent, child)]
    return tuple(
        (window, float(count_jsd(one, two, SMOOTHING)) if one.any() and two.any() else None)
        for window, (one, two) in enumerate(zip(*map(drift.by_window, sides), strict=True), 1)
        if one.any() or two.any()
    )

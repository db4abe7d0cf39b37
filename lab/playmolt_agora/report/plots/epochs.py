"""How unequal holdings were, and what the treasury held, by epoch."""

from collections.abc import Sequence
from typing import Any, Final

from playmolt_schemas.instrument.definitions import arm_of, rank_of

from playmolt_agora.measures.data.results import mean
from playmolt_agora.report import charts
from playmolt_agora.report.charts import DASHES, HUES, Style
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import Sketch, phase_title, shown_runs
from playmolt_agora.report.study import StudyData, rows

_LANGUAGES: Final = {"ko": Style(HUES[0]), "en": Style(HUES[1], DASHES[1])}

Points = list[dict[str, Any]]
"""`run`, `series` (its language), epoch `x` and value `y`."""


def gini_figure(study: StudyData) -> Sketch:
    return _figure(study, rows(study.tables.get("gini")), "gini", "Gini", ("kind",), 1.0)


def treasury_figure(study: StudyData) -> Sketch | None:
    found = rows(study.treasury)
    return _figure(study, found, "treasury", "Treasury", (), None) if found else None


def _figure(
    study: StudyData, found: Sequence[dict[str, Any]], name: str, title: str, keys: Sequence[str], top: float | None
) -> Sketch:
    groups = _groups(study, found, name, keys)
    columns, width = charts.fitted(len(groups), 3)
    highest = max((point["y"] for points in groups.values() for point in points), default=0.0)
    panels = []
    for heading, points in groups.items():
        x = charts.axis("x", "epoch", domain=(0, max(point["x"] for point in points)), nice=False)
        y = charts.axis("y", domain=(0, top or highest or 1.0))
        layers = charts.lines(points, _LANGUAGES, x, y, marks=False, legend=charts.key(_LANGUAGES))
        panels.append(charts.panel(layers, width, 100, title=heading))
    return Sketch(charts.grid(panels, columns), _alt(title, groups))


def _groups(study: StudyData, found: Sequence[dict[str, Any]], column: str, keys: Sequence[str]) -> dict[str, Points]:
    """The points of runs by phase and key."""
    notes = {run.run: run for run in shown_runs(study)}
    kinds: dict[tuple[str, ...], Points] = {}
    for row in sorted(found, key=lambda row: int(row["epoch"])):
        note = notes.get(row["run"])
        if note is not None and row[column] is not None:
            key = (arm_of(note.cell, note.phase), *(str(row[name]) for name in keys))
            point = {"run": note.run, "series": note.language, "x": row["epoch"], "y": float(row[column])}
            kinds.setdefault(key, []).append(point)
    ordered = sorted(kinds, key=lambda key: (rank_of(key[0]), key[1:]))
    return {" · ".join((phase_title(key[0]), *key[1:])): kinds[key] for key in ordered}


def _alt(title: str, groups: dict[str, Points]) -> str:
    ends = {heading: {point["run"]: point["y"] for point in points} for heading, points in groups.items()}
    said = [
        f"{heading}: mean at the end {shown(mean(list(last.values())))} over {len(last)} runs"
        for heading, last in ends.items()
    ]
    return f"{title} by epoch. {'; '.join(said)}." if said else f"{title}: nothing was recorded."

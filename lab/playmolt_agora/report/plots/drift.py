"""Instruction Drift, entropy and persona washout, by window."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from playmolt_agora.measures.data.results import grouped, mean
from playmolt_agora.report import charts
from playmolt_agora.report.charts import BAND, HUES, Style, styles
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import Sketch, in_order, shown_rows
from playmolt_agora.report.study import StudyData, rows
from playmolt_agora.report.vega import Spec

_RAW: Final = "raw (mean)"
_EXCESS: Final = "excess (mean)"
_NULL: Final = "permutation null, range over runs"
_DRIFT_STYLES: Final = {_RAW: Style(HUES[1], shape="circle"), _EXCESS: Style(HUES[0])}
_NULL_STYLE: Final = {_NULL: Style(BAND)}
_ENTROPY: Final = {"mean": Style(HUES[0])}
_HEIGHT: Final = 120

Line = dict[str, Any]


def drift_figure(study: StudyData) -> Sketch:
    """Draw raw drift above the range of its permutation null, and the excess over it."""
    found = shown_rows(study, study.tables.get("drift"))
    groups = _by_persona(found)
    _, width = charts.fitted(2, 2, left=56, gap=60)
    raw = charts.axis("y", "bits", domain=(0.0, max((row["id_raw"] or 0 for row in found), default=0.0) or 1.0))
    excess = charts.axis("y", domain=_span([row["id_excess"] for row in found]))
    panels = []
    for name, lines in groups.items():
        x = _windows(lines)
        panels += [
            charts.panel([_null(lines, x, raw), *_drawn(lines, "id_raw", _RAW, x, raw)], width, _HEIGHT,
                         title=f"{name}: raw and null"),
            charts.panel([charts.level(), *_drawn(lines, "id_excess", _EXCESS, x, excess)], width, _HEIGHT,
                         title=f"{name}: excess over the null"),
        ]  # fmt: skip
    return Sketch(charts.grid(panels, 2, gap=60), _alt("Instruction Drift", groups, "id_excess"), found)


def _null(lines: Sequence[Line], x: Spec, y: Spec) -> Spec:
    legend: Spec = {**charts.key(_NULL_STYLE), "symbolType": "square"}
    known = grouped((line for line in lines if line["id_null"] is not None), lambda line: line["window"])
    nulls = {window: [line["id_null"] for line in found] for window, found in known.items()}
    edges = [{"x": window, "y": min(found), "to": max(found), "series": _NULL} for window, found in nulls.items()]
    return charts.layer({"type": "area", "opacity": 0.75}, edges, x=x, y=y, y2={"field": "to"},
                        **charts.looks(_NULL_STYLE, "color", legend=legend))  # fmt: skip


def _drawn(lines: Sequence[Line], column: str, series: str, x: Spec, y: Spec, *, at: str = "window") -> list[Spec]:
    """A thin line for each run, and the mean of the runs."""
    known = _ENTROPY if series in _ENTROPY else _DRIFT_STYLES
    points = [{"run": line["run"], "series": series, "x": line[at], "y": line[column]} for line in lines]
    legend = None if known is _ENTROPY else charts.key(known)
    return charts.lines(points, known, x, y, marks=at == "window", legend=legend)


def entropy_figure(study: StudyData) -> Sketch:
    """Draw the normalised entropy by window, which H1a and H2 are about."""
    groups = _by_persona(shown_rows(study, study.tables.get("drift")))
    return Sketch(_entropies(groups, "window", _windows), _alt("Normalised entropy", groups, "h_norm"))


def rolling_figure(study: StudyData) -> Sketch | None:
    """Draw entropy over rolling windows, as a picture beside the windows that count; None with one window alone."""
    found = shown_rows(study, study.further.get("rolling"))
    groups = _by_persona(found)
    if len({line["first_turn"] for line in found}) < 2:
        return None
    chart = _entropies(groups, "first_turn", lambda _: charts.axis("x", "first turn of 20", nice=False))
    said = f"Normalised entropy over rolling windows of 20 turns, {len(groups)} panels by persona."
    return Sketch(chart, said)


def _entropies(groups: Mapping[str, Sequence[Line]], at: str, across: Callable[[Sequence[Line]], Spec]) -> Spec:
    columns, width = charts.fitted(len(groups), 3)
    panels = []
    for number, (name, lines) in enumerate(groups.items()):
        y = charts.axis("y", None if number % columns else "entropy, 0 to 1", domain=(0, 1))
        layers = _drawn(lines, "h_norm", "mean", across(lines), y, at=at)
        panels.append(charts.panel(layers, width, _HEIGHT, title=name))
    return charts.grid(panels, columns)


def washout_figure(study: StudyData) -> Sketch:
    """Draw how far actions with a persona exceed those of the same model without, by window."""
    found = rows(study.tables.get("washout"))
    series = styles(in_order(line["model"] for line in found))
    ordered = sorted(found, key=lambda line: (line["persona"], line["language"]))
    groups = grouped(ordered, lambda line: f"{line['persona']} · {line['language']}")
    columns, width = charts.fitted(len(groups), 2)
    span = _span([line["pw_excess"] for line in found])
    panels = []
    for number, (name, lines) in enumerate(groups.items()):
        y = charts.axis("y", None if number % columns else "excess, bits", domain=span)
        points = [{"series": line["model"], "x": line["window"], "y": line["pw_excess"]} for line in lines]
        layers = [charts.level(), *charts.lines(points, series, _windows(lines), y, legend=charts.key(series))]
        panels.append(charts.panel(layers, width, _HEIGHT, title=name))
    return Sketch(charts.grid(panels, columns), _alt("Persona washout", groups, "pw_excess"), found)


def _by_persona(found: Sequence[Line]) -> dict[str, list[Line]]:
    ordered = sorted(found, key=lambda row: (row["persona"] or "", row["language"]))
    return grouped(ordered, lambda row: row["persona"] or "no persona")


def _windows(lines: Sequence[Line]) -> Spec:
    windows = sorted({line["window"] for line in lines})
    return charts.axis(
        "x", "window", domain=(windows[0] - 0.2, windows[-1] + 0.2), nice=False, options={"values": windows}
    )


def _span(values: Sequence[float | None]) -> tuple[float, float]:
    known = [value for value in values if value is not None]
    return min((*known, 0.0)), max((*known, 0.01))


def _means(lines: Sequence[Line], column: str) -> list[float | None]:
    """The mean of what is known in each window."""
    known = [line for line in lines if line[column] is not None]
    windows = grouped(sorted(known, key=lambda line: int(line["window"])), lambda line: line["window"])
    return [mean(line[column] for line in found) for found in windows.values()]


def _alt(title: str, groups: Mapping[str, Sequence[Line]], column: str) -> str:
    said = [
        f"{name} {', '.join(map(shown, means))}" for name, lines in groups.items() if (means := _means(lines, column))
    ]
    return f"{title}, means of {column} by window: {'; '.join(said)}." if said else f"{title}: no value."

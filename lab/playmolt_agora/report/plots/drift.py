"""Instruction Drift, entropy and persona washout, by window."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playmolt_agora.report.chart import HUES, ChartCanvas, Panel, Style, grid, legend, rounded_up, style
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import WIDTH, Plot, drawn, in_order, mean, shown_rows, shown_runs
from playmolt_agora.report.study import StudyData, rows

_RAW = Style(HUES[1], "", "circle")
_EXCESS = Style(HUES[0], "", "square")
_HEIGHT = 120.0
_ROW = 176.0

Line = dict[str, Any]


def drift_figure(study: StudyData) -> Plot:
    """Draw raw drift above the range of its permutation null, and the excess over it."""
    found = shown_rows(study, study.tables.get("drift"))
    groups = _by_persona(found)
    alt = _alt("Instruction Drift", groups, "id_excess")
    drawing = ChartCanvas(WIDTH, 44 + _ROW * len(groups))
    legend(drawing, 48, 16, [("raw (mean)", _RAW), ("excess (mean)", _EXCESS)], lines=True, right=WIDTH)
    drawing.rect(300, 6, 14, 12, hue="#c9d1da")
    drawing.text(320, 16, "permutation null, range over runs", size=11)
    raw_end = rounded_up(max((row["id_raw"] or 0 for row in found), default=0.0))
    low, high = _span([row["id_excess"] for row in found])
    width = (WIDTH - 110) / 2
    for number, (name, lines) in enumerate(groups.items()):
        windows, top = _windows(lines), 62 + number * _ROW
        panel = Panel(drawing, 48, top, width, _HEIGHT, x=_across(windows), y=(0, raw_end))
        panel.axes(title=f"{name}: raw and null", x_ticks=windows, x_label="window", y_label="bits")
        panel.band(_edge(lines, windows, "id_null", min), _edge(lines, windows, "id_null", max))
        _bundle(panel, lines, windows, "id_raw", _RAW)
        excess = Panel(drawing, 110 + width, top, width, _HEIGHT, x=_across(windows), y=(low, high))
        excess.axes(title=f"{name}: excess over the null", x_ticks=windows, x_label="window")
        excess.level(0.0)
        _bundle(excess, lines, windows, "id_excess", _EXCESS)
    return drawn(
        "drift",
        "Instruction Drift by window",
        drawing,
        alt,
        measure="drift",
        table="drift",
        runs=shown_runs(study, "phase2"),
        columns=_DRIFT,
        of=found,
    )


_DRIFT = ("run", "language", "persona", "condition", "window", "n", "h_norm", "id_raw", "id_null", "id_excess")


def entropy_figure(study: StudyData) -> Plot:
    """Draw the normalised entropy by window, which H1a and H2 are about."""
    found = shown_rows(study, study.tables.get("drift"))
    groups = _by_persona(found)
    alt = _alt("Normalised entropy", groups, "h_norm")
    count, columns = grid(len(groups), 3)
    drawing = ChartCanvas(WIDTH, 20 + _ROW * count)
    width = (WIDTH - 48 - (columns - 1) * 30) / columns
    for number, (name, lines) in enumerate(groups.items()):
        row, column = divmod(number, columns)
        windows = _windows(lines)
        panel = Panel(
            drawing, 44 + column * (width + 30), 28 + row * _ROW, width, _HEIGHT, x=_across(windows), y=(0, 1)
        )
        panel.axes(title=name, x_ticks=windows, x_label="window", y_label="entropy, 0 to 1" if column == 0 else "")
        _bundle(panel, lines, windows, "h_norm", _EXCESS)
    return drawn(
        "entropy",
        "Entropy of actions by window",
        drawing,
        alt,
        measure="drift.h_norm",
        table="drift",
        runs=shown_runs(study, "phase2"),
    )


def rolls(study: StudyData) -> bool:
    """Whether runs are long enough for two rolling windows, so that there is a line to draw."""
    return len({line["first_turn"] for line in shown_rows(study, study.further.get("rolling"))}) > 1


def rolling_figure(study: StudyData) -> Plot:
    """Draw entropy over rolling windows, as a picture beside the windows that count."""
    found = shown_rows(study, study.further.get("rolling"))
    groups = _by_persona(found)
    alt = f"Normalised entropy over rolling windows of 20 turns, {len(groups)} panels by persona."
    count, columns = grid(len(groups), 3)
    drawing = ChartCanvas(WIDTH, 20 + _ROW * count)
    width = (WIDTH - 48 - (columns - 1) * 30) / columns
    for number, (name, lines) in enumerate(groups.items()):
        row, column = divmod(number, columns)
        starts = sorted({line["first_turn"] for line in lines})
        across = (float(starts[0]), float(starts[-1] + 1))
        panel = Panel(drawing, 44 + column * (width + 30), 28 + row * _ROW, width, _HEIGHT, x=across, y=(0, 1))
        panel.axes(title=name, x_label="first turn of 20", y_label="entropy, 0 to 1" if column == 0 else "")
        for run in in_order(line["run"] for line in lines):
            panel.series(_points([line for line in lines if line["run"] == run]), _EXCESS, thin=True)
        panel.series(_points(lines), _EXCESS, marks=False)
    return drawn(
        "rolling",
        "Entropy over rolling windows",
        drawing,
        alt,
        measure="rolling",
        table="rolling",
        runs=shown_runs(study, "phase2"),
    )


def _points(lines: Sequence[Line]) -> list[tuple[float, float]]:
    by_start: dict[int, list[float | None]] = {}
    for line in lines:
        by_start.setdefault(line["first_turn"], []).append(line["h_norm"])
    means = ((float(start), mean(values)) for start, values in sorted(by_start.items()))
    return [(start, value) for start, value in means if value is not None]


def washout_figure(study: StudyData) -> Plot:
    """Draw how far actions with a persona exceed those of the same model without, by window."""
    found = rows(study.tables.get("washout"))
    models = in_order(line["model"] for line in found)
    looks = {model: style(index) for index, model in enumerate(models)}
    groups: dict[str, list[Line]] = {}
    for line in sorted(found, key=lambda line: (line["persona"], line["language"])):
        groups.setdefault(f"{line['persona']} · {line['language']}", []).append(line)
    alt = _alt("Persona washout", groups, "pw_excess")
    count, columns = grid(len(groups), 2)
    drawing = ChartCanvas(WIDTH, 44 + _ROW * count)
    legend(drawing, 48, 16, [(model, looks[model]) for model in models], lines=True, right=WIDTH)
    low, high = _span([line["pw_excess"] for line in found])
    width = (WIDTH - 58 - (columns - 1) * 34) / columns
    for number, (name, lines) in enumerate(groups.items()):
        row, column = divmod(number, columns)
        windows = _windows(lines)
        panel = Panel(
            drawing, 48 + column * (width + 34), 62 + row * _ROW, width, _HEIGHT, x=_across(windows), y=(low, high)
        )
        panel.axes(title=name, x_ticks=windows, x_label="window", y_label="excess, bits" if column == 0 else "")
        panel.level(0.0)
        for model in models:
            mine = [line for line in lines if line["model"] == model]
            panel.series(_means(mine, windows, "pw_excess"), looks[model])
    columns_shown = ("language", "model", "persona", "window", "n_on", "n_off", "pw", "pw_null", "pw_excess")
    return drawn(
        "washout",
        "Persona washout by window",
        drawing,
        alt,
        measure="washout",
        table="washout",
        runs=shown_runs(study, "phase2"),
        columns=columns_shown,
        of=found,
    )


def _by_persona(found: Sequence[Line]) -> dict[str, list[Line]]:
    groups: dict[str, list[Line]] = {}
    for row in sorted(found, key=lambda row: (row["persona"] or "", row["language"])):
        groups.setdefault(row["persona"] or "no persona", []).append(row)
    return groups


def _windows(lines: Sequence[Line]) -> list[int]:
    return sorted({line["window"] for line in lines})


def _across(windows: Sequence[int]) -> tuple[float, float]:
    return (min(windows) - 0.2, max(windows) + 0.2)


def _span(values: Sequence[float | None]) -> tuple[float, float]:
    known = [value for value in values if value is not None]
    high = rounded_up(max((*known, 0.01)))
    least = min((*known, 0.0))
    return (-rounded_up(-least) if least < 0 else 0.0, high)


def _edge(
    lines: Sequence[Line], windows: Sequence[int], column: str, pick: Callable[[Sequence[float]], float]
) -> list[tuple[float, float]]:
    edge = []
    for window in windows:
        known = [line[column] for line in lines if line["window"] == window and line[column] is not None]
        if known:
            edge.append((float(window), pick(known)))
    return edge


def _means(lines: Sequence[Line], windows: Sequence[int], column: str) -> list[tuple[float, float]]:
    points = []
    for window in windows:
        value = mean([line[column] for line in lines if line["window"] == window])
        if value is not None:
            points.append((float(window), value))
    return points


def _bundle(panel: Panel, lines: Sequence[Line], windows: Sequence[int], column: str, look: Style) -> None:
    for run in in_order(line["run"] for line in lines):
        mine = [line for line in lines if line["run"] == run]
        panel.series(_means(mine, windows, column), look, thin=True)
    panel.series(_means(lines, windows, column), look)


def _alt(title: str, groups: Mapping[str, Sequence[Line]], column: str) -> str:
    said = []
    for name, lines in groups.items():
        points = _means(lines, _windows(lines), column)
        if points:
            said.append(f"{name} {', '.join(shown(value) for _, value in points)}")
    return f"{title}, means of {column} by window: {'; '.join(said)}." if said else f"{title}: no value."

"""Contrasts of languages, personas and models: divergence and percentage points, with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.report.chart import SOFT, ChartCanvas, Panel, Style, grid, legend, rounded_up, style, ticks
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import CONDITIONS, WIDTH, Plot, drawn, in_order, phase_title, shown_runs
from playmolt_agora.report.study import StudyData, counted_rows

_LEFT: Final = 230.0
_LINE: Final = 17.0

Line = Mapping[str, Any]


def contrast_figure(study: StudyData) -> Plot:
    """Draw the divergence of the two sides of each contrast, per model, with its interval where there is one."""
    found: Sequence[Line] = counted_rows(study, "contrast_intervals") or counted_rows(study, "contrasts")
    models = in_order(row["model"] for row in found)
    looks = {model: style(index) for index, model in enumerate(models)}
    groups = _grouped(found)
    alt = _alt("Divergence by contrast", groups, "jsd")
    most = max((row.get(name) or 0.0 for row in found for name in ("jsd", "ci_hi")), default=0.0)
    drawing, panel = _field(groups, looks, (0.0, min(1.0, rounded_up(most))), "Jensen–Shannon divergence, bits")
    at = 0.0
    for name, lines in groups.items():
        at = _group(panel, at, name, lines, looks, "jsd")
    return drawn(
        "contrasts",
        "Contrasts of languages, personas and models",
        drawing,
        alt,
        measure="contrasts",
        table="contrast_intervals" if study.further.get("contrast_intervals") else "contrasts",
        runs=shown_runs(study),
        columns=tuple(found[0]) if found else (),
        of=found,
    )


def model_figure(study: StudyData) -> Plot:
    """Draw the differences of PCS between models, with their intervals."""
    found = [
        {
            **row,
            "contrast": "PCS",
            "phase": row["language"],
            "condition": None,
            "model": f"{row['model_a']} − {row['model_b']}",
        }
        for row in counted_rows(study, "delta_pcs")
    ]
    looks = {model: style(index) for index, model in enumerate(in_order(row["model"] for row in found))}
    groups = _grouped(found)
    alt = _alt("Differences of PCS", groups, "delta")
    drawing, panel = _field(groups, looks, _span(found, "delta"), "difference of PCS, bits")
    drawing.line(panel.x(0), panel.top, panel.x(0), panel.top + panel.height, hue=SOFT, dash="3 3")
    at = 0.0
    for name, lines in groups.items():
        at = _group(panel, at, name, lines, looks, "delta")
    columns = ("language", "model_a", "model_b", "delta", "ci_lo", "ci_hi", "p", "p_holm", "n", "n of")
    return drawn(
        "pcs-models",
        "Differences of PCS between models",
        drawing,
        alt,
        measure="delta_pcs",
        table="delta_pcs",
        runs=shown_runs(study, "stage1", "phase1"),
        columns=columns,
        of=found,
    )


def point_figure(study: StudyData) -> Plot:
    """Draw the differences of shares in percentage points, one panel a contrast, with intervals."""
    shares = counted_rows(study, "contrast_shares")
    found: Sequence[Line] = [row for row in shares if row["contrast"] != "model"]
    models = in_order(row["model"] for row in found)
    looks = {model: style(index) for index, model in enumerate(models)}
    groups = _grouped(found)
    alt = _alt("Differences of shares in percentage points", groups, "points", key="action")
    count, columns = grid(len(groups), 3)
    height = 26.0 * len(ACTIONS)
    drawing = ChartCanvas(WIDTH, 50 + count * (height + 64))
    legend(drawing, 10, 16, list(looks.items()), lines=True, right=WIDTH)
    width = (WIDTH - 70 - (columns - 1) * 20) / columns
    span = _span(found, "points")
    inner = [tick for tick in ticks(*span) if abs(tick) < span[1]]
    for number, (name, lines) in enumerate(groups.items()):
        row, column = divmod(number, columns)
        left, top = 62 + column * (width + 20), 56 + row * (height + 64)
        panel = Panel(drawing, left, top, width, height, x=span, y=(len(ACTIONS), 0))
        panel.axes(title=name, x_label="percentage points", x_ticks=inner, y_ticks=())
        drawing.line(panel.x(0), top, panel.x(0), top + height, hue=SOFT, dash="3 3")
        for index, action in enumerate(ACTIONS):
            if column == 0:
                drawing.text(left - 8, panel.y(index + 0.5) + 4, action, size=10.8, anchor="end")
            mine = [line for line in lines if line["action"] == action]
            for place, line in enumerate(mine):
                _spot(panel, panel.y(index + (place + 1) / (len(mine) + 1)), line, looks[line["model"]], "points")
    return drawn(
        "contrast-shares",
        "Contrasts in percentage points",
        drawing,
        alt,
        measure="contrast_shares",
        table="contrast_shares",
        runs=shown_runs(study),
        columns=tuple(shares[0]) if shares else (),
        of=shares,
    )


def _field(
    groups: Mapping[str, Sequence[Line]], looks: Mapping[str, Style], across: tuple[float, float], label: str
) -> tuple[ChartCanvas, Panel]:
    count = sum(len(lines) + 1 for lines in groups.values())
    drawing = ChartCanvas(WIDTH, 120 + _LINE * count + 17 * (len(looks) // 4))
    top = legend(drawing, 10, 16, list(looks.items()), lines=True, right=WIDTH) + 12
    panel = Panel(drawing, _LEFT, top, WIDTH - _LEFT - 20, _LINE * count, x=across, y=(max(1, count), 0))
    panel.axes(x_label=label, y_ticks=())
    return drawing, panel


def _group(panel: Panel, at: float, name: str, lines: Sequence[Line], looks: Mapping[str, Style], column: str) -> float:
    panel.drawing.text(_LEFT - 10, panel.y(at + 0.5 + len(lines) / 2), name, size=10.8, anchor="end")
    for place, line in enumerate(lines):
        _spot(panel, panel.y(at + place + 0.75), line, looks[line["model"]], column)
    below = at + len(lines) + 1
    panel.drawing.line(10, panel.y(below - 0.25), panel.left + panel.width, panel.y(below - 0.25), hue="#eceff2")
    return below


def _spot(panel: Panel, y: float, line: Line, look: Style, column: str) -> None:
    if line.get("ci_lo") is not None and line.get("ci_hi") is not None:
        panel.drawing.line(panel.x(line["ci_lo"]), y, panel.x(line["ci_hi"]), y, hue=look.hue, width=1.4)
    if line.get(column) is not None:
        hollow = bool(line.get("indicative"))
        panel.drawing.mark(look.shape, panel.x(line[column]), y, hue=look.hue, size=4, hollow=hollow)


def _grouped(found: Sequence[Line]) -> dict[str, list[Line]]:
    groups: dict[str, list[Line]] = {}
    for row in found:
        groups.setdefault(_name(row), []).append(row)
    return groups


def _name(row: Line) -> str:
    condition = str(row.get("condition") or "")
    said = " ".join(CONDITIONS.get(part, part) for part in condition.split("/"))
    phase = phase_title(row["phase"])
    parts = (row["contrast"], phase, said if row["phase"] == "phase2" else condition.rpartition("/")[2])
    return " · ".join(str(part) for part in parts if part and part not in CONDITIONS)


def _span(found: Sequence[Line], column: str) -> tuple[float, float]:
    values = [abs(row.get(name) or 0.0) for row in found for name in (column, "ci_lo", "ci_hi")]
    end = rounded_up(max(values, default=0.0))
    return -end, end


def _alt(title: str, groups: Mapping[str, Sequence[Line]], column: str, *, key: str = "model") -> str:
    said = [
        f"{name}: {', '.join(f'{_who(line, key)} {shown(line[column])}' for line in lines)}"
        for name, lines in groups.items()
    ]
    return f"{title}. {'; '.join(said)}." if said else f"{title}: none can be made."


def _who(line: Line, key: str) -> str:
    return str(line["model"]) if key == "model" else f"{line['model']} {line[key]}"

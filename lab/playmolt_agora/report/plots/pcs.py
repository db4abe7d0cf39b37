"""Phantom Cost Sensitivity: the estimate with interval and floors, and the six parts that it is the sum of."""

from typing import Any

from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.report import prose
from playmolt_agora.report.chart import HUES, SOFT, ChartCanvas, Panel, legend, rounded_up, style
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import ACTION_STYLES, WIDTH, Plot, drawn, shown_runs
from playmolt_agora.report.study import StudyData, rows

_LEFT = 190.0
_FLOORS = (("floor_null", HUES[1], "what PCS is at these sizes when nothing differs"),
           ("floor_iid", HUES[3], "the same for independent turns"))  # fmt: skip


def estimate_figure(study: StudyData) -> Plot:
    """Draw PCS per model and language with interval, leave-one-run-out range and floors."""
    cells = rows(study.tables.get("pcs"))
    alt = _estimates(cells)
    drawing = ChartCanvas(WIDTH, 96 + 34 * len(cells))
    _key(drawing)
    panel = Panel(drawing, _LEFT, 52, WIDTH - _LEFT - 20, 34 * len(cells), x=(0, _end(cells)), y=(len(cells), 0))
    panel.axes(x_label="PCS, bits (Jensen–Shannon divergence of Stage 1 and Phase 1)", y_ticks=())
    for number, cell in enumerate(cells):
        _row(panel, number, cell)
    return drawn(
        "pcs",
        "PCS per model and language",
        drawing,
        alt,
        measure="pcs",
        table="pcs",
        runs=shown_runs(study, "stage1", "phase1"),
        columns=_COLUMNS,
        of=cells,
    )


_COLUMNS = (
    "model", "language", "pcs", "ci_lo", "ci_hi", "loro_min", "loro_max", "floor_iid", "floor_null",
    "runs_stage1", "runs_phase1", "indicative",
)  # fmt: skip


def _key(drawing: ChartCanvas) -> None:
    at = 20.0
    for _, hue, words in _FLOORS:
        drawing.mark("bar", at, 16, hue=hue, size=4)
        drawing.text(at + 8, 20, words, size=11)
        at += 24 + 6.2 * len(words)


def _end(cells: list[dict[str, Any]]) -> float:
    values = [
        cell.get(name) or 0.0 for cell in cells for name in ("pcs", "ci_hi", "loro_max", "floor_iid", "floor_null")
    ]
    return min(1.0, rounded_up(max(values, default=0.0)))


def _row(panel: Panel, number: int, cell: dict[str, Any]) -> None:
    drawing, middle = panel.drawing, panel.y(number + 0.5)
    drawing.text(_LEFT - 10, middle + 4, f"{cell['model']} · {cell['language']}", size=11.5, anchor="end")
    drawing.line(_LEFT, panel.y(number + 1), _LEFT + panel.width, panel.y(number + 1), hue="#eceff2")
    for name, hue, _ in _FLOORS:
        if cell.get(name) is not None:
            drawing.mark("bar", panel.x(min(panel.x.high, cell[name])), middle, hue=hue, size=6)
    if cell.get("pcs") is None:
        drawing.text(_LEFT + 8, middle + 4, "null: an arm has no valid turn", size=11, hue=SOFT)
        return
    if cell.get("loro_min") is not None and cell.get("loro_max") is not None:
        left, right = panel.x(cell["loro_min"]), panel.x(cell["loro_max"])
        drawing.rect(left, middle - 6, right - left, 12, hue="#c9d1da", note="leave one run out")
    if cell.get("ci_lo") is not None and cell.get("ci_hi") is not None:
        drawing.line(panel.x(cell["ci_lo"]), middle, panel.x(cell["ci_hi"]), middle, hue="#1b1f24", width=2)
        for end in ("ci_lo", "ci_hi"):
            drawing.line(panel.x(cell[end]), middle - 4, panel.x(cell[end]), middle + 4, hue="#1b1f24", width=2)
    drawing.mark("circle", panel.x(cell["pcs"]), middle, hue="#1b1f24", size=5, hollow=bool(cell.get("indicative")))


def _estimates(cells: list[dict[str, object]]) -> str:
    said = [
        f"{cell['model']} {cell['language']}: PCS {shown(cell.get('pcs'))}, interval {shown(cell.get('ci_lo'))} to "
        f"{shown(cell.get('ci_hi'))}, floors {', '.join(shown(cell.get(name)) for name, _, _ in _FLOORS)}"
        for cell in cells
    ]
    return f"Dot plot. {'; '.join(said)}." if said else "No cell has both a Stage 1 and a Phase 1 arm."


def parts_figure(study: StudyData) -> Plot:
    """Draw how much each action contributes to PCS."""
    cells = rows(study.tables.get("pcs"))
    alt = _parts_alt(cells)
    columns = ("model", "language", *(f"contrib_{action}" for action in ACTIONS), "pcs", "ci_lo", "ci_hi")
    return Plot(
        name="pcs-parts",
        title="PCS by action",
        caption=prose.CAPTIONS["pcs-parts"],
        alt=alt,
        svg=_parts(cells, alt),
        measure="pcs.contrib",
        table="pcs",
        runs=shown_runs(study, "stage1", "phase1"),
        columns=columns,
        lines=tuple(tuple(cell.get(column) for column in columns) for cell in cells),
    )


def _parts(cells: list[dict[str, Any]], alt: str) -> str:
    drawing = ChartCanvas(WIDTH, 96 + 38 * len(cells))
    legend(drawing, _LEFT, 20, [(action, ACTION_STYLES[action]) for action in ACTIONS], lines=False, right=WIDTH)
    panel = Panel(drawing, _LEFT, 52, WIDTH - _LEFT - 20, 38 * len(cells), x=(0, _end(cells)), y=(len(cells), 0))
    panel.axes(x_label="contribution to PCS, bits", y_ticks=())
    for number, cell in enumerate(cells):
        middle, at = panel.y(number + 0.5), 0.0
        drawing.text(_LEFT - 10, middle + 4, f"{cell['model']} · {cell['language']}", size=11.5, anchor="end")
        for index, action in enumerate(ACTIONS):
            part = cell.get(f"contrib_{action}") or 0.0
            left, right = panel.x(at), panel.x(at + part)
            note = f"{action}: {part:.4f}"
            drawing.rect(left, middle - 11, right - left - 0.6, 14, hue=style(index).hue, note=note)
            at += part
        for name, hue, _ in _FLOORS:
            if cell.get(name) is not None:
                drawing.mark("bar", panel.x(min(panel.x.high, cell[name])), middle + 9, hue=hue, size=3)
        if cell.get("ci_lo") is not None and cell.get("ci_hi") is not None:
            drawing.line(panel.x(cell["ci_lo"]), middle + 9, panel.x(cell["ci_hi"]), middle + 9, width=1.6)
    return drawing.svg("fig-pcs-parts", "PCS by action", alt)


def _parts_alt(cells: list[dict[str, object]]) -> str:
    said = []
    for cell in cells:
        if cell.get("pcs") is None:
            continue
        parts = sorted(((cell.get(f"contrib_{action}") or 0.0, action) for action in ACTIONS), reverse=True)
        largest = ", ".join(f"{action} {part:.4f}" for part, action in parts[:3])
        said.append(f"{cell['model']} {cell['language']}: {largest} of {shown(cell['pcs'])}")
    return f"Stacked bars, largest parts. {'; '.join(said)}." if said else "No cell has a PCS."

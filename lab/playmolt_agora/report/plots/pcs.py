"""Phantom Cost Sensitivity: the estimate with interval and floors, and the six parts that it is the sum of."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.report import charts
from playmolt_agora.report.charts import HUES, Style
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import ACTION_STYLES, Sketch
from playmolt_agora.report.study import StudyData, has_pcs, rows
from playmolt_agora.report.vega import INK, SOFT, Spec

_FLOORS: Final = {"floor_null": "what PCS is at these sizes when nothing differs",
                  "floor_iid": "the same for independent turns"}  # fmt: skip
_FLOOR_STYLES: Final = {words: Style(hue) for words, hue in zip(_FLOORS.values(), (HUES[1], HUES[3]), strict=True)}
Cells = Sequence[Mapping[str, Any]]


def estimate_figure(study: StudyData) -> Sketch | None:
    """Draw PCS per model and language with interval, leave-one-run-out range and floors."""
    return _figure(study, _estimates, _estimates_alt, 34)


def parts_figure(study: StudyData) -> Sketch | None:
    """Draw how much each action contributes to PCS."""
    return _figure(study, _parts, _parts_alt, 38)


def _figure(
    study: StudyData, layers: Callable[[Cells], list[Spec]], alt: Callable[[Cells], str], line: float
) -> Sketch | None:
    cells = [{**cell, "name": f"{cell['model']} · {cell['language']}"} for cell in rows(study.tables.get("pcs"))]
    chart = charts.banded(layers(cells), [cell["name"] for cell in cells], line)
    return Sketch(chart, alt(cells), cells) if has_pcs(study) else None


def _room(cells: Cells) -> float:
    return charts.beside(str(cell["name"]) for cell in cells)


def _estimates(cells: Cells) -> list[Spec]:
    x = _across(cells, "PCS, bits (Jensen–Shannon divergence of Stage 1 and Phase 1)")
    y = charts.band("name", [cell["name"] for cell in cells], grid=True)
    legend = {**charts.key(_FLOORS.values(), room=_room(cells), titled=False), "symbolType": "M-.2,-1H.2V1H-.2Z"}
    known = _with(cells, "pcs")
    missing = [{"name": cell["name"], "text": "null: an arm has no valid turn"} for cell in cells if cell not in known]
    dot = {"condition": {"test": "datum.indicative", "value": "#fff"}, "value": INK}
    return [
        charts.layer({"type": "bar", "height": 12, "color": charts.BAND, "aria": True},
                     [{**cell, "note": "leave one run out"} for cell in _with(known, "loro_min", "loro_max")],
                     x={**x, "field": "loro_min"}, x2={"field": "loro_max"}, y=y, **charts.NOTE),
        _floors(cells, x, y, legend, size=20),
        charts.layer({"type": "rule", "strokeWidth": 2, "color": INK}, _with(known, "ci_lo", "ci_hi"),
                     x={**x, "field": "ci_lo"}, x2={"field": "ci_hi"}, y=y),
        *(charts.strokes(_with(known, "ci_lo", "ci_hi"), {**x, "field": end}, y, size=8) for end in ("ci_lo", "ci_hi")),
        charts.layer({"type": "point", "size": 80, "stroke": INK, "strokeWidth": 1.5, "opacity": 1}, known,
                     x={**x, "field": "pcs"}, y=y, fill=dot),
        charts.layer({"type": "text", "align": "left", "color": SOFT, "x": 8}, missing, y=y, text={"field": "text"}),
    ]  # fmt: skip


def _parts(cells: Cells) -> list[Spec]:
    x = _across(cells, "contribution to PCS, bits")
    y = charts.band("name", [cell["name"] for cell in cells])
    blocks = [
        {**block, "name": cell["name"]}
        for cell in cells
        for block in charts.stacked(
            (action, cell.get(f"contrib_{action}") or 0.0, f"{action}: {cell.get(f'contrib_{action}') or 0.0:.4f}")
            for action in ACTIONS
        )
    ]
    return [
        charts.bars(blocks, ACTION_STYLES, legend=charts.key(ACTIONS, room=_room(cells), titled=False), thick=0.4,
                    x={**x, "field": "lo"}, x2={"field": "hi"}, y=y),
        _floors(cells, x, y, None, size=10, yOffset=14),
        charts.layer({"type": "rule", "strokeWidth": 1.6, "color": INK, "yOffset": 14}, _with(cells, "ci_lo", "ci_hi"),
                     x={**x, "field": "ci_lo"}, x2={"field": "ci_hi"}, y=y),
    ]  # fmt: skip


def _floors(cells: Cells, x: Spec, y: Spec, legend: Spec | None, **mark: object) -> Spec:
    found = [
        {"name": cell["name"], "series": words, "floor": cell[floor]}
        for floor, words in _FLOORS.items()
        for cell in _with(cells, floor)
    ]
    return charts.layer({"type": "tick", "thickness": 2, "opacity": 1, **mark}, found, x={**x, "field": "floor"}, y=y,
                        **charts.looks(_FLOOR_STYLES, "color", legend=legend))  # fmt: skip


def _across(cells: Cells, title: str) -> Spec:
    ends = [cell.get(name) or 0.0 for cell in cells for name in ("pcs", "ci_hi", "loro_max", *_FLOORS)]
    return charts.axis("", title, domain=(0.0, min(1.0, max(ends, default=0.0) or 1.0)))


def _with(cells: Cells, *columns: str) -> list[Mapping[str, Any]]:
    return [cell for cell in cells if all(cell.get(column) is not None for column in columns)]


def _estimates_alt(cells: Cells) -> str:
    said = [
        f"{cell['model']} {cell['language']}: PCS {shown(cell.get('pcs'))}, interval {shown(cell.get('ci_lo'))} to "
        f"{shown(cell.get('ci_hi'))}, floors {', '.join(shown(cell.get(name)) for name in _FLOORS)}"
        for cell in cells
    ]
    return f"Dot plot. {'; '.join(said)}." if said else "No cell has both a Stage 1 and a Phase 1 arm."


def _parts_alt(cells: Cells) -> str:
    said = []
    for cell in _with(cells, "pcs"):
        parts = sorted(((cell.get(f"contrib_{action}") or 0.0, action) for action in ACTIONS), reverse=True)
        largest = ", ".join(f"{action} {part:.4f}" for part, action in parts[:3])
        said.append(f"{cell['model']} {cell['language']}: {largest} of {shown(cell['pcs'])}")
    return f"Stacked bars, largest parts. {'; '.join(said)}." if said else "No cell has a PCS."

"""Contrasts of languages, personas and models: divergence and percentage points, with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.measures.data.results import grouped
from playmolt_agora.report import charts
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import CONDITIONS, Sketch, in_order, phase_title
from playmolt_agora.report.study import StudyData, counted_rows
from playmolt_agora.report.vega import Spec

_LINE: Final = 17
_DELTA: Final = ("language", "model_a", "model_b", "delta", "ci_lo", "ci_hi", "p", "p_holm", "n", "n of")

Line = Mapping[str, Any]
Groups = Mapping[str, Sequence[Line]]


def contrast_figure(study: StudyData) -> Sketch:
    """Draw the divergence of the two sides of each contrast, per model, with its interval where there is one."""
    found = counted_rows(study, "contrast_intervals") or counted_rows(study, "contrasts")
    groups = grouped(found, _name)
    most = max((row.get(name) or 0.0 for row in found for name in ("jsd", "ci_hi")), default=0.0) or 1.0
    x = charts.axis("value", "Jensen–Shannon divergence, bits", domain=(0.0, min(1.0, most)))
    table = "contrast_intervals" if study.further.get("contrast_intervals") else "contrasts"
    return Sketch(_field(groups, "jsd", x), _alt("Divergence by contrast", groups, "jsd"), found, table=table)


def model_figure(study: StudyData) -> Sketch:
    """Draw the differences of PCS between models, with their intervals."""
    found: list[Line] = [
        {**row, "contrast": "PCS", "phase": row["language"], "condition": None,
         "model": f"{row['model_a']} − {row['model_b']}"}
        for row in counted_rows(study, "delta_pcs")
    ]  # fmt: skip
    groups = grouped(found, _name)
    x = charts.axis("value", "difference of PCS, bits", domain=_span(found, "delta"))
    chart = _field(groups, "delta", x, charts.level(across="x", dashed=True))
    return Sketch(chart, _alt("Differences of PCS", groups, "delta"), found, _DELTA)


def point_figure(study: StudyData) -> Sketch:
    """Draw the differences of shares in percentage points, one panel a contrast, with intervals."""
    shares = counted_rows(study, "contrast_shares")
    found: list[Line] = [row for row in shares if row["contrast"] != "model"]
    series = charts.styles(in_order(row["model"] for row in found))
    groups = grouped(found, _name)
    columns, width = charts.fitted(len(groups), 3, left=82, gap=20)
    x = charts.axis("value", "percentage points", domain=_span(found, "points"))
    panels = []
    for number, (name, lines) in enumerate(groups.items()):
        y = charts.band("name", ACTIONS, labels=number % columns == 0)
        marks = charts.dots([_dot(line, line["action"], "points") for line in lines], series, x, y, charts.key(series))
        panels.append(
            charts.panel([charts.level(across="x", dashed=True), *marks], width, 26 * len(ACTIONS), title=name)
        )
    said = _alt("Differences of shares in percentage points", groups, "points", key="action")
    return Sketch(charts.grid(panels, columns, gap=20) | charts.spare(ACTIONS), said, shares)


def _field(groups: Groups, column: str, x: Spec, *behind: Spec) -> Spec:
    """A band for each contrast, its models below each other."""
    series = charts.styles(in_order(line["model"] for lines in groups.values() for line in lines))
    marks = [_dot(line, name, column) for name, lines in groups.items() for line in lines]
    legend = charts.key(series, room=charts.beside(groups), titled=False)
    layers = [*behind, *charts.dots(marks, series, x, charts.band("name", list(groups), grid=True), legend)]
    return charts.banded(layers, list(groups), _LINE * (len(series) + 1))


def _dot(line: Line, name: str, column: str) -> dict[str, object]:
    return {"name": name, "series": line["model"], "value": line.get(column), "lo": line.get("ci_lo"),
            "hi": line.get("ci_hi"), "hollow": bool(line.get("indicative"))}  # fmt: skip


def _name(row: Line) -> str:
    condition = str(row.get("condition") or "")
    said = " ".join(CONDITIONS.get(part, part) for part in condition.split("/"))
    phase = phase_title(row["phase"])
    parts = (row["contrast"], phase, said if row["phase"] == "phase2" else condition.rpartition("/")[2])
    return " · ".join(str(part) for part in parts if part and part not in CONDITIONS)


def _span(found: Sequence[Line], column: str) -> tuple[float, float]:
    values = [abs(row.get(name) or 0.0) for row in found for name in (column, "ci_lo", "ci_hi")]
    end = max(values, default=0.0) or 1.0
    return -end, end


def _alt(title: str, groups: Groups, column: str, *, key: str = "model") -> str:
    said = [
        f"{name}: {', '.join(f'{_who(line, key)} {shown(line[column])}' for line in lines)}"
        for name, lines in groups.items()
    ]
    return f"{title}. {'; '.join(said)}." if said else f"{title}: none can be made."


def _who(line: Line, key: str) -> str:
    return str(line["model"]) if key == "model" else f"{line['model']} {line[key]}"

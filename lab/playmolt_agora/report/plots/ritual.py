"""The Ritual Index RI*, run by run, by model and by persona."""

from collections.abc import Sequence
from typing import Any, Final

from playmolt_agora.measures.data.results import mean
from playmolt_agora.report import charts
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import Sketch, in_order, shown_rows
from playmolt_agora.report.study import StudyData
from playmolt_agora.report.vega import INK, SOFT, Spec

STRONG: Final = ("archivist", "observer")
"""The strongly instructed personas, shown apart (agora.md, L19)."""
_SETS: Final = {f"Set {name}": look for name, look in charts.styles("ABCD").items()}
_NAMED: Final = f"indexof({list(STRONG)}, datum.label) < 0 ? datum.label : [datum.label, 'strongly instructed']"

Line = dict[str, Any]


def ritual_figure(study: StudyData) -> Sketch:
    """Draw RI* per run by model, and by persona with the strongly instructed ones apart."""
    found = [row for row in shown_rows(study, study.tables.get("ri")) if row.get("phase") == "phase2"]
    by_model = [row for row in found if row["level"] == "run_model"]
    by_persona = [row for row in found if row["level"] == "run_persona" and row.get("persona")]
    models, personas = in_order(row["model"] for row in by_model), _personas(by_persona)
    top = min(1.0, max((row["ri_star"] or 0.0 for row in found), default=0.0) or 1.0)
    sets = {name: look for name, look in _SETS.items() if name in {f"Set {row['set']}" for row in found}}
    columns, width = charts.fitted(2, 2, gap=50)
    panels = [
        charts.panel(
            _layers(lines, column, groups, charts.axis("value", title, domain=(0.0, top)), sets, width),
            width,
            190,
            title=head,
        )
        for head, title, column, groups, lines in (
            ("By model", "RI*", "model", models, by_model),
            ("By persona", None, "persona", personas, by_persona),
        )
    ]
    said = f"RI* by run. {_alt(by_model, 'model', models)} {_alt(by_persona, 'persona', personas)}"
    return Sketch(charts.grid(panels, columns, gap=50), said, (*by_model, *by_persona))


def _personas(lines: Sequence[Line]) -> list[str]:
    return sorted(in_order(row["persona"] for row in lines), key=lambda name: (name in STRONG, name))


def _layers(
    lines: Sequence[Line], column: str, groups: Sequence[str], y: Spec, sets: dict[str, charts.Style], width: float
) -> list[Spec]:
    room = width / max(1, len(groups))
    x = charts.band("group", groups, labelAngle=0, labelExpr=_NAMED, labelLimit=0.95 * room, ticks=False,
                    labelColor=INK, labelPadding=6)  # fmt: skip
    marks: list[Line] = []
    means: list[Line] = []
    for group in groups:
        mine = [row for row in lines if row[column] == group and row["ri_star"] is not None]
        for index, row in enumerate(sorted(mine, key=lambda row: (row["set"] or "", row["run"]))):
            spread = (index + 0.5) / len(mine) * 0.6 + 0.2
            marks.append({"group": group, "at": spread, "value": row["ri_star"], "series": f"Set {row['set']}"})
        if mine:
            means.append({"group": group, "value": mean([row["ri_star"] for row in mine])})
    apart = [{"group": group} for group in groups if group in STRONG and groups[0] not in STRONG][:1]
    offset: Spec = {"field": "at", "type": "quantitative", "scale": {"domain": [0, 1]}}
    return [
        charts.layer({"type": "rule", "color": SOFT, "strokeDash": [3, 3]}, apart, x={**x, "bandPosition": 0}),
        charts.layer({"type": "tick", "orient": "horizontal", "thickness": 2, "color": INK, "opacity": 1,
                      "size": 0.6 * room}, means, x=x, y=y),
        charts.layer({"type": "point", "size": 45, "strokeWidth": 0, "opacity": 1}, marks, x=x, xOffset=offset, y=y,
                     **charts.looks(sets, "fill", "shape", legend=charts.key(sets))),
    ]  # fmt: skip


def _alt(lines: Sequence[Line], column: str, groups: Sequence[str]) -> str:
    said = [f"{group} {shown(mean([row['ri_star'] for row in lines if row[column] == group]))}" for group in groups]
    return f"Means by {column}: {', '.join(said)}." if said else f"No {column} has a value."

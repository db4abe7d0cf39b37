"""The Ritual Index RI*, run by run, by model and by persona."""

from collections.abc import Sequence
from typing import Any, Final

from playmolt_agora.report.chart import HUES, INK, ChartCanvas, Panel, rounded_up
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import WIDTH, Plot, drawn, in_order, mean, shown_rows, shown_runs
from playmolt_agora.report.study import StudyData

STRONG: Final = ("archivist", "observer")
"""The strongly instructed personas, shown apart (agora.md, L19)."""
_SETS: Final = (
    ("A", HUES[0], "circle"),
    ("B", HUES[1], "square"),
    ("C", HUES[2], "triangle"),
    ("D", HUES[3], "diamond"),
)


def ritual_figure(study: StudyData) -> Plot:
    """Draw RI* per run by model, and by persona with the strongly instructed ones apart."""
    found = [row for row in shown_rows(study, study.tables.get("ri")) if row.get("phase") == "phase2"]
    by_model = [row for row in found if row["level"] == "run_model"]
    by_persona = [row for row in found if row["level"] == "run_persona" and row.get("persona")]
    models, personas = in_order(row["model"] for row in by_model), _personas(by_persona)
    alt = f"RI* by run. {_alt(by_model, 'model', models)} {_alt(by_persona, 'persona', personas)}"
    drawing = ChartCanvas(WIDTH, 300)
    _key(drawing, in_order(row["set"] for row in found))
    top = min(1.0, rounded_up(max((row["ri_star"] or 0.0 for row in found), default=0.0)))
    width = (WIDTH - 110) / 2
    for left, title, column, groups, lines in (
        (48.0, "By model", "model", models, by_model),
        (width + 110, "By persona", "persona", personas, by_persona),
    ):
        panel = Panel(drawing, left, 58, width, 190, x=(0, max(1, len(groups))), y=(0, top))
        panel.axes(title=title, x_ticks=(), y_label="RI*" if column == "model" else "")
        _groups(panel, column, groups, lines)
    return drawn(
        "ri-star",
        "Ritual Index RI* by model and persona",
        drawing,
        alt,
        measure="ri_star",
        table="ri",
        runs=shown_runs(study, "phase2"),
        columns=_COLUMNS,
        of=(*by_model, *by_persona),
    )


_COLUMNS = ("level", "set", "language", "run", "model", "persona", "t_valid", "ritual", "ri_star", "ri_opp")


def _personas(lines: Sequence[dict[str, object]]) -> list[str]:
    return sorted(in_order(row["persona"] for row in lines), key=lambda name: (name in STRONG, name))


def _key(drawing: ChartCanvas, sets: Sequence[str]) -> None:
    at = 48.0
    for name, hue, shape in _SETS:
        if name in sets:
            drawing.mark(shape, at + 5, 16, hue=hue, size=4)
            drawing.text(at + 14, 20, f"Set {name}", size=11)
            at += 66


def _groups(panel: Panel, column: str, groups: Sequence[str], lines: Sequence[dict[str, Any]]) -> None:
    drawing = panel.drawing
    for number, group in enumerate(groups):
        mine = [row for row in lines if row[column] == group and row["ri_star"] is not None]
        apart = group in STRONG
        drawing.text(panel.x(number + 0.5), panel.top + panel.height + 16, group, size=10.8, anchor="middle")
        if apart:
            drawing.text(
                panel.x(number + 0.5), panel.top + panel.height + 30, "strongly instructed", size=10.8, anchor="middle"
            )
        if apart and number and groups[number - 1] not in STRONG:
            drawing.line(
                panel.x(number), panel.top, panel.x(number), panel.top + panel.height, hue="#57606a", dash="3 3"
            )
        middle = mean([row["ri_star"] for row in mine])
        if middle is not None:
            drawing.line(
                panel.x(number + 0.2), panel.y(middle), panel.x(number + 0.8), panel.y(middle), hue=INK, width=2
            )
        for index, row in enumerate(sorted(mine, key=lambda row: (row["set"] or "", row["run"]))):
            spread = (index + 0.5) / len(mine) * 0.6 + 0.2
            hue, shape = next(((hue, shape) for name, hue, shape in _SETS if name == row["set"]), (INK, "circle"))
            drawing.mark(shape, panel.x(number + spread), panel.y(row["ri_star"]), hue=hue, size=3.6)


def _alt(lines: Sequence[dict[str, Any]], column: str, groups: Sequence[str]) -> str:
    said = [f"{group} {shown(mean([row['ri_star'] for row in lines if row[column] == group]))}" for group in groups]
    return f"Means by {column}: {', '.join(said)}." if said else f"No {column} has a value."

"""What agents did and where they were, by time: shares in tenths of a run, or turn by turn where there are fewer."""

from collections.abc import Iterable, Mapping, Sequence

from playmolt_agora.report import charts
from playmolt_agora.report.charts import Style
from playmolt_agora.report.plots.figure import (
    ACTION_STYLES,
    CONDITIONS,
    PLACE_STYLES,
    Sketch,
    percent,
    phase_title,
    shown_turns,
)
from playmolt_agora.report.study import StudyData
from playmolt_agora.report.tallies import Cell, Mix, action_mix, occupancy
from playmolt_agora.report.vega import Spec


def action_figure(study: StudyData) -> Sketch:
    """Draw the action mix by phase, language, condition and model."""
    return _figure(action_mix(shown_turns(study)), "action", ACTION_STYLES)


def place_figure(study: StudyData) -> Sketch:
    return _figure(occupancy(shown_turns(study)), "place", PLACE_STYLES)


def _figure(mixes: Mapping[Cell, Mix], noun: str, parts: Mapping[str, Style]) -> Sketch:
    found = [
        {"phase": phase_title(phase), "condition": CONDITIONS[condition] or None, "language": language,
         "model": model or "all", "piece": position + 1, "turns": sum(counts.values()),
         **{name: mix.share(position, name) for name in parts}}
        for (phase, condition, language, model), mix in mixes.items()
        for position, counts in enumerate(mix.counts)
    ]  # fmt: skip
    columns = ("phase", "condition", "language", "model", "piece", "turns", *parts)
    return Sketch(_chart(mixes, parts), _alt(mixes, tuple(parts), noun), found, columns)


def _chart(mixes: Mapping[Cell, Mix], names: Mapping[str, Style]) -> Spec:
    models = len({cell[3] for cell in mixes})
    columns, width = charts.fitted(len(mixes), models if 1 < models <= 4 else 4, left=30, gap=14)
    panels = []
    for number, (cell, mix) in enumerate(mixes.items()):
        end = len(mix.counts)
        ends = {"values": [0, end], "labelFlush": True, "labelExpr": "datum.value ? 'end' : 'start'"}
        shares = {"values": [0, 0.5, 1], "labelFlush": True, "labels": number % columns == 0}
        blocks = charts.bars(
            _blocks(mix, names),
            names,
            legend=charts.key(names),
            x=charts.axis("at", domain=(0, end), nice=False, options=ends),
            x2={"field": "to"},
            y=charts.axis("lo", domain=(0, 1), options=shares),
            y2={"field": "hi"},
        )
        panels.append(charts.panel([blocks], width, 92, title=_heading(cell), note=cell[3]))
    return charts.grid(panels, columns, gap=14, below=60)


def _blocks(mix: Mix, names: Iterable[str]) -> list[dict[str, object]]:
    found = []
    for position in range(len(mix.counts)):
        shares = ((each, mix.share(position, each) or 0.0) for each in names)
        parts = charts.stacked((each, share, f"{each}: {percent(share)}") for each, share in shares)
        found += [{**part, "at": position, "to": position + 1} for part in parts]
    return found


def _heading(cell: Cell) -> str:
    phase, condition, language, _ = cell
    return " · ".join(part for part in (phase_title(phase), language, CONDITIONS[condition]) if part)


def _alt(mixes: Mapping[Cell, Mix], names: Sequence[str], noun: str) -> str:
    said = [
        f"{_heading(cell)} {cell[3]}: most frequent {noun} {_most(mix, names, 0)} at first, "
        f"{_most(mix, names, -1)} at last"
        for cell, mix in mixes.items()
    ]
    return f"{len(mixes)} panels of stacked shares. {'; '.join(said)}." if said else "No turns."


def _most(mix: Mix, names: Sequence[str], position: int) -> str:
    if not mix.counts[position]:
        return "none"
    name = max(names, key=lambda each: mix.counts[position].get(each, 0))
    return f"{name} ({percent(mix.share(position, name))})"

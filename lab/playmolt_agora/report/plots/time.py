"""What agents did and where they were, by time: shares in tenths of a run, or turn by turn where there are fewer."""

from collections.abc import Mapping, Sequence

from playmolt_schemas.instrument.definitions import PLACES
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.report import prose
from playmolt_agora.report.chart import SOFT, ChartCanvas, Panel, Style, grid, legend
from playmolt_agora.report.plots.figure import (
    ACTION_STYLES,
    CONDITIONS,
    PLACE_STYLES,
    WIDTH,
    Plot,
    percent,
    phase_title,
    shown_runs,
    shown_turns,
)
from playmolt_agora.report.study import StudyData
from playmolt_agora.report.tallies import Cell, Mix, action_mix, occupancy

_HEIGHT = 92.0
_ROW = 146.0


def action_figure(study: StudyData) -> Plot:
    """Draw the action mix by phase, language, condition and model."""
    mixes = action_mix(shown_turns(study))
    alt = _alt(mixes, ACTIONS, "action")
    return Plot(
        name="action-mix",
        title="Action mix over time",
        caption=prose.CAPTIONS["action-mix"],
        alt=alt,
        svg=_picture("action-mix", "Action mix over time", mixes, ACTIONS, ACTION_STYLES, alt),
        measure="p",
        runs=shown_runs(study),
        columns=("phase", "condition", "language", "model", "piece", "turns", *ACTIONS),
        lines=_lines(mixes, ACTIONS),
    )


def place_figure(study: StudyData) -> Plot:
    mixes = occupancy(shown_turns(study))
    alt = _alt(mixes, PLACES, "place")
    return Plot(
        name="occupancy",
        title="Occupancy of places over time",
        caption=prose.CAPTIONS["occupancy"],
        alt=alt,
        svg=_picture("occupancy", "Occupancy of places over time", mixes, PLACES, PLACE_STYLES, alt),
        measure="occupancy",
        runs=shown_runs(study),
        columns=("phase", "condition", "language", "model", "piece", "turns", *PLACES),
        lines=_lines(mixes, PLACES),
    )


def _picture(
    name: str, title: str, mixes: Mapping[Cell, Mix], names: Sequence[str], looks: Mapping[str, Style], alt: str
) -> str:
    models = len({cell[3] for cell in mixes})
    count, columns = grid(len(mixes), models if 1 < models <= 4 else 4)
    drawing = ChartCanvas(WIDTH, 42 + count * _ROW)
    legend(drawing, 40, 16, [(each, looks[each]) for each in names], lines=False, right=WIDTH)
    width = (WIDTH - 40 - (columns - 1) * 14) / columns
    for number, (cell, mix) in enumerate(mixes.items()):
        row, column = divmod(number, columns)
        left, top = 40 + column * (width + 14), 66 + row * _ROW
        end = len(mix.counts)
        panel = Panel(drawing, left, top, width, _HEIGHT, x=(0, end), y=(0, 1))
        panel.axes(
            title=_heading(cell), note=cell[3], x_ticks=(0, end / 2, end), y_ticks=(0, 0.5, 1), x_names=False,
            y_names=column == 0,
        )  # fmt: skip
        _stack(panel, mix, names, looks)
        for at, word, anchor in ((0, "start", "start"), (end, "end", "end")):
            drawing.text(panel.x(at), top + _HEIGHT + 14, word, size=10.8, hue=SOFT, anchor=anchor)
    return drawing.svg(f"fig-{name}", title, alt)


def _stack(panel: Panel, mix: Mix, names: Sequence[str], looks: Mapping[str, Style]) -> None:
    wide = panel.x(1) - panel.x(0)
    for position in range(len(mix.counts)):
        below = 0.0
        for each in names:
            share = mix.share(position, each)
            if not share:
                continue
            top, bottom = panel.y(below + share), panel.y(below)
            note = f"{each}: {percent(share)}"
            panel.drawing.rect(
                panel.x(position) + 0.5, top, wide - 1, bottom - top - 0.4, hue=looks[each].hue, note=note
            )
            below += share


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


def _lines(mixes: Mapping[Cell, Mix], names: Sequence[str]) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (phase_title(cell[0]), CONDITIONS[cell[1]] or None, cell[2], cell[3] or "all", position + 1,
         sum(mix.counts[position].values()), *(mix.share(position, name) for name in names))
        for cell, mix in mixes.items()
        for position in range(len(mix.counts))
    )  # fmt: skip

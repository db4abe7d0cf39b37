"""Who turned to whom, how unequal holdings were, and what the treasury held."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from playmolt_schemas.instrument.definitions import COSTS_REAL, arm_of, rank_of

from playmolt_agora.report import prose
from playmolt_agora.report.chart import HUES, INK, SOFT, ChartCanvas, Panel, Style, grid, legend, rounded_up
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import WIDTH, Plot, mean, phase_title, shown_runs, shown_turns
from playmolt_agora.report.study import RunNote, StudyData, rows
from playmolt_agora.report.tallies import Network, networks

_LANGUAGES = {"ko": Style(HUES[0], "", "circle"), "en": Style(HUES[1], "6 3", "square")}
_ROW = 166.0
_CIRCLE = 172.0
_THRESHOLD = 0.02
"""A tie that holds less of all acts is left to the matrix."""
_CELL = 14.0


def support_figure(study: StudyData) -> Plot:
    return _network(study, "support")


def whisper_figure(study: StudyData) -> Plot:
    return _network(study, "whisper")


def _network(study: StudyData, action: str) -> Plot:
    found = {key: tie for key, tie in networks(shown_turns(study)).items() if key[2] == action}
    title = f"Network of {action}s"
    said = [f"{phase_title(phase)} {language}: {_busiest(tie)}" for (phase, language, _), tie in found.items()]
    alt = f"Circle diagrams and matrices of successful {action}s. {'; '.join(said)}." if said else "No turns."
    drawing = ChartCanvas(WIDTH, 20 + (_CIRCLE + 60) * max(1, len(found)))
    for number, ((phase, language, _), tie) in enumerate(found.items()):
        top = 8 + number * (_CIRCLE + 60)
        total = sum(tie.ties.values())
        drawn = {pair: times for pair, times in tie.ties.items() if times >= _THRESHOLD * total}
        few = len(tie.ties) - len(drawn)
        left_out = f", {few} pairs below 2 % of them not drawn" if few else ""
        heading = f"{phase_title(phase)} · {language} · {total:,} {action}s{left_out}"
        drawing.text(10, top + 14, heading, size=11, bold=True)
        _circle(drawing, tie, drawn, 0.24 * WIDTH, top + 52 + _CIRCLE / 2, action)
        _matrix(drawing, tie, 0.6 * WIDTH, top + 48, action)
    return Plot(
        name=f"network-{action}",
        title=title,
        caption=prose.CAPTIONS["network"].format(action=action),
        alt=alt,
        svg=drawing.svg(f"fig-network-{action}", title, alt),
        measure=f"network.{action}",
        runs=shown_runs(study),
        columns=("phase", "language", "from", "to", "times"),
        lines=tuple(
            (phase_title(phase), language, sender, target, times)
            for (phase, language, _), tie in found.items()
            for (sender, target), times in sorted(tie.ties.items(), key=lambda item: (-item[1], item[0]))
        ),
    )


def _busiest(tie: Network) -> str:
    if not tie.ties:
        return "none"
    (sender, target), times = min(tie.ties.items(), key=lambda item: (-item[1], item[0]))
    return f"{sum(tie.ties.values())} between {len(tie.ties)} pairs, most from {sender} to {target} ({times})"


def _matrix(drawing: ChartCanvas, tie: Network, left: float, top: float, action: str) -> None:
    """Every pair: senders down, receivers across by their number."""
    size = _CIRCLE / max(1, len(tie.agents))
    most = max(tie.ties.values(), default=1)
    drawing.text(left, top - 18, "from (down) to (across)", size=10.8, hue=SOFT)
    for row, sender in enumerate(tie.agents):
        middle = top + (row + 0.5) * size + 4
        drawing.text(left - 6, middle, f"{sender} · {row + 1}", size=10.8, anchor="end")
        drawing.text(left + (row + 0.5) * size, top - 4, row + 1, size=10.8, anchor="middle")
        for column, target in enumerate(tie.agents):
            times = tie.ties.get((sender, target), 0)
            shade = _shade(times / most) if times else "#ffffff"
            note = f"{sender} to {target}: {times} {action}s"
            drawing.rect(left + column * size, top + row * size, size - 0.8, size - 0.8, hue=shade, note=note)
            if times and size >= _CELL:
                hue = "#ffffff" if times > most / 2 else INK
                drawing.text(left + (column + 0.5) * size, middle, times, size=10.8, anchor="middle", hue=hue)


def _shade(share: float) -> str:
    """From nearly white to the hue of the ties."""
    full = [int(HUES[0][at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * (0.1 + 0.9 * share)):02x}" for part in full)


def _circle(
    drawing: ChartCanvas, tie: Network, drawn: Mapping[tuple[str, str], int], x: float, y: float, action: str
) -> None:
    radius, count = _CIRCLE / 2 - 22, len(tie.agents)
    spots = {
        agent: (x + radius * math.sin(2 * math.pi * index / count), y - radius * math.cos(2 * math.pi * index / count))
        for index, agent in enumerate(tie.agents)
    }
    most = max(tie.ties.values(), default=1)
    for (sender, target), times in sorted(drawn.items(), key=lambda item: (item[1], item[0])):
        if sender not in spots or target not in spots:
            continue
        weight = times / most
        drawing.curve(
            spots[sender], _bend(spots[sender], spots[target]), spots[target], hue=HUES[0], width=0.5 + 3.5 * weight,
            opacity=0.15 + 0.75 * weight, note=f"{sender} to {target}: {times} {action}s",
        )  # fmt: skip
    received = {agent: sum(times for (_, to), times in tie.ties.items() if to == agent) for agent in tie.agents}
    top = max(received.values(), default=0) or 1
    for agent, (px, py) in spots.items():
        drawing.mark("circle", px, py, hue=INK, size=3 + 5 * received[agent] / top)
        side = 0 if abs(px - x) < radius * 0.25 else (1 if px > x else -1)
        anchor = {0: "middle", 1: "start", -1: "end"}[side]
        below = 20 if py > y else -13
        drawing.text(px + 12 * side, py + (4 if side else below), agent, size=10.8, anchor=anchor)


def _bend(start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
    dx, dy = end[0] - start[0], end[1] - start[1]
    return ((start[0] + end[0]) / 2 + dy * 0.16, (start[1] + end[1]) / 2 - dx * 0.16)


def gini_figure(study: StudyData) -> Plot:
    found = rows(study.tables.get("gini"))
    panels = _panels(study, found, "gini", ("kind",))
    alt = _alt("Gini", panels)
    return Plot(
        name="gini",
        title="Gini by epoch",
        caption=prose.CAPTIONS["gini"],
        alt=alt,
        svg=_lines("gini", "Gini by epoch", panels, alt, top=1.0),
        measure="gini",
        table="gini",
        runs=shown_runs(study, "stage1", "phase1", COSTS_REAL),
    )


def treasury_figure(study: StudyData) -> Plot:
    panels = _panels(study, rows(study.treasury), "treasury", ())
    highest = max((value for _, lines in panels for _, points in lines for _, value in points), default=0.0)
    alt = _alt("Treasury", panels)
    return Plot(
        name="treasury",
        title="Treasury by epoch",
        caption=prose.CAPTIONS["treasury"],
        alt=alt,
        svg=_lines("treasury", "Treasury by epoch", panels, alt, top=rounded_up(highest)),
        measure="treasury",
        runs=shown_runs(study, "stage1", "phase1", COSTS_REAL),
    )


Points = list[tuple[float, float]]
Panels = list[tuple[str, list[tuple[str, Points]]]]


def _panels(study: StudyData, found: Sequence[dict[str, Any]], column: str, keys: Sequence[str]) -> Panels:
    """Group the lines of runs by phase and key; a line is (language, points)."""
    notes = {run.run: run for run in shown_runs(study)}
    kinds: dict[tuple[str, ...], dict[RunNote, Points]] = {}
    for row in found:
        note = notes.get(row["run"])
        if note is not None and row[column] is not None:
            key = (arm_of(note.cell, note.phase), *(str(row[name]) for name in keys))
            kinds.setdefault(key, {}).setdefault(note, []).append((float(row["epoch"]), float(row[column])))
    return [
        (
            " · ".join((phase_title(key[0]), *key[1:])),
            [(run.language, sorted(points)) for run, points in kinds[key].items()],
        )
        for key in sorted(kinds, key=lambda key: (rank_of(key[0]), key[1:]))
    ]


def _lines(name: str, title: str, panels: Panels, alt: str, *, top: float) -> str:
    count, columns = grid(len(panels), 3)
    drawing = ChartCanvas(WIDTH, 40 + _ROW * count)
    legend(drawing, 44, 16, list(_LANGUAGES.items()), lines=True, right=WIDTH)
    width = (WIDTH - 54 - (columns - 1) * 34) / columns
    for number, (heading, lines) in enumerate(panels):
        row, column = divmod(number, columns)
        last = max((points[-1][0] for _, points in lines), default=1.0)
        panel = Panel(drawing, 44 + column * (width + 34), 54 + row * _ROW, width, 100, x=(0, last), y=(0, top))
        panel.axes(title=heading, x_label="epoch")
        for language, points in lines:
            panel.series(points, _LANGUAGES[language], thin=True)
        for language, look in _LANGUAGES.items():
            panel.series(_mean_line([points for each, points in lines if each == language]), look, marks=False)
    return drawing.svg(f"fig-{name}", title, alt)


def _mean_line(lines: Sequence[Points]) -> Points:
    by_epoch: dict[float, list[float]] = {}
    for points in lines:
        for epoch, value in points:
            by_epoch.setdefault(epoch, []).append(value)
    return [(epoch, sum(values) / len(values)) for epoch, values in sorted(by_epoch.items())]


def _alt(title: str, panels: Panels) -> str:
    said = []
    for heading, lines in panels:
        ends = [points[-1][1] for _, points in lines]
        said.append(f"{heading}: mean at the end {shown(mean(ends))} over {len(ends)} runs")
    return f"{title} by epoch. {'; '.join(said)}." if said else f"{title}: nothing was recorded."

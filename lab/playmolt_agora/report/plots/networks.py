"""Who turned to whom: a circle of agents with their ties, and beside it the matrix of every pair."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from playmolt_schemas.instrument.definitions import arm_of, rank_of
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.report import charts
from playmolt_agora.report.charts import HUES
from playmolt_agora.report.plots.figure import Sketch, phase_title, shown_turns
from playmolt_agora.report.study import StudyData
from playmolt_agora.report.vega import INK, Spec

_SIZE: Final = 172.0
_THRESHOLD: Final = 0.02
"""A tie that holds less of all acts is left to the matrix."""
_BEND: Final = 0.12
_CELL: Final = 14.0

Pair = tuple[str, str]
Point = tuple[float, float]


class Network(msgspec.Struct, frozen=True):
    """Who turned to whom: the agents in order and how often each pair did, over the runs it was made of."""

    agents: Sequence[str]
    ties: Mapping[Pair, int]


def networks(turns: Sequence[TurnRecord], action: str) -> dict[tuple[str, str], Network]:
    """Count successful acts by sender and target, by phase and language."""
    agents: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    ties: defaultdict[tuple[str, str], Counter[Pair]] = defaultdict(Counter)
    for turn in turns:
        arm = arm_of(turn.cell, turn.phase), turn.language
        agents[arm].add(turn.agent)
        if turn.success and turn.target and turn.action_base == action:
            ties[arm][turn.agent, turn.target] += 1
    ordered = sorted(agents, key=lambda arm: (rank_of(arm[0]), arm[1]))
    return {arm: Network(sorted(agents[arm]), ties[arm]) for arm in ordered}


def support_figure(study: StudyData) -> Sketch:
    return _figure(study, "support")


def whisper_figure(study: StudyData) -> Sketch:
    return _figure(study, "whisper")


def _figure(study: StudyData, action: str) -> Sketch:
    found = networks(shown_turns(study), action)
    panels = []
    for (phase, language), tie in found.items():
        total = sum(tie.ties.values())
        kept = {pair: times for pair, times in tie.ties.items() if times >= _THRESHOLD * total}
        few = len(tie.ties) - len(kept)
        left_out = f", {few} pairs below 2 % of them not drawn" if few else ""
        heading = f"{phase_title(phase)} · {language} · {total:,} {action}s{left_out}"
        panels += [charts.panel(_circle(tie, kept, action), 2 * _SIZE, _SIZE, title=heading),
                   charts.panel(_matrix(tie, action), _SIZE, _SIZE)]  # fmt: skip
    said = [f"{phase_title(phase)} {language}: {_busiest(tie)}" for (phase, language), tie in found.items()]
    alt = f"Circle diagrams and matrices of successful {action}s. {'; '.join(said)}." if said else "No turns."
    times = [
        {"phase": phase_title(phase), "language": language, "from": sender, "to": target, "times": count}
        for (phase, language), tie in found.items()
        for (sender, target), count in sorted(tie.ties.items(), key=lambda item: (-item[1], item[0]))
    ]
    return Sketch(charts.grid(panels, 2, gap=100, below=64), alt, times, ("phase", "language", "from", "to", "times"))


def _busiest(tie: Network) -> str:
    if not tie.ties:
        return "none"
    (sender, target), times = min(tie.ties.items(), key=lambda item: (-item[1], item[0]))
    return f"{sum(tie.ties.values())} between {len(tie.ties)} pairs, most from {sender} to {target} ({times})"


def _matrix(tie: Network, action: str) -> list[Spec]:
    """Every pair: senders down, receivers across by their number."""
    most = max(tie.ties.values(), default=1)
    names = {agent: f"{agent} · {number}" for number, agent in enumerate(tie.agents, 1)}
    cells = [
        {"from": name, "to": number, "times": times or None, "dark": times > most / 2,
         "note": f"{sender} to {target}: {times} {action}s"}
        for sender, name in names.items() for number, target in enumerate(tie.agents, 1)
        for times in [tie.ties.get((sender, target), 0)]
    ]  # fmt: skip
    x = charts.band("to", range(1, len(names) + 1), title="from (down) to (across)", orient="top", labelAngle=0,
                    ticks=False, labelColor=INK, domain=False, titleAnchor="start")  # fmt: skip
    y = charts.band("from", names.values(), title=None)
    shade = {"field": "times", "type": "quantitative", "legend": None,
             "scale": {"domain": [0, most], "range": ["#e8f0f7", HUES[0]]}}  # fmt: skip
    found = [charts.layer({"type": "rect", "aria": True, "stroke": "#fff", "strokeWidth": 0.8, "invalid": None}, cells,
                          x=x, y=y, fill={"condition": {"test": "!datum.times", "value": "#fff"}, **shade},
                          **charts.NOTE)]  # fmt: skip
    if _SIZE / max(1, len(names)) >= _CELL:
        hue = {"condition": {"test": "datum.dark", "value": "#fff"}, "value": INK}
        found.append(charts.layer({"type": "text", "fontSize": 11}, [cell for cell in cells if cell["times"]], x=x, y=y,
                                  text={"field": "times"}, color=hue))  # fmt: skip
    return found


def _circle(tie: Network, kept: Mapping[Pair, int], action: str) -> list[Spec]:
    count = max(1, len(tie.agents))
    turns = {agent: 2 * math.pi * index / count for index, agent in enumerate(tie.agents)}
    spots = {agent: (math.sin(turn), math.cos(turn)) for agent, turn in turns.items()}
    most = max(tie.ties.values(), default=1)
    received = {agent: sum(times for (_, to), times in tie.ties.items() if to == agent) for agent in tie.agents}
    top = max(received.values(), default=0) or 1
    x = {"field": "x", "type": "quantitative", "scale": {"domain": [-2.6, 2.6]}, "axis": None}
    y = {"field": "y", "type": "quantitative", "scale": {"domain": [-1.3, 1.3]}, "axis": None}
    curves = [
        {**point, "note": f"{sender} to {target}: {times} {action}s", "width": 0.5 + 3.5 * times / most,
         "opacity": 0.15 + 0.75 * times / most}
        for (sender, target), times in sorted(kept.items(), key=lambda item: (item[1], item[0]))
        if sender in spots and target in spots
        for point in _curve(spots[sender], spots[target])
    ]  # fmt: skip
    dots = [
        {"x": at[0], "y": at[1], "width": (6 + 10 * received[agent] / top) ** 2 * math.pi / 4}
        for agent, at in spots.items()
    ]
    names = [{"x": 1.16 * at[0], "y": 1.15 * at[1], "name": agent, "align": _side(at)} for agent, at in spots.items()]
    plain = {name: {"field": name, "type": "quantitative", "scale": None} for name in ("width", "opacity")}
    named: Spec = {"type": "text", "align": {"expr": "datum.align"}, "baseline": "middle", "fontSize": 11, "color": INK}
    return [
        charts.layer({"type": "line", "interpolate": "basis", "aria": True, "color": HUES[0]}, curves, x=x, y=y,
                     order={"field": "step"}, detail={"field": "note"}, strokeWidth=plain["width"],
                     opacity=plain["opacity"], **charts.NOTE),
        charts.layer({"type": "circle", "color": INK, "opacity": 1}, dots, x=x, y=y, size=plain["width"]),
        charts.layer(named, names, x=x, y=y, text={"field": "name"}),
    ]  # fmt: skip


def _side(at: Point) -> str:
    return "center" if abs(at[0]) < 0.25 else "left" if at[0] > 0 else "right"


def _curve(start: Point, end: Point) -> list[dict[str, object]]:
    """A curve that leaves its sender and bends to the left of its way."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    middle = (start[0] + end[0]) / 2 - dy * _BEND, (start[1] + end[1]) / 2 + dx * _BEND
    return [{"step": step, "x": x, "y": y} for step, (x, y) in enumerate((start, middle, end))]

"""What agents did and where they were, by time: shares in tenths of a run, or turn by turn where there are fewer."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from playmolt_schemas.instrument.definitions import arm_of, is_valid, place_of, rank_of
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures.data.results import grouped
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
from playmolt_agora.report.vega import Spec

PIECES: Final = 10
"""Pieces of time, fewer where a run has fewer turns; the windows of Instruction Drift are those of its table."""
EVERY: Final = "all"
_CELL: Final = ("phase", "condition", "language", "model")

Row = Mapping[str, Any]
Cells = Mapping[tuple[str, ...], Sequence[Row]]


def action_figure(study: StudyData) -> Sketch:
    """Draw the action mix by phase, language, condition and model."""
    return _figure(action_mix(shown_turns(study)), "action", ACTION_STYLES)


def place_figure(study: StudyData) -> Sketch:
    return _figure(occupancy(shown_turns(study)), "place", PLACE_STYLES)


def action_mix(turns: Iterable[TurnRecord]) -> list[Row]:
    """The shares of attempted actions on valid turns by cell and piece of time."""
    return _shares(((turn, turn.model, str(turn.action_base)) for turn in turns if is_valid(turn)), ACTION_STYLES)


def occupancy(turns: Iterable[TurnRecord]) -> list[Row]:
    """The shares of agent-turns by the place before acting, over all models."""
    return _shares(((turn, EVERY, place_of(turn.place_before)) for turn in turns), PLACE_STYLES)


def _shares(seen: Iterable[tuple[TurnRecord, str, str]], names: Iterable[str]) -> list[Row]:
    """A row a piece of time of each cell; shares are None where nothing was counted."""
    counts: dict[tuple[Any, ...], list[Counter[str]]] = {}
    for turn, model, name in seen:
        arm, pieces = arm_of(turn.cell, turn.phase), min(PIECES, turn.turns_planned)
        condition = turn.persona_condition if turn.phase == "phase2" else ""
        key = rank_of(arm), condition == "no_persona", turn.language, model, arm, condition
        cell = counts.setdefault(key, [Counter() for _ in range(pieces)])
        cell[(turn.turn - 1) * pieces // turn.turns_planned][name] += 1
    return [
        {"phase": phase_title(arm), "condition": CONDITIONS[condition] or None, "language": language, "model": model,
         "piece": number, "turns": counted.total(),
         **{name: counted[name] / counted.total() if counted else None for name in names}}
        for (*_, language, model, arm, condition), pieces in sorted(counts.items())
        for number, counted in enumerate(pieces, 1)
    ]  # fmt: skip


def _figure(found: list[Row], noun: str, parts: Mapping[str, Style]) -> Sketch:
    cells = grouped(found, lambda row: tuple(row[name] for name in _CELL))
    columns = (*_CELL, "piece", "turns", *parts)
    return Sketch(_chart(cells, parts), _alt(cells, tuple(parts), noun), found, columns)


def _chart(cells: Cells, names: Mapping[str, Style]) -> Spec:
    models = len({cell[-1] for cell in cells})
    columns, width = charts.fitted(len(cells), models if 1 < models <= 4 else 4, left=30, gap=14)
    panels = []
    for number, (cell, pieces) in enumerate(cells.items()):
        end = len(pieces)
        ends = {"values": [0, end], "labelFlush": True, "labelExpr": "datum.value ? 'end' : 'start'"}
        shares = {"values": [0, 0.5, 1], "labelFlush": True, "labels": number % columns == 0}
        blocks = charts.bars(
            [{**block, "at": row["piece"] - 1, "to": row["piece"]} for row in pieces for block in _blocks(row, names)],
            names,
            legend=charts.key(names),
            x=charts.axis("at", domain=(0, end), nice=False, options=ends),
            x2={"field": "to"},
            y=charts.axis("lo", domain=(0, 1), options=shares),
            y2={"field": "hi"},
        )
        note = "" if cell[-1] == EVERY else cell[-1]
        panels.append(charts.panel([blocks], width, 92, title=_heading(cell), note=note))
    return charts.grid(panels, columns, gap=14, below=60)


def _blocks(row: Row, names: Iterable[str]) -> list[dict[str, object]]:
    return charts.stacked((name, row[name] or 0.0, f"{name}: {percent(row[name])}") for name in names)


def _heading(cell: tuple[str, ...]) -> str:
    phase, condition, language, _ = cell
    return " · ".join(part for part in (phase, language, condition) if part)


def _alt(cells: Cells, names: Sequence[str], noun: str) -> str:
    said = [
        f"{_heading(cell)} {'' if cell[-1] == EVERY else cell[-1]}: most frequent {noun} {_most(pieces[0], names)} at "
        f"first, {_most(pieces[-1], names)} at last"
        for cell, pieces in cells.items()
    ]
    return f"{len(cells)} panels of stacked shares. {'; '.join(said)}." if said else "No turns."


def _most(row: Row, names: Sequence[str]) -> str:
    if not row["turns"]:
        return "none"
    name = max(names, key=lambda each: row[each])
    return f"{name} ({percent(row[name])})"

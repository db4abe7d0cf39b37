"""The figures of a report in their order: what each is called, what it was computed from, and what draws it."""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import msgspec
from playmolt_schemas.instrument.definitions import COSTS_REAL
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.report import vega
from playmolt_agora.report.plots import tables, turns
from playmolt_agora.report.plots.figure import Sketch
from playmolt_agora.report.study import RunNote, StudyData


class FigureKind(NamedTuple):
    """A figure before it is drawn; it is left out where its table, or else that field of the study, has no rows.

    `value` is the column of the chart's rows that its description is about.
    """

    title: str
    measure: str
    draw: Callable[[StudyData], Sketch | None]
    value: str
    table: str = ""
    arms: tuple[str, ...] = ()
    columns: str = ""
    field: str = "turns"


_BOTH: Final = ("stage1", "phase1")
_PHASE2: Final = ("phase2",)
_EPOCHS: Final = (*_BOTH, COSTS_REAL)
FIGURES: Final = {
    "pcs": FigureKind(
        "PCS per model and language", "pcs", partial(tables.pcs, name="pcs"), "pcs", "pcs", _BOTH,
        "model language pcs ci_lo ci_hi loro_min loro_max floor_iid floor_null runs_stage1 runs_phase1 indicative"),
    "pcs-parts": FigureKind(
        "PCS by action", "pcs.contrib", partial(tables.pcs, name="pcs-parts"), "pcs", "pcs", _BOTH,
        f"model language {' '.join(f'contrib_{action}' for action in ACTIONS)} pcs ci_lo ci_hi"),
    "action-mix": FigureKind("Action mix over time", "p", turns.action_mix_figure, "share"),
    "occupancy": FigureKind("Occupancy of places over time", "occupancy", turns.occupancy_figure, "share"),
    "ri-star": FigureKind(
        "Ritual Index RI* by model and persona", "ri_star", tables.ritual, "ri_star", "ri", _PHASE2,
        "level set language run model persona t_valid ritual ri_star ri_opp"),
    "drift": FigureKind(
        "Instruction Drift by window", "drift", tables.drift, "id_excess", "drift", _PHASE2,
        "run language persona condition window n h_norm id_raw id_null id_excess"),
    "entropy": FigureKind("Entropy of actions by window", "drift.h_norm", tables.entropy, "y", "drift", _PHASE2),
    "rolling": FigureKind("Entropy over rolling windows", "rolling", tables.rolling, "y", "rolling", _PHASE2),
    "washout": FigureKind("Persona washout by window", "washout", tables.washout, "y", "washout", _PHASE2),
    "network-support": FigureKind(
        "Network of supports", "network.support", partial(turns.network_figure, action="support"), "times"),
    "network-whisper": FigureKind(
        "Network of whispers", "network.whisper", partial(turns.network_figure, action="whisper"), "times"),
    "gini": FigureKind("Gini by epoch", "gini", tables.gini, "y", "gini", _EPOCHS),
    "treasury": FigureKind("Treasury by epoch", "treasury", tables.treasury, "y", "", _EPOCHS, field="treasury"),
    "parse-codes": FigureKind("Parse codes by model and language", "parse", turns.parse_figure, "failed share"),
    "dissoc": FigureKind("Thought and act (code dissoc)", "dissoc", tables.dissoc, "coherence", "dissoc"),
    "contrasts": FigureKind(
        "Contrasts of languages, personas and models", "contrasts", tables.contrasts, "value", "contrasts"),
    "contrast-shares": FigureKind(
        "Contrasts in percentage points", "contrast_shares", tables.contrast_shares, "value", "contrast_shares"),
    "pcs-models": FigureKind(
        "Differences of PCS between models", "delta_pcs", tables.pcs_models, "value", "delta_pcs", _BOTH),
}  # fmt: skip


class Plot(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of the report. `name` is its anchor and file name, `measure` the definition it is an instance of.

    `table` names the table that it was drawn from, whose provenance then says which runs these were; `columns` and
    `lines` are its numbers.
    """

    name: str
    title: str
    svg: str
    measure: str
    runs: tuple[RunNote, ...]
    table: str
    columns: tuple[str, ...]
    lines: tuple[tuple[object, ...], ...]


def gallery(study: StudyData) -> dict[str, Plot]:
    """Draw what can be drawn, in the order of the page."""
    found = {}
    for name, figure in FIGURES.items():
        held = study.rows(figure.table) if figure.table else getattr(study, figure.field)
        if held and (sketch := figure.draw(study)):
            found[name] = _drawn(study, name, figure, sketch)
    return found


def _drawn(study: StudyData, name: str, figure: FigureKind, sketch: Sketch) -> Plot:
    columns = sketch.columns or tuple(figure.columns.split()) or tuple(sketch.of[0] if sketch.of else ())
    svg = vega.draw(sketch.chart, f"fig-{name}", figure.title, vega.in_words(sketch.chart, figure.value))
    lines = tuple(tuple(row.get(column) for column in columns) for row in sketch.of)
    return Plot(
        name=name, title=figure.title, svg=svg, measure=figure.measure,
        runs=study.shown_runs(*figure.arms), table=sketch.table or figure.table, columns=columns, lines=lines,
    )  # fmt: skip

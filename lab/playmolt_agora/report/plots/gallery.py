"""The figures of a report in their order: what each is called, what it was computed from, and what draws it."""

from collections.abc import Callable
from typing import Final, NamedTuple

from playmolt_schemas.instrument.definitions import COSTS_REAL
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.report import vega
from playmolt_agora.report.plots import contrasts, counts, drift, epochs, networks, pcs, ritual, time
from playmolt_agora.report.plots.figure import Plot, Sketch, shown_runs
from playmolt_agora.report.study import StudyData, named_rows


class FigureKind(NamedTuple):
    """A figure before it is drawn; it is left out where its table, or else that field of the study, has no rows."""

    title: str
    measure: str
    draw: Callable[[StudyData], Sketch | None]
    table: str = ""
    arms: tuple[str, ...] = ()
    columns: str = ""
    field: str = "turns"


_BOTH: Final = ("stage1", "phase1")
_PHASE2: Final = ("phase2",)
_EPOCHS: Final = (*_BOTH, COSTS_REAL)
FIGURES: Final = {
    "pcs": FigureKind(
        "PCS per model and language", "pcs", pcs.estimate_figure, "pcs", _BOTH,
        "model language pcs ci_lo ci_hi loro_min loro_max floor_iid floor_null runs_stage1 runs_phase1 indicative"),
    "pcs-parts": FigureKind(
        "PCS by action", "pcs.contrib", pcs.parts_figure, "pcs", _BOTH,
        f"model language {' '.join(f'contrib_{action}' for action in ACTIONS)} pcs ci_lo ci_hi"),
    "action-mix": FigureKind("Action mix over time", "p", time.action_figure),
    "occupancy": FigureKind("Occupancy of places over time", "occupancy", time.place_figure),
    "ri-star": FigureKind(
        "Ritual Index RI* by model and persona", "ri_star", ritual.ritual_figure, "ri", _PHASE2,
        "level set language run model persona t_valid ritual ri_star ri_opp"),
    "drift": FigureKind(
        "Instruction Drift by window", "drift", drift.drift_figure, "drift", _PHASE2,
        "run language persona condition window n h_norm id_raw id_null id_excess"),
    "entropy": FigureKind("Entropy of actions by window", "drift.h_norm", drift.entropy_figure, "drift", _PHASE2),
    "rolling": FigureKind("Entropy over rolling windows", "rolling", drift.rolling_figure, "rolling", _PHASE2),
    "washout": FigureKind("Persona washout by window", "washout", drift.washout_figure, "washout", _PHASE2),
    "network-support": FigureKind("Network of supports", "network.support", networks.support_figure),
    "network-whisper": FigureKind("Network of whispers", "network.whisper", networks.whisper_figure),
    "gini": FigureKind("Gini by epoch", "gini", epochs.gini_figure, "gini", _EPOCHS),
    "treasury": FigureKind("Treasury by epoch", "treasury", epochs.treasury_figure, "", _EPOCHS, field="treasury"),
    "parse-codes": FigureKind("Parse codes by model and language", "parse", counts.parse_figure),
    "dissoc": FigureKind("Thought and act (code dissoc)", "dissoc", counts.dissoc_figure, "dissoc"),
    "contrasts": FigureKind(
        "Contrasts of languages, personas and models", "contrasts", contrasts.contrast_figure, "contrasts"),
    "contrast-shares": FigureKind(
        "Contrasts in percentage points", "contrast_shares", contrasts.point_figure, "contrast_shares"),
    "pcs-models": FigureKind(
        "Differences of PCS between models", "delta_pcs", contrasts.model_figure, "delta_pcs", _BOTH),
}  # fmt: skip


def gallery(study: StudyData) -> dict[str, Plot]:
    """Draw what can be drawn, in the order of the page."""
    found = {}
    for name, figure in FIGURES.items():
        held = named_rows(study, figure.table) if figure.table else getattr(study, figure.field)
        if held and (sketch := figure.draw(study)):
            found[name] = _drawn(study, name, figure, sketch)
    return found


def _drawn(study: StudyData, name: str, figure: FigureKind, sketch: Sketch) -> Plot:
    columns = sketch.columns or tuple(figure.columns.split()) or tuple(sketch.of[0] if sketch.of else ())
    return Plot(
        name=name,
        title=figure.title,
        alt=sketch.alt,
        svg=vega.draw(sketch.chart, f"fig-{name}", figure.title, sketch.alt),
        measure=figure.measure,
        runs=shown_runs(study, *figure.arms),
        table=sketch.table or figure.table,
        columns=columns,
        lines=tuple(tuple(row.get(column) for column in columns) for row in sketch.of),
    )

"""All figures that a study has the data for, by name: for the page, and as files of a bundle."""

from playmolt_agora.report.plots import contrasts, counts, drift, pcs, ritual, society, time
from playmolt_agora.report.plots.figure import Plot
from playmolt_agora.report.study import StudyData, has_pcs, rows


def gallery(study: StudyData) -> dict[str, Plot]:
    """Draw what can be drawn, in the order of the page."""
    makers = (
        (pcs.estimate_figure, has_pcs(study)),
        (pcs.parts_figure, has_pcs(study)),
        (time.action_figure, bool(study.turns)),
        (time.place_figure, bool(study.turns)),
        (ritual.ritual_figure, bool(rows(study.tables.get("ri")))),
        (drift.drift_figure, bool(rows(study.tables.get("drift")))),
        (drift.entropy_figure, bool(rows(study.tables.get("drift")))),
        (drift.rolling_figure, drift.rolls(study)),
        (drift.washout_figure, bool(rows(study.tables.get("washout")))),
        (society.support_figure, bool(study.turns)),
        (society.whisper_figure, bool(study.turns)),
        (society.gini_figure, bool(rows(study.tables.get("gini")))),
        (society.treasury_figure, bool(rows(study.treasury))),
        (counts.parse_figure, bool(study.turns)),
        (counts.dissoc_figure, bool(rows(study.tables.get("dissoc")))),
        (contrasts.contrast_figure, bool(rows(study.tables.get("contrasts")))),
        (contrasts.point_figure, bool(rows(study.further.get("contrast_shares")))),
        (contrasts.model_figure, bool(rows(study.tables.get("delta_pcs")))),
    )
    figures = [make(study) for make, holds in makers if holds]
    return {figure.name: figure for figure in figures}

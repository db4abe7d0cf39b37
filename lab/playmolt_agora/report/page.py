"""The report: one HTML file that opens offline, without scripts and without anything loaded from elsewhere."""

from collections.abc import Mapping
from functools import partial

from playmolt_agora.report import chapters, markup, provenance
from playmolt_agora.report.forks import forks
from playmolt_agora.report.plots import contrasts, counts, drift, epochs, networks, pcs, ritual, time
from playmolt_agora.report.plots.figure import Plot, registered_runs, shown_rows, shown_runs
from playmolt_agora.report.study import StudyData, counted_rows, has_pcs, has_stage1, named_rows, rows


def render(study: StudyData, figures: Mapping[str, Plot] | None = None) -> str:
    """Equal studies give equal bytes; StudyFault when a table's columns differ in length.

    `figures` are those of its `gallery`, where they are already drawn.
    """
    asked = (forks, has_pcs, has_stage1, registered_runs, shown_rows, shown_runs)
    return markup.rendered(
        "page.html",
        study=study,
        drawn=gallery(study) if figures is None else figures,
        rows=partial(named_rows, study),
        counted=partial(counted_rows, study),
        chapters=chapters,
        provenance=provenance,
        **{each.__name__: each for each in asked},
    )


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
        (networks.support_figure, bool(study.turns)),
        (networks.whisper_figure, bool(study.turns)),
        (epochs.gini_figure, bool(rows(study.tables.get("gini")))),
        (epochs.treasury_figure, bool(rows(study.treasury))),
        (counts.parse_figure, bool(study.turns)),
        (counts.dissoc_figure, bool(rows(study.tables.get("dissoc")))),
        (contrasts.contrast_figure, bool(rows(study.tables.get("contrasts")))),
        (contrasts.point_figure, bool(rows(study.further.get("contrast_shares")))),
        (contrasts.model_figure, bool(rows(study.tables.get("delta_pcs")))),
    )
    figures = [make(study) for make, holds in makers if holds]
    return {figure.name: figure for figure in figures}

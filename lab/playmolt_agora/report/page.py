"""The report: one HTML file that opens offline, without scripts and without anything loaded from elsewhere."""

from collections.abc import Mapping
from functools import partial

from playmolt_agora.report import chapters, markup, provenance
from playmolt_agora.report.forks import forks
from playmolt_agora.report.plots.figure import Plot, registered_runs, shown_rows, shown_runs
from playmolt_agora.report.plots.gallery import gallery
from playmolt_agora.report.study import StudyData, counted_rows, has_pcs, has_stage1, named_rows


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

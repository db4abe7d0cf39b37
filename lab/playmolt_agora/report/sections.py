"""The parts that sections of the report are put together from."""

from collections.abc import Mapping, Sequence

import msgspec
from markupsafe import Markup

from playmolt_agora.report import markup, provenance
from playmolt_agora.report.plots.figure import Plot
from playmolt_agora.report.study import StudyData


class Section(msgspec.Struct, frozen=True):
    """A section: its anchor, its heading and its markup."""

    anchor: str
    title: str
    body: Markup


def _figure(study: StudyData, figure: Plot) -> Markup:
    """A figure with its caption, its source, and its numbers, collapsed."""
    origin = provenance.source(study, figure.measure, figure.runs, figure.table, seed=study.seed)
    numbers = markup.table(f"The numbers behind “{figure.title}”", figure.columns, figure.lines)
    data = markup.folded("The numbers", numbers) if figure.columns else Markup()
    return markup.part("figure", figure, origin, study.links, data)


def figures_markup(study: StudyData, drawn: Mapping[str, Plot], *names: str) -> Markup:
    """The named figures, as far as there were data for them."""
    return markup.joined(_figure(study, drawn[name]) for name in names if name in drawn)


def rows_markup(caption: str, lines: Sequence[Mapping[str, object]], columns: Sequence[str] = ()) -> Markup:
    """Rows as a table; without named columns those of the first row, less what is null everywhere."""
    known = columns or [
        column for column in (lines[0] if lines else ()) if any(line[column] is not None for line in lines)
    ]
    return markup.table(caption, known, [[cell(column, line.get(column)) for column in known] for line in lines])


def cell(column: str, value: object) -> object:
    """A value of a column; p is written as p."""
    is_p = column in {"p_perm", "p_holm", "p_min"}
    return markup.shown_p(value) if is_p and isinstance(value, int | float) else value

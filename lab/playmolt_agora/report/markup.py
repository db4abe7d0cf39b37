"""Markup from the templates, which escape all that comes from outside; values as readers see them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from playmolt_agora.measures.data.tables import COLUMNS

_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_NUMBER: Final = re.compile(r"(< )?−?[0-9][0-9,]*(\.[0-9]+)?(/[0-9]+)?")
_CODE: Final = re.compile("`([^`\n]+)`")
_SHORT: Final = 40
NULL: Final = "–"


def cleaned(text: str) -> str:
    """Text without the characters that neither HTML nor XML may contain."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def worded(text: str) -> Markup:
    """A sentence; text between backticks is code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(cleaned(text)))))  # noqa: S704 -- escaped before


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("playmolt_agora.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, extensions=("jinja2.ext.do",),
        finalize=lambda value: value if isinstance(value, Markup) else cleaned(str(value)),
    )  # fmt: skip
    made.filters.update({"worded": worded, "counted": counted})
    made.globals.update({"laid": laid, "known": known, "columns_of": COLUMNS})
    return made


def rendered(template: str, **values: object) -> str:
    """A whole page."""
    return _environment().get_template(template).render(values)


def shown(value: object) -> str:
    """Write a value of a table for a reader, unescaped: four decimals, yes and no, a dash for null and nothing."""
    if value is None or value == ():
        return NULL
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}".replace("-", "−") if round(value, 4) else "0.0000"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    return value if isinstance(value, str) else str(value)


def shown_p(value: float | None) -> str:
    """Write a p value, unescaped: four decimals, and what four decimals cannot show as such."""
    if value is None:
        return NULL
    return "< 0.0001" if value < 0.00005 else f"{value:.4f}"


def cell(column: str, value: object) -> object:
    """A value of a column; p is written as p, but for the column `p`, which in some tables is a share."""
    is_p = column in {"p_perm", "p_holm", "p_min"}
    return shown_p(value) if is_p and isinstance(value, int | float) else value


def known(rows: Sequence[Mapping[str, object]], columns: Sequence[str] = ()) -> list[str]:
    """Those of the columns, or of all, that some row has a value of."""
    return [name for name in columns or (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]


def laid(
    columns: Sequence[str] | Mapping[str, str], rows: Iterable[object]
) -> tuple[list[str], list[str], list[list[str]]]:
    """A table's headings, kinds of columns and cells. Rows are sequences, or hold by name what `columns` name."""
    cells = [[shown(value) for value in _values(row, columns)] for row in rows]
    heads = list(columns.values() if isinstance(columns, Mapping) else columns)
    return heads, [_kind([line[number] for line in cells]) for number in range(len(heads))], cells


def _values(row: object, columns: Iterable[str]) -> Iterable[object]:
    if isinstance(row, Mapping):
        return [cell(name, row.get(name)) for name in columns]
    return row if isinstance(row, list | tuple) else [attrgetter(name)(row) for name in columns]


def _kind(cells: Sequence[str]) -> str:
    """Numbers (n) are aligned; short words (s) stay on one line."""
    if any(_NUMBER.fullmatch(cell) for cell in cells) and all(
        cell == NULL or _NUMBER.fullmatch(cell) for cell in cells
    ):
        return "n"
    return "" if any(len(cell) > _SHORT for cell in cells) else "s"

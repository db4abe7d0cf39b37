"""Markup from the templates, which escape all that comes from outside; values as readers see them."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

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


def _finished(value: object) -> object:
    return value if isinstance(value, Markup) else cleaned(str(value))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("playmolt_agora.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_finished,
    )  # fmt: skip
    made.filters.update({"worded": worded, "counted": counted})
    return made


def rendered(template: str, **values: object) -> str:
    """A whole page."""
    return _environment().get_template(template).render(values)


def part(name: str, *values: object) -> Markup:
    """The macro of this name in `parts.html`."""
    macro = getattr(_environment().get_template("parts.html").module, name)
    return Markup(macro(*values))  # noqa: S704 -- escaped by the template


def joined(parts: Iterable[str]) -> Markup:
    """Parts one after another; plain text is escaped."""
    return Markup("").join(parts)


def shown(value: object) -> str:
    """Write a value of a table for a reader, unescaped: four decimals, yes and no, a dash for null."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}".replace("-", "−") if round(value, 4) else "0.0000"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    return str(value)


def shown_p(value: float | None) -> str:
    """Write a p value, unescaped: four decimals, and what four decimals cannot show as such."""
    if value is None:
        return NULL
    return "< 0.0001" if value < 0.00005 else f"{value:.4f}"


def table(
    caption: str, columns: Sequence[str], lines: Iterable[Sequence[object]], *, label: str | None = None
) -> Markup:
    """A table of plain values under its caption, in a frame that can be scrolled with the keyboard."""
    cells = [[shown(value) for value in line] for line in lines]
    kinds = [_kind([line[number] for line in cells]) for number in range(len(columns))]
    return part("table", caption, label or caption, columns, kinds, cells)


def _kind(cells: Sequence[str]) -> str:
    """Numbers (n) are aligned; short words (s) stay on one line."""
    if any(_NUMBER.fullmatch(cell) for cell in cells) and all(
        cell == NULL or _NUMBER.fullmatch(cell) for cell in cells
    ):
        return "n"
    return "" if any(len(cell) > _SHORT for cell in cells) else "s"


def paragraph(text: str, kind: str = "") -> Markup:
    return part("paragraph", text, kind)


def heading(text: str) -> Markup:
    return part("heading", text)


def folded(summary: str, inner: Markup) -> Markup:
    """What is shown when asked for."""
    return part("folded", summary, inner)

"""The report as Markdown."""

import re
from collections.abc import Iterator
from typing import Final

from playmolt_schemas.games.legal import Report

from playmolt_legal.report.document import Cell, Document, Line, Section, document

_SPECIAL: Final = re.compile(r"([\\`*\[\]<>|]|~(?=~)|(?<!\w)_|_(?!\w)|&(?=#?\w+;))")
_LEADING: Final = re.compile(r"^([-+#=]|\d+(?=[.)]))")


def render_md(report: Report) -> str:
    """Render the report; nothing in it can become markup of its own."""
    laid_out = document(report)
    parts = [f"# {_text(laid_out.title)}", *(f"- {_text(line.text)}" for line in laid_out.case)]
    for section in laid_out.sections:
        parts += ["", f"## {_text(section.title)}", "", *_section(section, laid_out)]
    return "\n".join(parts) + "\n"


def _section(section: Section, laid_out: Document) -> Iterator[str]:
    for place, line in enumerate(section.lines):
        space = ("",) if place else ()
        yield from (*space, f"### {_text(line.text)}", "") if line.head else (f"- {_line(line, laid_out)}",)
    for place, row in enumerate(section.table):
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"
        if place == 0:
            yield "|" + "---|" * len(row)


def _cell(cell: Cell) -> str:
    return f"[{cell.text}](#{cell.ref.lower()})" if cell.ref else _text(cell.text)


def _line(line: Line, laid_out: Document) -> str:
    anchor = f'<a id="{line.anchor.lower()}"></a>**{line.anchor}** ' if line.anchor else ""
    refs = " ".join(_ref(ref, laid_out) for ref in line.refs)
    return f"{anchor}{_text(line.text)}{' ' if refs else ''}{refs}"


def _ref(ref: str, laid_out: Document) -> str:
    return rf"\[[{ref}](#{ref.lower()})\]" if ref in laid_out.anchors else rf"\[{_text(ref)}\]"


def _text(text: str) -> str:
    line = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return _LEADING.sub(_guarded, line)


def _guarded(match: re.Match[str]) -> str:
    # A digit cannot be escaped; a zero-width space keeps `1.` from becoming a list.
    return f"\u200b{match[0]}" if match[0].isdigit() else f"\\{match[0]}"

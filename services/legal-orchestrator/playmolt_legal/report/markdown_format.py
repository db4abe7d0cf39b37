"""The report as Markdown."""

import re
from collections.abc import Iterator
from typing import Final

from playmolt_schemas.games.legal import Report

from playmolt_legal.report.blocks import Heading, ReportLine, ReportTable
from playmolt_legal.report.document import Document, Section, document

_SPECIAL: Final = re.compile(r"([\\`*\[\]<>|]|~(?=~)|(?<!\w)_|_(?!\w)|&(?=#?\w+;))")
_LEADING: Final = re.compile(r"^([-+#=]|\d+(?=[.)]))")


def render_md(report: Report) -> str:
    """Render the report; nothing in it can become markup of its own."""
    laid_out = document(report)
    parts = [f"# {_text(laid_out.title)}", "", *(f"- {_text(line.text)}" for line in laid_out.cover)]
    parts += ["", _text(laid_out.notice)]
    for section in laid_out.sections:
        parts += ["", f"## {_inline(section.title)}", "", *_section(section, laid_out)]
    return "\n".join(parts) + "\n"


def _section(section: Section, laid_out: Document) -> Iterator[str]:
    for place, block in enumerate(section.blocks):
        space = ("",) if place else ()
        match block:
            case ReportLine(listed=False):
                yield _line(block, laid_out)
            case ReportLine():
                yield f"- {_line(block, laid_out)}"
            case Heading(text=text):
                yield from (*space, f"### {_text(text)}", "")
            case ReportTable():
                yield from _table(block, laid_out)


def _table(table: ReportTable, laid_out: Document) -> Iterator[str]:
    for place, row in enumerate(table.rows):
        cells = ("<br>".join(_line(line, laid_out) for line in cell) for cell in row)
        yield f"| {' | '.join(cells)} |"
        if place == 0:
            yield "|" + "---|" * len(row)


def _line(line: ReportLine, laid_out: Document) -> str:
    anchor = f'<a id="{line.anchor.lower()}"></a>**{line.anchor}** ' if line.anchor else ""
    refs = " ".join(_ref(ref, laid_out) for ref in line.refs)
    return f"{anchor}{_text(line.text)}{' ' if refs else ''}{refs}".strip()


def _ref(ref: str, laid_out: Document) -> str:
    return rf"\[[{ref}](#{ref.lower()})\]" if ref in laid_out.anchors else rf"\[{_text(ref)}\]"


def _text(text: str) -> str:
    return _LEADING.sub(_guarded, _inline(text))


def _inline(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _guarded(match: re.Match[str]) -> str:
    # A digit cannot be escaped; a zero-width space keeps `1.` from becoming a list.
    return f"\u200b{match[0]}" if match[0].isdigit() else f"\\{match[0]}"

"""The report as PDF, with a Korean font inside. The same report gives the same bytes.

What the font has no picture of is written as its number, and a note at the end says so: nothing is left out silently.
"""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from fpdf import FPDF
from playmolt_schemas.games.legal import Report
from pylopdf_fonts_ko import sans_path

from playmolt_legal.report.document import Document, Line, Section, document

_EPOCH: Final = datetime(1980, 1, 1, tzinfo=UTC)
_FONT: Final = "sans"
_LINE: Final = 6.0
"""Height of a line in millimetres."""
_INDENT: Final = 5.0
_KEPT: Final = 4 * _LINE
_UNSEEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_SEEN_FORMATS: Final = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")
"""Signs that enclose the numbers behind them: of a category that nobody sees, and seen."""
_VARIANTS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_STAND_INS: Final[Mapping[str, str]] = {
    "en": "Characters that this document's font lacks are written as their Unicode numbers: {}.",
    "ko": "이 문서의 글꼴에 없는 문자는 유니코드 번호로 적었습니다: {}.",
}


def render_pdf(report: Report) -> bytes:
    """Render the report; ids are links to where they are defined."""
    return _Paper(document(report)).written()


class _Paper:
    def __init__(self, laid_out: Document) -> None:
        self._laid_out = laid_out
        self._pdf = FPDF()
        self._pdf.set_creation_date(_EPOCH)
        self._pdf.set_title(laid_out.title)
        self._pdf.set_lang(laid_out.language)
        self._pdf.add_font(_FONT, fname=sans_path())
        self._pdf.add_page()
        self._drawn = getattr(self._pdf.fonts[_FONT], "cmap")  # noqa: B009 -- of a TrueType font alone
        self._stand_ins: dict[str, None] = {}
        self._links = {anchor: self._pdf.add_link() for anchor in sorted(laid_out.anchors)}

    def written(self) -> bytes:
        self._head(self._laid_out.title, 18)
        for line in self._laid_out.case:
            self._line(line)
        for section in self._laid_out.sections:
            self._section(section)
        if self._stand_ins:
            self._line(Line(text=_STAND_INS[self._laid_out.language].format(", ".join(self._stand_ins))))
        return bytes(self._pdf.output())

    def _shown(self, text: str) -> str:
        return "".join([char if ord(char) in self._drawn else self._stand_in(char) for char in text])

    def _stand_in(self, char: str) -> str:
        if _VARIANTS.match(char) or (unicodedata.category(char) in _UNSEEN and not _SEEN_FORMATS.match(char)):
            return char
        number = f"U+{ord(char):04X}"
        self._stand_ins[number] = None
        return number

    def _head(self, text: str, size: int, kept: float = _KEPT) -> None:
        # A heading alone at the foot of a page loses what it titles.
        if self._pdf.will_page_break(kept):
            self._pdf.add_page()
        self._pdf.ln(2)
        self._pdf.set_font(_FONT, size=size)
        self._pdf.multi_cell(0, size * 0.5, self._shown(text), align="L", new_x="LMARGIN", new_y="NEXT")
        self._pdf.ln(1)
        self._pdf.set_font(_FONT, size=10)

    def _section(self, section: Section) -> None:
        # One that is followed by another keeps room for that one's, too: else that one alone goes to the next page.
        self._head(section.title, 14, 2 * _KEPT if section.lines and section.lines[0].head else _KEPT)
        for line in section.lines:
            if line.head:
                self._head(line.text, 11)
            else:
                self._line(line)
        if section.table:
            self._table(section)

    def _line(self, line: Line) -> None:
        pdf = self._pdf
        left = pdf.l_margin
        pdf.set_x(left)
        pdf.cell(_INDENT, _LINE, "•")
        pdf.set_left_margin(left + _INDENT)
        pdf.set_x(left + _INDENT)
        if line.anchor:
            self._anchor(line.anchor)
        pdf.write(_LINE, self._shown(f"{line.anchor} {line.text}" if line.anchor else line.text))
        for ref in line.refs:
            pdf.write(_LINE, " [")
            pdf.write(_LINE, self._shown(ref), self._links.get(ref, ""))
            pdf.write(_LINE, "]")
        pdf.set_left_margin(left)
        pdf.ln(_LINE)

    def _anchor(self, name: str) -> None:
        self._pdf.set_link(self._links[name], y=self._pdf.get_y(), page=self._pdf.page)

    def _table(self, section: Section) -> None:
        pdf = self._pdf
        width = pdf.epw / len(section.table[0])
        for row in section.table:
            if pdf.will_page_break(_LINE):
                pdf.add_page()
            for cell in row:
                pdf.cell(width, _LINE, self._shown(cell.text), border=1, link=self._links.get(cell.ref, ""))
            pdf.ln(_LINE)

"""The report as PDF, with its fonts inside. The same report gives the same bytes.

What no font has a picture of is written as its number, and a note at the end says so: nothing is left out silently.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import groupby
from typing import Final
from xml.sax.saxutils import escape

import msgspec
from fpdf import FPDF
from fpdf.annotations import PDFAnnotation
from fpdf.fonts import CoreFont, TTFFont
from fpdf.prefs import ViewerPreferences
from fpdf.structure_tree import StructElem
from fpdf.syntax import Name
from playmolt_schemas.games.legal import Report
from typing_extensions import override

from playmolt_legal import texts
from playmolt_legal.report.blocks import Block, Cell, Heading, ReportLine, ReportTable
from playmolt_legal.report.document import Document, Section, document
from playmolt_legal.report.pdf_fonts import PdfProducer
from playmolt_legal.report.pdf_structure import Element, Structure
from playmolt_legal.report.runs import FontName, Run, drawn, font_of, path, runs

_HAN: Final = "\u2e80-\u2fff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60"
_OPENING: Final = "（《〈「『【〔［｛“‘"
_CLOSING: Final = "、。，．：；？！）》〉」』】〕］｝”’…—·％"
_COUNTED: Final = "年月日号元条款项万亿个"
"""What stays with the number before it."""
_UNIT: Final = re.compile(rf"[{_OPENING}]*(?:[^\s{_HAN}{_OPENING}{_CLOSING}]+[{_COUNTED}]?|[{_HAN}])?[{_CLOSING}]*\s*")


def wrapped(text: str, width: float, wide: Callable[[str], float]) -> list[str]:
    """The lines of a text; a word longer than a line is broken."""
    return [line for part in text.split("\n") for line in _lines(part, width, wide)]


def _lines(text: str, width: float, wide: Callable[[str], float]) -> Iterator[str]:
    line = ""
    for unit in _UNIT.findall(text):
        if wide((line + unit).rstrip()) <= width:
            line += unit
            continue
        if line:
            yield line.rstrip()
        *whole, line = _cut(unit, width, wide)
        yield from whole
    yield line.rstrip()


def _cut(word: str, width: float, wide: Callable[[str], float]) -> list[str]:
    """A word in pieces that fit on a line each; most are one piece."""
    pieces, piece = [], ""
    for char in word:
        if piece and wide((piece + char).rstrip()) > width:
            pieces.append(piece)
            piece = ""
        piece += char
    return [*pieces, piece]


_LINE: Final = 5.6
"""Height of a line in millimetres."""
_INDENT: Final = 5.0
_PAD: Final = 1.5
_BODY: Final = 10
_COVER: Final = 70
"""Where the title of the cover begins, in millimetres from above."""
_MARGIN: Final = 20
_KEPT: Final = 4 * _LINE
_TITLES: Final = (24, 52, 94)
_SHADE: Final = (232, 237, 243)
_DISCS: Final = "<</O /List /ListNumbering /Disc>>"
_COLUMN: Final = "<</O /Table /Scope /Column>>"
"""A heading is one of its column."""
_OWN_PAGES: Final = 2
"""So many sections begin on a page of their own: the answer, and what comes behind it."""
_STAND_INS: Final[Mapping[str, str]] = {
    "en": "Characters that this document's fonts lack are written as their Unicode numbers: {}.",
    "ko": "이 문서의 글꼴에 없는 문자는 유니코드 번호로 적었습니다: {}.",
    "zh": "本文件字体所缺的字符以 Unicode 编号表示：{}。",
}


_XMP: Final = """\
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">{title}</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>PlayMolt</rdf:li></rdf:Seq></dc:creator>
<dc:language><rdf:Bag><rdf:li>{language}</rdf:li></rdf:Bag></dc:language>
</rdf:Description></rdf:RDF></x:xmpmeta>"""


def render_pdf(report: Report) -> bytes:
    """Render the report; ids are links to where they are defined."""
    return _Paper(document(report)).written()


class _Span(msgspec.Struct, frozen=True):
    """A piece of a line on paper; `ref` is the id it links to."""

    text: str
    ref: str = ""


_Spans = tuple[_Span, ...]


class _Sheet(FPDF):
    """Pages with the title above and their number below, but for the cover."""

    headline = ""
    base: FontName = "ko"

    def choose(self, font: FontName, size: float) -> None:
        """Draw in this font from here on."""
        self._loaded(font)
        self.set_font(font, size=size)

    def wide(self, text: str) -> float:
        """How wide a text is in the fonts that draw it, at the present size."""
        return sum(self._wide(run) for run in runs(text, self.base))

    def write_line(self, height: float, text: str) -> None:
        """A text on one line, from here to the right."""
        for run in runs(text, self.base):
            if run.font != self.font_family:
                self.choose(run.font, self.font_size_pt)
            self.cell(self._wide(run), height, run.text)
        if self.font_family != self.base:
            self.choose(self.base, self.font_size_pt)

    def annotated(self, x: float, y: float, width: float, height: float, link: int, contents: str) -> PDFAnnotation:
        """A link on this page from this rectangle to a place."""
        scale = self.k
        annotation = PDFAnnotation(
            "Link", x=x * scale, y=self.h_pt - y * scale, width=width * scale, height=height * scale,
            dest=self.links[link], contents=contents,
        )  # fmt: skip
        self.pages[self.page].add_annotation(annotation)
        return annotation

    def _wide(self, run: Run) -> float:
        # The library's own function copies the state of the page for every text.
        _, points = self._loaded(run.font).get_text_width(run.text, self.font_size_pt, None)
        return points / self.k

    def _loaded(self, font: FontName) -> CoreFont | TTFFont:
        if font not in self.fonts:
            self.add_font(font, fname=path(font))
        return self.fonts[font]

    @override
    def header(self) -> None:
        if self.page > 1:
            self._edge(10, self.headline)

    @override
    def footer(self) -> None:
        if self.page > 1:
            self._edge(self.h - 14, f"{self.page} / {{nb}}", middle=True)

    def _edge(self, top: float, text: str, *, middle: bool = False) -> None:
        self._out("/Artifact BMC")
        self.choose(self.base, 8)
        self.set_y(top)
        if middle:
            self.cell(0, 4, text, align="C")
        else:
            self.write_line(4, text)
        self._out("EMC")
        self.choose(self.base, _BODY)
        self.set_y(self.t_margin)


class _Paper:
    def __init__(self, laid_out: Document) -> None:
        self._laid_out = laid_out
        self._pdf = pdf = _Sheet()
        self._structure = pdf.struct_builder = Structure()
        pdf.set_auto_page_break(False)
        pdf.set_margins(_MARGIN, _MARGIN, _MARGIN)
        pdf.c_margin = 0
        pdf.set_creation_date(texts.utc_time(laid_out.ended_at))
        pdf.set_title(laid_out.title)
        pdf.set_author("PlayMolt")
        pdf.set_creator("PlayMolt")
        pdf.set_lang(laid_out.language)
        pdf.viewer_preferences = ViewerPreferences(display_doc_title=True)
        pdf.set_xmp_metadata(_XMP.format(title=escape(laid_out.title), language=laid_out.language))
        pdf.base = font_of(laid_out.language)
        self._stand_ins: dict[str, None] = {}
        pdf.choose(pdf.base, 8)
        pdf.add_page()
        pdf.headline = self._wrapped(self._shown(laid_out.title), pdf.epw)[0]
        self._links = {anchor: pdf.add_link(page=1) for anchor in sorted(laid_out.anchors)}
        self._marks: dict[int, int] = {}

    def written(self) -> bytes:
        self.lay_out()
        for page in self._pdf.pages.values():
            vars(page)["tabs"] = Name("S")  # the tab key follows the structure
        return bytes(self._pdf.output(output_producer_class=PdfProducer))

    def lay_out(self) -> None:
        """Fill the pages. Writing them, with the letters that they use, takes longer."""
        pdf = self._pdf
        pdf.set_y(_COVER)
        self._head(self._laid_out.title, 22, "/Title")
        pdf.ln(_LINE)
        with self._element("/L", _DISCS):
            for line in self._laid_out.cover:
                self._line(line)
        pdf.ln(_LINE)
        self._line(ReportLine(text=self._laid_out.notice), bullet="")
        for place, section in enumerate(self._laid_out.sections):
            if place < _OWN_PAGES:
                pdf.add_page()
            self._section(section)
        if self._stand_ins:
            note = _STAND_INS[self._laid_out.language].format(", ".join(self._stand_ins))
            pdf.ln(_LINE)
            self._line(ReportLine(text=note), bullet="")

    def _shown(self, text: str) -> str:
        return "".join([char if drawn(char) else self._stand_in(char) for char in text])

    def _stand_in(self, char: str) -> str:
        number = f"U+{ord(char):04X}"
        self._stand_ins[number] = None
        return number

    def _wrapped(self, text: str, width: float) -> list[str]:
        return wrapped(text, width, self._pdf.wide)

    @contextmanager
    def _tagged(self, kind: str) -> Iterator[StructElem]:
        """What is drawn inside is one element of the document's structure; it stays on its page."""
        pdf = self._pdf
        mark = self._marks.get(pdf.page, 0)
        self._marks[pdf.page] = mark + 1
        made = pdf._add_marked_content(struct_type=kind, mcid=mark)  # noqa: SLF001 -- the library has no call for this
        pdf._out(f"{kind} <</MCID {mark}>> BDC")  # noqa: SLF001
        yield made
        pdf._out("EMC")  # noqa: SLF001

    def _room(self, height: float) -> float:
        return self._pdf.h - _MARGIN - self._pdf.get_y() - height

    def _head(self, text: str, size: int, kind: str, kept: float = _KEPT) -> None:
        pdf = self._pdf
        pdf.choose(pdf.base, size)
        lines = self._wrapped(self._shown(text), pdf.epw)
        # A heading alone at the foot of a page loses what it titles.
        if self._room(len(lines) * size * 0.5 + kept) < 0:
            pdf.add_page()
            pdf.choose(pdf.base, size)
        pdf.ln(2)
        pdf.set_text_color(*_TITLES)
        with self._tagged(kind):
            for line in lines:
                pdf.write_line(size * 0.5, line)
                pdf.ln(size * 0.5)
        pdf.ln(1)
        pdf.set_text_color(0)
        pdf.choose(pdf.base, _BODY)

    def _section(self, section: Section) -> None:
        # One that is followed by another keeps room for that one's, too: else that one alone goes to the next page.
        kept = 2 * _KEPT if isinstance(section.blocks[0], Heading) else _KEPT
        if self._room(_KEPT + kept) < 0:
            self._pdf.add_page()
        self._pdf.start_section(section.title)
        self._head(section.title, 15, "/H1", kept)
        for listed, blocks in groupby(section.blocks, key=lambda block: isinstance(block, ReportLine) and block.listed):
            with self._element("/L", _DISCS) if listed else nullcontext():
                for block in blocks:
                    self._block(block)

    def _block(self, block: Block) -> None:
        match block:
            case ReportLine():
                self._line(block, "•" if block.listed else "")
            case Heading(text=text):
                self._head(text, 11, "/H2")
            case ReportTable():
                self._table(block)

    @contextmanager
    def _element(self, kind: str, attributes: str | None = None) -> Iterator[None]:
        """What is drawn inside belongs to one element, which may go on on the next page."""
        with self._structure.within(self._structure.element(kind, self._pdf.page, attributes)):
            yield

    def _spans(self, line: ReportLine, width: float) -> list[_Spans]:
        """A wrapped sentence, followed by the ids it rests on."""
        pdf = self._pdf
        shown = f"{line.anchor} {line.text}".strip() if line.anchor else line.text
        *lines, last = self._wrapped(self._shown(shown), width)
        rows: list[list[_Span]] = [[_Span(text)] for text in lines]
        rows.append([_Span(last)] if last else [])
        for ref in line.refs:
            span = _Span(f"{' ' if rows[-1] else ''}[{self._shown(ref)}]", ref)
            if rows[-1] and sum(pdf.wide(each.text) for each in (*rows[-1], span)) > width:
                rows.append([_Span(span.text.strip(), ref)])
            else:
                rows[-1].append(span)
        return [tuple(row) for row in rows]

    def _draw(self, x: float, y: float, spans: _Spans, *, tagged: bool = True) -> None:
        """A row of text; each span is an element, a link with its annotation."""
        pdf = self._pdf
        pdf.set_xy(x, y)
        for span in spans:
            link = self._links.get(span.ref) if tagged else None
            left = pdf.get_x()
            with self._tagged("/Span" if link is None else "/Link") if tagged else nullcontext() as element:
                pdf.write_line(_LINE, span.text)
            if element is not None and link is not None:
                name = span.text.strip()
                self._structure.tie(element, pdf.annotated(left, y, pdf.get_x() - left, _LINE, link, name))

    def _line(self, line: ReportLine, bullet: str = "•") -> None:
        """A paragraph; with a bullet, an item of the list that is open."""
        pdf = self._pdf
        rows = self._spans(line, pdf.epw - _INDENT)
        if self._room(_LINE) < 0:
            pdf.add_page()
        self._anchor(line.anchor, pdf.get_y())
        if not bullet:
            with self._element("/P"):
                self._rows(rows, _MARGIN)
            return
        with self._element("/LI"):
            pdf.set_xy(_MARGIN, pdf.get_y())
            with self._tagged("/Lbl"):
                pdf.write_line(_LINE, bullet)
            with self._element("/LBody"):
                self._rows(rows, _MARGIN + _INDENT)

    def _rows(self, rows: Sequence[_Spans], x: float) -> None:
        pdf = self._pdf
        for spans in rows:
            if self._room(_LINE) < 0:
                pdf.add_page()
            y = pdf.get_y()
            self._draw(x, y, spans)
            pdf.set_y(y + _LINE)

    def _anchor(self, name: str, y: float) -> None:
        if name:
            self._pdf.set_link(self._links[name], y=y, page=self._pdf.page)

    def _table(self, table: ReportTable) -> None:
        pdf = self._pdf
        widths = [pdf.epw * share / 100 for share in table.widths]
        heading, *rows = (self._cells(row, widths) for row in table.rows)
        if self._room(3 * (_LINE + _PAD)) < 0:
            pdf.add_page()
        with self._structure.within(self._structure.element("/Table", pdf.page)):
            self._row(heading, widths, self._elements("/TH", len(widths), _COLUMN), shaded=True)
            for cells, row in zip(rows, table.rows[1:], strict=True):
                self._body(cells, [line.anchor for cell in row for line in cell if line.anchor], heading, widths)
        pdf.ln(2)

    def _cells(self, row: Sequence[Cell], widths: Sequence[float]) -> list[list[_Spans]]:
        return [
            [spans for line in cell for spans in self._spans(line, width - 2 * _PAD)]
            for cell, width in zip(row, widths, strict=True)
        ]

    def _elements(self, kind: str, number: int, attributes: str | None = None) -> list[Element]:
        """The cells of a new row of the table that is open."""
        page = self._pdf.page
        with self._structure.within(self._structure.element("/TR", page)):
            return [self._structure.element(kind, page, attributes) for _ in range(number)]

    def _body(
        self, cells: list[list[_Spans]], anchors: list[str], heading: list[list[_Spans]], widths: list[float]
    ) -> None:
        """A row; one that is longer than its page goes on under the heading on the next one."""
        lines = max(map(len, cells))
        done = 0
        elements: list[Element] = []
        while done < lines or not done:
            fitting = int((self._room(2 * _PAD)) // _LINE)
            if fitting < min(lines - done, 2):
                self._pdf.add_page()
                self._row(heading, widths, shaded=True)
                continue
            if not done:
                elements = self._elements("/TD", len(widths))
                for anchor in anchors:
                    self._anchor(anchor, self._pdf.get_y())
            self._row([cell[done : done + fitting] for cell in cells], widths, elements)
            done += fitting

    def _row(
        self,
        cells: list[list[_Spans]],
        widths: list[float],
        elements: Sequence[Element] | None = None,
        *,
        shaded: bool = False,
    ) -> None:
        """`elements` None: the row visually repeats an earlier one."""
        pdf, x, y = self._pdf, float(_MARGIN), self._pdf.get_y()
        height = max(1, *map(len, cells)) * _LINE + 2 * _PAD
        pdf.set_fill_color(*_SHADE)
        pdf.set_draw_color(170)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            with self._artifact():
                pdf.rect(x, y, width, height, style="DF" if shaded else "D")
            with self._structure.within(elements[place]) if elements else self._artifact():
                for number, spans in enumerate(cell):
                    self._draw(x + _PAD, y + _PAD + number * _LINE, spans, tagged=bool(elements))
            x += width
        pdf.set_y(y + height)

    @contextmanager
    def _artifact(self) -> Iterator[None]:
        """Marks content that is not part of the text."""
        self._pdf._out("/Artifact BMC")  # noqa: SLF001
        yield
        self._pdf._out("EMC")  # noqa: SLF001

"""The report as a Word document. The same report gives the same bytes."""

import io
import re
import zipfile
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Mm
from playmolt_schemas.games.legal import Report

from playmolt_legal import texts
from playmolt_legal.report.blocks import Heading, ReportLine, ReportTable
from playmolt_legal.report.document import Document, Section, document
from playmolt_legal.report.docx_template import bare_document
from playmolt_legal.report.runs import FontName, font_of, runs

_LATIN: Final = "Calibri"
_FONTS: Final[Mapping[FontName, str]] = {"ko": "Malgun Gothic", "zh": "Microsoft YaHei"}
"""For Korean and Chinese characters."""
_STYLES: Final = (
    "Normal", "Title", "Heading 1", "Heading 2", "List Bullet", "Header", "Footer",
)  # fmt: skip
_PAGE: Final = (Mm(210), Mm(297))
_MARGIN: Final = Mm(22)
_OWN_PAGES: Final = 2
"""So many sections begin on a page of their own: the answer, and what comes behind it."""
_REGIONS: Final = {"en": "en-US", "ko": "ko-KR", "zh": "zh-CN"}
_PROGRAM: Final = (
    b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    b'<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties">'
    b"<Application>PlayMolt</Application></Properties>"
)
# XML 1.0 has no place for these, not even escaped.
_NO_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def render_docx(report: Report) -> bytes:
    """Render the report; ids are links to where they are defined."""
    return _DocxWriter(document(report)).written()


class _DocxWriter:
    def __init__(self, laid_out: Document) -> None:
        self._laid_out = laid_out
        self._base = font_of(laid_out.language)
        self._book = bare_document((*_STYLES, "Table Grid"))
        self._marks = 0
        self._dress(_FONTS[self._base])
        self._speak(_REGIONS[laid_out.language])

    def written(self) -> bytes:
        laid_out, book = self._laid_out, self._book
        self._edges()
        self._write(book.add_heading("", level=0), laid_out.title)
        for line in laid_out.cover:
            self._write(book.add_paragraph(style="List Bullet"), line.text)
        self._write(book.add_paragraph(), laid_out.notice)
        for place, section in enumerate(laid_out.sections):
            # The answer has a page of its own behind the cover.
            self._section(section, new_page=place < _OWN_PAGES)
        self._pin()
        file = io.BytesIO()
        book.save(file)
        return _settled(file.getvalue(), texts.utc_time(laid_out.ended_at))

    def _dress(self, font: str) -> None:
        """A4, and fonts by name."""
        page = self._book.sections[0]
        page.page_width, page.page_height = _PAGE
        page.left_margin = page.right_margin = page.top_margin = page.bottom_margin = _MARGIN
        for name in _STYLES:
            style: Any = self._book.styles[name]
            style.font.name = _LATIN
            style.element.get_or_add_rPr().get_or_add_rFonts().set(qn("w:eastAsia"), font)

    def _edges(self) -> None:
        """A header and a footer on every page but the cover."""
        section = self._book.sections[0]
        section.different_first_page_header_footer = True
        self._write(section.header.paragraphs[0], self._laid_out.title)
        footer = section.footer.paragraphs[0]
        footer.alignment = WD_ALIGN_PARAGRAPH.CENTER
        for code, behind in (("PAGE", " / "), ("NUMPAGES", "")):
            field = OxmlElement("w:fldSimple")
            field.set(qn("w:instr"), code)
            footer._p.append(field)  # noqa: SLF001 -- the library has no call for fields
            run = footer.add_run("1")
            field.append(run._r)  # noqa: SLF001
            footer.add_run(behind)

    def _speak(self, language: str) -> None:
        """Say the language of every text: else a word processor takes its own, and checks spelling by that."""
        defaults = self._book.styles.element.find(f"{qn('w:docDefaults')}/{qn('w:rPrDefault')}/{qn('w:rPr')}")
        for holder, tag in ((defaults, "w:lang"), (self._book.settings.element, "w:themeFontLang")):
            said = holder.find(qn(tag))
            if said is None:
                said = OxmlElement(tag)
                holder.append(said)
            for script in ("w:val", "w:eastAsia"):
                said.set(qn(script), language)

    def _pin(self) -> None:
        properties = self._book.core_properties
        properties.title = _xml(self._laid_out.title)[:255]
        properties.author = properties.last_modified_by = "PlayMolt"
        properties.comments = ""
        properties.language = self._laid_out.language
        properties.created = properties.modified = texts.utc_time(self._laid_out.ended_at)

    def _section(self, section: Section, *, new_page: bool) -> None:
        heading = self._book.add_heading("", level=1)
        self._write(heading, section.title)
        heading.paragraph_format.page_break_before = new_page
        for block in section.blocks:
            match block:
                case ReportLine():
                    style = "List Bullet" if block.listed else "Normal"
                    self._line(self._book.add_paragraph(style=style), block)
                case Heading(text=text):
                    self._write(self._book.add_heading("", level=2), text)
                case ReportTable():
                    self._table(block)

    def _line(self, paragraph: Any, line: ReportLine) -> None:
        if line.anchor:
            self._anchor(paragraph, line.anchor)
            paragraph.add_run(f"{line.anchor} ").bold = True
        self._write(paragraph, line.text)
        for ref in line.refs:
            self._ref(paragraph, ref)

    def _write(self, paragraph: Any, text: str) -> None:
        """Add a text; what another font draws better than the report's own is a run of its own, with its language."""
        for font, part in runs(_xml(text), self._base):
            run = paragraph.add_run(part)
            if font == self._base:
                continue
            properties = run._r.get_or_add_rPr()  # noqa: SLF001 -- the library knows fonts of Latin letters only
            fonts = properties.get_or_add_rFonts()
            for letters in ("w:ascii", "w:hAnsi", "w:eastAsia"):
                fonts.set(qn(letters), _FONTS[font])
            fonts.set(qn("w:hint"), "eastAsia")
            language = OxmlElement("w:lang")
            language.set(qn("w:eastAsia"), _REGIONS[font])
            properties.append(language)

    def _table(self, block: ReportTable) -> None:
        table = self._book.add_table(rows=len(block.rows), cols=len(block.widths), style="Table Grid")
        table.autofit = False
        page: Any = self._book.sections[0]
        whole = page.page_width - page.left_margin - page.right_margin
        for column, share in zip(table.columns, block.widths, strict=True):
            column.width = whole * share // 100
        heading = OxmlElement("w:tblHeader")
        table.rows[0]._tr.get_or_add_trPr().append(heading)  # noqa: SLF001 -- the library has no call for heading rows
        # Row by row: a look-up of one cell walks the whole table.
        for place, (row, cells) in enumerate(zip(table.rows, block.rows, strict=True)):
            for cell, lines, share in zip(row.cells, cells, block.widths, strict=True):
                cell.width = whole * share // 100
                for number, line in enumerate(lines):
                    self._line(cell.paragraphs[0] if number == 0 else cell.add_paragraph(), line)
                if place == 0:
                    _shade(cell)

    def _anchor(self, paragraph: Any, name: str) -> None:
        self._marks += 1
        for tag in ("w:bookmarkStart", "w:bookmarkEnd"):
            mark = OxmlElement(tag)
            mark.set(qn("w:id"), str(self._marks))
            if tag == "w:bookmarkStart":
                mark.set(qn("w:name"), _bookmark(name))
            paragraph._p.append(mark)  # noqa: SLF001 -- the library has no call for bookmarks

    def _ref(self, paragraph: Any, ref: str) -> None:
        paragraph.add_run(" [")
        if ref in self._laid_out.anchors:
            self._link(paragraph, ref, ref)
        else:
            paragraph.add_run(_xml(ref))
        paragraph.add_run("]")

    @staticmethod
    def _link(paragraph: Any, anchor: str, text: str) -> None:
        run = paragraph.add_run(_xml(text))
        run.font.underline = True
        link = OxmlElement("w:hyperlink")
        link.set(qn("w:anchor"), _bookmark(anchor))
        paragraph._p.append(link)  # noqa: SLF001 -- the library has no call for inner links
        link.append(run._r)  # noqa: SLF001


def _bookmark(name: str) -> str:
    """Word takes letters, digits and underscores."""
    return name.replace(".", "_")


def _shade(cell: Any) -> None:
    shading = OxmlElement("w:shd")
    for name, value in (("w:val", "clear"), ("w:color", "auto"), ("w:fill", "E8EDF3")):
        shading.set(qn(name), value)
    cell._tc.get_or_add_tcPr().append(shading)  # noqa: SLF001 -- the library has no call for shading
    for run in cell.paragraphs[0].runs:
        run.bold = True


def _xml(text: str) -> str:
    return _NO_XML.sub(" ", text)


def _settled(package: bytes, at: datetime) -> bytes:
    """Rewrites the package: every entry gets the time the session ended, and the template's program is dropped."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(file, "w") as new:
        for name in sorted(old.namelist(), key=lambda name: (name != "[Content_Types].xml", name)):
            entry = zipfile.ZipInfo(name, at.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, _PROGRAM if name == "docProps/app.xml" else old.read(name))
    return file.getvalue()

"""The report as a Word document. The same report gives the same bytes."""

import io
import re
import zipfile
from datetime import UTC, datetime
from typing import Any, Final

import docx
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from playmolt_schemas.games.legal import Report

from playmolt_legal.report.document import Cell, Document, Line, Section, document

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_FONT: Final = "Malgun Gothic"
# XML 1.0 has no place for these, not even escaped.
_REGIONS: Final = {"en": "en-US", "ko": "ko-KR"}
_PROGRAM: Final = (
    b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    b'<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties">'
    b"<Application>PlayMolt</Application></Properties>"
)
_NO_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def render_docx(report: Report) -> bytes:
    """Render the report; ids are links to where they are defined."""
    return _Book(document(report)).written()


class _Book:
    def __init__(self, laid_out: Document) -> None:
        self._laid_out = laid_out
        self._book = docx.Document()
        self._marks = 0
        style: Any = self._book.styles["Normal"]
        style.font.name = _FONT
        style.element.get_or_add_rPr().get_or_add_rFonts().set(qn("w:eastAsia"), _FONT)
        self._speak(_REGIONS[laid_out.language])

    def written(self) -> bytes:
        laid_out, book = self._laid_out, self._book
        book.add_heading(_xml(laid_out.title), level=0)
        for line in laid_out.case:
            book.add_paragraph(_xml(line.text), style="List Bullet")
        for section in laid_out.sections:
            self._section(section)
        self._pin()
        file = io.BytesIO()
        book.save(file)
        return _settled(file.getvalue())

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
        properties.created = properties.modified = datetime(*_EPOCH, tzinfo=UTC)

    def _section(self, section: Section) -> None:
        self._book.add_heading(_xml(section.title), level=1)
        for line in section.lines:
            if line.head:
                self._book.add_heading(_xml(line.text), level=2)
            else:
                self._line(line)
        if section.table:
            self._table(section)

    def _line(self, line: Line) -> None:
        paragraph = self._book.add_paragraph(style="List Bullet")
        if line.anchor:
            self._anchor(paragraph, line.anchor)
            paragraph.add_run(f"{line.anchor} ").bold = True
        paragraph.add_run(_xml(line.text))
        for ref in line.refs:
            self._ref(paragraph, ref)

    def _table(self, section: Section) -> None:
        table = self._book.add_table(rows=len(section.table), cols=len(section.table[0]), style="Table Grid")
        heading = OxmlElement("w:tblHeader")
        table.rows[0]._tr.get_or_add_trPr().append(heading)  # noqa: SLF001 -- the library has no call for heading rows
        # Row by row: a look-up of one cell walks the whole table.
        for row, cells in zip(table.rows, section.table, strict=True):
            for cell, held in zip(row.cells, cells, strict=True):
                self._cell(cell.paragraphs[0], held)

    def _cell(self, paragraph: Any, cell: Cell) -> None:
        if cell.ref:
            self._link(paragraph, cell.ref, cell.text)
        else:
            paragraph.add_run(_xml(cell.text))

    def _anchor(self, paragraph: Any, name: str) -> None:
        self._marks += 1
        for tag in ("w:bookmarkStart", "w:bookmarkEnd"):
            mark = OxmlElement(tag)
            mark.set(qn("w:id"), str(self._marks))
            if tag == "w:bookmarkStart":
                mark.set(qn("w:name"), name)
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
        link.set(qn("w:anchor"), anchor)
        paragraph._p.append(link)  # noqa: SLF001 -- the library has no call for inner links
        link.append(run._r)  # noqa: SLF001


def _xml(text: str) -> str:
    return _NO_XML.sub(" ", text)


def _settled(package: bytes) -> bytes:
    """Write the package anew without the clock, and the template's program, in it."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(file, "w") as new:
        for name in sorted(old.namelist(), key=lambda name: (name != "[Content_Types].xml", name)):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, _PROGRAM if name == "docProps/app.xml" else old.read(name))
    return file.getvalue()

"""The text of an HWPX (OWPML) document as Hancom Office shows it with all changes accepted."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from playmolt_gateway.uploads.document_text import BULLET, Changes, Lines
from playmolt_gateway.uploads.docx_styles import named
from playmolt_gateway.uploads.list_marks import numbered
from playmolt_gateway.uploads.outcome import Note, refuse
from playmolt_gateway.uploads.zip_parts import Element, ZipParts, attribute, child, local

_ROOT: Final = "Contents/content.hpf"
_CHARACTERS: Final = {"lineBreak": "\n", "tab": "\t", "nbSpace": " ", "fwSpace": " ", "hyphen": "-"}
_BEFORE: Final = ("TOP", "LEFT")
"""Sides of a table on which a caption is read before it."""
_CHANGES: Final = {"insert": "insertion", "delete": "deletion"}
_BREAKS: Final = re.compile(r"\s*[\r\n]\s*")
"""How a file is laid out; Hancom Office shows a space."""
_DIGITS: Final = 9
_PLACE: Final = re.compile(r"\^([0-9nN])")
_FORMATS: Final = {
    "DIGIT": "decimal", "CIRCLED_DIGIT": "decimalEnclosedCircle", "ROMAN_CAPITAL": "upperRoman",
    "ROMAN_SMALL": "lowerRoman", "LATIN_CAPITAL": "upperLetter", "LATIN_SMALL": "lowerLetter",
    "CIRCLED_LATIN_CAPITAL": "circled_upper", "CIRCLED_LATIN_SMALL": "circled_lower", "HANGUL_SYLLABLE": "ganada",
    "CIRCLED_HANGUL_SYLLABLE": "circled_ganada", "HANGUL_JAMO": "chosung", "CIRCLED_HANGUL_JAMO": "circled_chosung",
    "HANGUL_PHONETIC": "koreanCounting", "IDEOGRAPH": "chineseCounting",
    "CIRCLED_IDEOGRAPH": "ideographEnclosedCircle", "DECAGON_CIRCLE_HANJA": "ideographTraditional",
}  # fmt: skip
_IGNORED: Final = frozenset(
    (
        "linesegarray",
        "secPr",
        "fieldBegin",
        "parameters",
        "memogroup",
        "shapeComment",
        "titleMark",
        "listItem",
    )
)


def read_hwpx(parts: ZipParts) -> tuple[str, tuple[Note, ...]]:
    """The text and what was left out. Raises UnreadableFile."""
    package = parts.xml(_package(parts))
    folder = posixpath.dirname(_package(parts))
    items = {attribute(each, "id"): attribute(each, "href") for each in named(child(package, "manifest"), "item")}
    document = _HwpxDocument()
    head = _existing(parts, next((name for name in items.values() if name.endswith("header.xml")), ""), folder)
    if head:
        document.lists = _Lists(parts.xml(head))
    document.masters = {
        key: place for key, name in items.items() if (place := _existing(parts, name, folder)).endswith(".xml")
    }  # fmt: skip
    document.part = parts.xml
    lines: list[str] = []
    sections = 0
    for reference in named(child(package, "spine"), "itemref"):
        name = _existing(parts, items.get(attribute(reference, "idref"), ""), folder)
        if not name.endswith(".xml"):
            continue
        root = parts.xml(name)
        if local(str(root.tag)) == "sec":
            sections += 1
            lines += document.section(root)
    if not sections:
        raise refuse("unreadable")
    return "\n".join([*lines, *filter(None, document.edges)]), document.changes.notes()


def _package(parts: ZipParts) -> str:
    if "META-INF/container.xml" in parts.names:
        for each in parts.xml("META-INF/container.xml").iter():
            if attribute(each, "media-type") == "application/hwpml-package+xml":
                return attribute(each, "full-path")
    return _ROOT


def _existing(parts: ZipParts, name: str, folder: str) -> str:
    """A part by its place in the package, or beside the list of parts: writers do both."""
    beside = posixpath.normpath(posixpath.join(folder, name))
    return next((each for each in (name.lstrip("/"), beside) if each in parts.names), "")


class _HwpxHeadingLevel(NamedTuple):
    kind: str
    list_id: str
    level: int


class _HwpxLevel(NamedTuple):
    start: int
    format: str
    text: str


class _Lists:
    """The numbers and bullets of paragraphs."""

    def __init__(self, head: Element | None) -> None:
        self._headings: dict[str, _HwpxHeadingLevel] = {}
        self._numberings: dict[str, dict[int, _HwpxLevel]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        for each in head.iter() if head is not None else ():
            name = local(str(each.tag))
            if name == "paraPr" and (found := child(each, "heading")) is not None:
                heading = _HwpxHeadingLevel(
                    attribute(found, "type"), attribute(found, "idRef"), _number(found, "level", 0)
                )
                self._headings[attribute(each, "id")] = heading
            elif name == "numbering":
                self._numberings[attribute(each, "id")] = dict(map(_level, named(each, "paraHead")))

    def mark(self, paragraph: Element, outline: str) -> str:
        """The mark of a paragraph; `outline` is the numbering of its section's headings."""
        heading = self._headings.get(attribute(paragraph, "paraPrIDRef"), _HwpxHeadingLevel("NONE", "", 0))
        if heading.kind == "BULLET":
            return BULLET
        list_id = outline if heading.kind == "OUTLINE" else heading.list_id
        levels = self._numberings.get(list_id)
        if heading.kind not in ("NUMBER", "OUTLINE") or levels is None or heading.level not in levels:
            return ""
        counts = self._counts.setdefault(list_id, {})
        at = levels[heading.level]
        counts[heading.level] = counts.get(heading.level, at.start - 1) + 1
        for deeper in [level for level in counts if level > heading.level]:
            del counts[deeper]

        def number(level: int) -> str:
            known = levels.get(level, at)
            return numbered(counts.get(level, known.start), _FORMATS.get(known.format, "decimal"))

        def written(match: re.Match[str]) -> str:
            if match[1] == "N":
                return ".".join(map(number, range(heading.level + 1)))
            return number(heading.level if match[1] == "n" else int(match[1]) - 1)

        return _PLACE.sub(written, at.text).strip()


def _level(head: Element) -> tuple[int, _HwpxLevel]:
    level = _HwpxLevel(_number(head, "start", 1), attribute(head, "numFormat"), head.text or "")
    return _number(head, "level", 1) - 1, level


def _number(element: Element, name: str, otherwise: int) -> int:
    written = attribute(element, name)
    return int(written) if written.isascii() and written.isdigit() and len(written) < _DIGITS else otherwise


class _HwpxDocument:
    def __init__(self) -> None:
        self.lists = _Lists(None)
        self.changes = Changes()
        self.edges: dict[str, None] = {}
        """The texts of headers and footers, each once."""
        self.open: dict[str, str] = {}
        """Tracked changes that have begun, by number: they may end in a later paragraph."""
        self.outline = ""
        self.notes = {"footNote": 0, "endNote": 0}
        self.forms: dict[str, str] = {}
        """How the section writes the numbers of each kind of note."""
        self.masters: Mapping[str, str] = {}
        """The parts of the package by id: a section names those with its master pages."""
        self.part: Callable[[str], Element] | None = None

    def section(self, root: Element) -> list[str]:
        properties = next((each for each in root.iter() if local(str(each.tag)) == "secPr"), None)
        self.outline = attribute(properties, "outlineShapeIDRef") if properties is not None else ""
        names = [(local(str(each.tag)), attribute(each, "type")) for each in root.iter()]
        # A memo is in the section's group, in a field at its place, or in both.
        self.changes.add("comment", max(names.count(("memo", "")), names.count(("fieldBegin", "MEMO"))))
        self.forms = {kind: _form(child(properties, f"{kind}Pr", "autoNumFormat")) for kind in self.notes}
        lines = _HwpxStory(self).read(root).finished()
        for each in named(properties, "masterPage"):
            place = self.masters.get(attribute(each, "idRef"))
            if place and self.part:
                self.edges.setdefault("\n".join(_HwpxStory(self).read(self.part(place)).finished()).strip())
        return lines


def _form(form: Element | None) -> str:
    return attribute(form, "type") if form is not None else ""


class _HwpxStory:
    """Reads one list of paragraphs: a section, a cell, a note, a text box."""

    def __init__(self, document: _HwpxDocument) -> None:
        self._document = document
        self._lines = Lines()
        self._ended: frozenset[str] = frozenset()
        """The changes that ended with the mark of the present paragraph."""
        self._handlers: Mapping[str, Callable[[Element], None]] = {
            "p": self._paragraph,
            "t": self._text,
            "mainText": self._text,
            "script": self._text,
            "compose": lambda each: self._write(attribute(each, "composeText")),
            "textart": self._drawn_text,
            "checkBtn": self._button,
            "radioBtn": self._button,
            "edit": self._field,
            "comboBox": lambda each: self._write(attribute(each, "selectedValue")),
            "listBox": lambda each: self._write(attribute(each, "selectedValue")),
            "autoNum": self._number,
            "video": self._picture,
            "tbl": self._table,
            "footNote": self._note,
            "endNote": self._note,
            "header": self._edge,
            "footer": self._edge,
            "hiddenComment": lambda _: document.changes.add("hidden"),
            "drawText": self._box,
            "caption": self._box,
            "pic": self._picture,
            "ole": self._picture,
            "chart": self._picture,
            "switch": self._switch,
        }

    def read(self, element: Element) -> Lines:
        self._inside(element)
        return self._lines

    def _inside(self, element: Element) -> None:
        for each in element:
            name = local(each.tag) if isinstance(each.tag, str) else ""
            if name in _IGNORED or not name:
                continue
            if handler := self._handlers.get(name):
                handler(each)
            else:
                self._inside(each)

    @property
    def _kinds(self) -> frozenset[str]:
        return frozenset(self._document.open.values())

    def _paragraph(self, element: Element) -> None:
        self._ended = frozenset()
        self._inside(element)
        ending = self._kinds | self._ended
        self._document.changes.paragraph_ends(ending)
        if "deletion" not in ending:
            self._lines.end(self._document.lists.mark(element, self._document.outline))

    def _write(self, text: str) -> None:
        if not text:
            return
        kinds = self._kinds
        self._ended = frozenset()
        deleted = kinds & {"deletion"}
        self._document.changes.seen(deleted or kinds)
        if not deleted:
            self._lines.write(text)

    def _left_out(self) -> bool:
        """Whether what is drawn here is deleted; then it is counted."""
        deleted = self._kinds & {"deletion"}
        if deleted:
            self._document.changes.seen(deleted)
        return bool(deleted)

    def _drawn_text(self, element: Element) -> None:
        if not self._left_out():
            self._lines.box([attribute(element, "text")])

    def _text(self, element: Element) -> None:
        self._write(_BREAKS.sub(" ", element.text or ""))
        for each in element:
            name = local(each.tag) if isinstance(each.tag, str) else ""
            for begun, kind in _CHANGES.items():
                if name == f"{begun}Begin":
                    self._document.open[f"{kind} {attribute(each, 'Id')}"] = kind
                elif name == f"{begun}End":
                    self._document.open.pop(f"{kind} {attribute(each, 'Id')}", None)
                    if attribute(each, "paraend") in ("1", "true"):
                        self._ended |= {kind}
            self._write(_CHARACTERS.get(name, ""))
            self._write(_BREAKS.sub(" ", each.tail or ""))

    def _note(self, element: Element) -> None:
        if self._left_out():
            return
        name = local(str(element.tag))
        self._document.notes[name] += 1
        counted = next((each for each in element.iter() if local(str(each.tag)) == "autoNum"), None)
        number = _number(element, "number", 0) or self._document.notes[name]
        form = self._document.forms.get(name, "")
        if counted is not None:
            number = _number(element, "number", 0) or _number(counted, "num", number)
            form = _form(child(counted, "autoNumFormat")) or form
        mark = numbered(number, _FORMATS.get(form, "decimal"))
        if text := _HwpxStory(self._document).read(element).one_line():
            self._write(f"［{mark}: {text}］")

    def _edge(self, element: Element) -> None:
        self._document.edges.setdefault("\n".join(_HwpxStory(self._document).read(element).finished()).strip())

    def _box(self, element: Element) -> None:
        self._lines.box(_HwpxStory(self._document).read(element).finished())

    def _picture(self, element: Element) -> None:
        if self._left_out():
            return
        self._document.changes.add("picture")
        self._inside(element)

    def _button(self, element: Element) -> None:
        box = "☒" if attribute(element, "value") == "CHECKED" else "☐"
        self._write(f"{box} {attribute(element, 'caption')}".rstrip())

    def _field(self, element: Element) -> None:
        for each in named(element, "text"):
            self._text(each)

    def _number(self, element: Element) -> None:
        """A number that counts by itself, of a table or page; a note has its own in its mark."""
        if attribute(element, "numType") not in ("FOOTNOTE", "ENDNOTE") and attribute(element, "num").isdecimal():
            name = _FORMATS.get(_form(child(element, "autoNumFormat")), "decimal")
            self._write(numbered(_number(element, "num", 0), name))

    def _switch(self, element: Element) -> None:
        """One of several forms of the same content."""
        if chosen := next(iter(element), None):
            self._inside(chosen)

    def _table(self, element: Element) -> None:
        rows = Lines()
        for cells in self._rows(element):
            rows.row(cells)
        for lines in self._with_captions(element, rows.finished()):
            self._lines.box(lines)

    def _with_captions(self, table: Element, rows: list[str]) -> Iterator[list[str]]:
        """A table's rows, and its caption before or after them."""
        captions = [
            (attribute(each, "side"), _HwpxStory(self._document).read(each)) for each in named(table, "caption")
        ]
        yield from (story.finished() for side, story in captions if side in _BEFORE)
        yield rows
        yield from (story.finished() for side, story in captions if side not in _BEFORE)

    def _rows(self, table: Element) -> Iterator[list[str]]:
        for row in named(table, "tr"):
            yield [_HwpxCell(self._document).read(cell).one_line() for cell in named(row, "tc")]


class _HwpxCell(_HwpxStory):
    """A cell, whose tables are in its line."""

    def _table(self, element: Element) -> None:
        row = Lines()
        row.row(text for cells in self._rows(element) for text in cells if text)
        for lines in self._with_captions(element, row.finished()):
            self._lines.box(lines)

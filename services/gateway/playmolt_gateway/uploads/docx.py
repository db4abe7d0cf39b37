"""The text of a DOCX as Word shows it with all changes accepted. Elements are read by their local names, so that both
editions of the standard are alike."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from playmolt_gateway.uploads.document_text import Changes, Lines, symbol_of
from playmolt_gateway.uploads.docx_codes import shown_by
from playmolt_gateway.uploads.docx_equations import EQUATIONS, parts_in_line
from playmolt_gateway.uploads.docx_graphics import part_of, words_of
from playmolt_gateway.uploads.docx_styles import Lists, Styles, named, switch, value
from playmolt_gateway.uploads.list_marks import numbered
from playmolt_gateway.uploads.outcome import Note, refuse
from playmolt_gateway.uploads.zip_parts import Element, ZipParts, attribute, beside, child, local

_Kinds = frozenset[str]
_HEXADECIMAL: Final = re.compile("(?:0?[0-9A-Fa-f]|10)?[0-9A-Fa-f]{1,4}")
_BREAKS: Final = re.compile(r"\s*[\r\n]\s*")
"""How a file is laid out; Word shows a space."""
_UNSEEN: Final = re.compile(r"visibility\s*:\s*hidden")
_REFERENCES: Final = ("footnoteReference", "endnoteReference")
_ON: Final = ("1", "true", "on")
_DIGITS: Final = 9
_NONE: Final[_Kinds] = frozenset()
_CHANGES: Final = {"ins": "insertion", "del": "deletion", "moveTo": "moved", "moveFrom": "moved_away"}
_LEFT_OUT: Final = frozenset(("deletion", "moved_away", "hidden"))
_CHARACTERS: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "‑", "softHyphen": ""}
_IGNORED: Final = frozenset(
    ("pPr", "rPr", "tblPr", "tblGrid", "trPr", "tcPr", "sectPr", "sdtPr", "sdtEndPr", "delInstrText",
     "footnoteRef", "endnoteRef", "annotationRef", "rt", "customXmlPr", "smartTagPr", "oMathParaPr", "Fallback")
)  # fmt: skip


class _Part:
    """A part of the package with its relationships; external targets are not followed."""

    def __init__(self, parts: ZipParts, name: str) -> None:
        self._parts, self.name = parts, name
        self.root = parts.xml(name)
        folder, _, file = name.rpartition("/")
        self._targets: dict[str, tuple[str, str]] = dict(
            _targets(parts, f"{folder}/_rels/{file}.rels".lstrip("/"), folder)
        )

    def of_type(self, kind: str) -> "_Part | None":
        """The first part that this one relates to in a way."""
        return next((self.target(key) for key, (each, _) in self._targets.items() if each == kind), None)

    def target(self, identifier: str) -> "_Part | None":
        _, name = self._targets.get(identifier, ("", ""))
        return _Part(self._parts, name) if name in self._parts.names else None


def _targets(parts: ZipParts, name: str, folder: str) -> Iterator[tuple[str, tuple[str, str]]]:
    if name not in parts.names:
        return
    for each in parts.xml(name):
        if attribute(each, "TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, attribute(each, "Target"))).lstrip("/")
            yield attribute(each, "Id"), (attribute(each, "Type").rpartition("/")[2], target)


def read_docx(parts: ZipParts) -> tuple[str, tuple[Note, ...]]:
    """The text and what was left out. Raises UnreadableFile."""
    main = next(
        (name for _, (kind, name) in _targets(parts, "_rels/.rels", "") if kind == "officeDocument"),
        "word/document.xml",
    )
    if main not in parts.names:
        raise refuse("unreadable")
    return _Document(_Part(parts, main)).read()


class _Document:
    def __init__(self, part: _Part) -> None:
        self._part = part
        self._read: _Part | None = part
        """The part of what is being read; a note's is not kept."""
        styles, lists, settings = (part.of_type(kind) for kind in ("styles", "numbering", "settings"))
        self.styles = Styles(styles.root if styles else None)
        self.lists = Lists(lists.root if lists else None)
        self.settings = settings.root if settings else None
        self.changes = Changes()
        self.notes: dict[str, Mapping[str, Element]] = {}
        self.counted = 0
        """How many fields have counted by themselves."""
        paragraphs = part.root.iter(beside(part.root, "p"))
        ends = (*(child(each, "pPr", "sectPr") for each in paragraphs), child(part.root, "body", "sectPr"))
        self._sections = [each for each in ends if each is not None]
        self._section = 0
        """Place of the section that is being read."""
        self._numbers = {"footnote": 0, "endnote": 0}
        for kind in self._numbers:
            found = part.of_type(f"{kind}s")
            self.notes[kind] = {attribute(each, "id"): each for each in named(found.root if found else None, kind)}
            self._numbers[kind] = self._first(kind) - 1

    def read(self) -> tuple[str, tuple[Note, ...]]:
        body = child(self._part.root, "body")
        if body is None:
            raise refuse("unreadable")
        lines = _Story(self).read(body).finished()
        ends: dict[str, None] = {}
        for kind in ("header", "footer"):
            for part in self._shown_at_the_edge(kind):
                with self._within(part):
                    ends.setdefault("\n".join(_Story(self).read(part.root).finished()).strip())
        return "\n".join([*lines, *filter(None, ends)]), self.changes.notes()

    @contextmanager
    def _within(self, part: _Part | None) -> Iterator[None]:
        """What is read inside is of another part: its relationships are those of that one."""
        outer, self._read = self._read, part
        yield
        self._read = outer

    def words_of(self, drawing: Element) -> list[str]:
        """The lines of the diagram or chart that a drawing shows; none if it is a picture."""
        found = part_of(drawing)
        part = self._read.target(found) if found and self._read else None
        return list(words_of(part.root)) if part else []

    def _shown_at_the_edge(self, kind: str) -> Iterator[_Part]:
        """The headers or footers that some page shows."""
        even = bool(switch(self.settings, "evenAndOddHeaders"))
        for section in self._sections:
            first = bool(switch(section, "titlePg"))
            for reference in named(section, f"{kind}Reference"):
                shown = {"first": first, "even": even}.get(attribute(reference, "type"), True)
                part = self._part.target(attribute(reference, "id")) if shown else None
                if part is not None:
                    yield part

    def note(self, kind: str, identifier: str, mark: str = "") -> str:
        """A footnote or endnote with its number, or with a mark of its own; numbers are counted in the order of the
        text."""
        element = self.notes[kind].get(identifier)
        if element is None:
            return ""
        own = bool(mark)
        if not own:
            self._numbers[kind] += 1
            form = self._note_property(kind, "numFmt") or ("decimal" if kind == "footnote" else "lowerRoman")
            mark = numbered(self._numbers[kind], form)
        with self._within(None):
            text = _Story(self).read(element).one_line()
        if own:  # programs write it into the note, too
            text = text.removeprefix(mark).lstrip()
        return f"［{mark}: {text}］" if text else ""

    def section_ends(self) -> None:
        self._section += 1
        for kind in self._numbers:
            if self._note_property(kind, "numRestart") == "eachSect":
                self._numbers[kind] = self._first(kind) - 1

    def _first(self, kind: str) -> int:
        start = self._note_property(kind, "numStart") or ""
        return int(start) if start.isascii() and start.isdigit() and len(start) < _DIGITS else 1

    def _note_property(self, kind: str, name: str) -> str | None:
        own = next((value(each, f"{kind}Pr", name) for each in self._sections[self._section :]), None)
        return own if own is not None else value(self.settings, f"{kind}Pr", name)


class _Story:
    """Reads one run of paragraphs: the body, a cell, a note, a text box, a header."""

    def __init__(self, document: _Document, kinds: _Kinds = _NONE) -> None:
        self._document = document
        self._kinds = kinds
        self._lines = Lines()
        self._fields: list[bool] = []
        """For each open field, whether its result has begun: before that comes its code."""
        self._codes: list[str] = []
        """The code of each open field as far as it is read."""
        self._balanced = True
        self._style = ""
        self._handlers: Mapping[str, Callable[[Element, _Kinds], None]] = {
            "p": self._paragraph,
            "tbl": self._table,
            "r": self._run,
            "t": self._text,
            "delText": self._text,
            "sym": self._symbol,
            "symEx": self._symbol,
            "fldChar": self._field,
            "fldSimple": self._simple_field,
            "instrText": self._code,
            "footnoteReference": self._note,
            "endnoteReference": self._note,
            "commentReference": self._comment,
            "altChunk": self._embedded,
            "subDoc": self._embedded,
            "contentPart": self._embedded,
            **dict.fromkeys(EQUATIONS, self._equation),
            "AlternateContent": self._alternate,
            "drawing": self._shape,
            "pict": self._shape,
            "object": self._shape,
        }

    def read(self, element: Element) -> Lines:
        marks = [attribute(each, "fldCharType") for each in element.iter(beside(element, "fldChar"))]
        self._balanced = marks.count("begin") == marks.count("end")
        self._inside(element, self._kinds)
        return self._lines

    def _inside(self, element: Element, kinds: _Kinds) -> None:
        for each in element:
            name = local(each.tag) if isinstance(each.tag, str) else ""
            if name in _IGNORED or not name:
                continue
            if handler := self._handlers.get(name):
                handler(each, kinds)
            elif name in _CHARACTERS:
                self._write(_CHARACTERS[name], kinds)
            else:
                self._inside(each, kinds | {_CHANGES[name]} if name in _CHANGES else kinds)

    def _paragraph(self, element: Element, kinds: _Kinds) -> None:
        properties = child(element, "pPr")
        outer, self._style = self._style, value(properties, "pStyle") or self._document.styles.paragraph
        self._inside(element, kinds)
        mark = child(properties, "rPr")
        changed = {kind for name, kind in _CHANGES.items() if child(mark, name) is not None}
        ending = self._shown_as(mark, kinds | changed)
        self._document.changes.paragraph_ends(ending)
        if not ending & _LEFT_OUT:
            self._lines.end(self._list_mark(properties))
        self._style = outer
        if child(properties, "sectPr") is not None:
            self._document.section_ends()

    def _list_mark(self, properties: Element | None) -> str:
        document = self._document
        listed = document.styles.list_of(self._style)
        list_id, level = value(properties, "numPr", "numId"), value(properties, "numPr", "ilvl")
        if list_id is not None:
            return document.lists.mark(list_id, "", level)
        return document.lists.mark(listed[0], listed[1], level or listed[2]) if listed else ""

    def _shown_as(self, run: Element | None, kinds: _Kinds) -> _Kinds:
        """The kinds of a run, hidden if its own properties or its styles hide it."""
        styles = self._document.styles
        own = switch(run, "vanish", "specVanish")
        hidden = own if own is not None else styles.hidden(self._style) ^ styles.hidden(value(run, "rStyle") or "")
        return kinds | {"hidden"} if hidden else kinds

    def _run(self, element: Element, kinds: _Kinds) -> None:
        kinds = self._shown_as(child(element, "rPr"), kinds)
        for each in element:
            if local(str(each.tag)) in _REFERENCES and attribute(each, "customMarkFollows", "0") in _ON:
                own = "".join(text.text or "" for text in named(element, "t"))
                self._note(each, kinds, own.strip() or "*")
                return
        self._inside(element, kinds)

    def _write(self, text: str, kinds: _Kinds) -> None:
        if not text or (self._balanced and not all(self._fields)):
            return
        left_out = kinds & _LEFT_OUT
        # What was inserted and deleted again is one deletion.
        self._document.changes.seen(left_out or kinds)
        if not left_out:
            self._lines.write(text)

    def _text(self, element: Element, kinds: _Kinds) -> None:
        self._write(_BREAKS.sub(" ", element.text or ""), kinds)

    def _symbol(self, element: Element, kinds: _Kinds) -> None:
        code = attribute(element, "char")
        if _HEXADECIMAL.fullmatch(code):
            self._write(symbol_of(attribute(element, "font"), int(code, 16)), kinds)

    def _field(self, element: Element, kinds: _Kinds) -> None:
        if kinds & {"deletion", "moved_away"}:
            return
        kind = attribute(element, "fldCharType")
        if kind == "begin":
            self._write(_form_field(child(element, "ffData")), kinds)
            self._fields.append(False)
            self._codes.append("")
        elif self._fields and kind == "separate":
            self._fields[-1] = True
        elif self._fields and kind == "end":
            code = self._codes.pop()
            if not self._fields.pop():
                self._write_shown(code, kinds)

    def _simple_field(self, element: Element, kinds: _Kinds) -> None:
        if len(element):
            self._inside(element, kinds)
        else:
            self._write_shown(attribute(element, "instr"), kinds)

    def _code(self, element: Element, kinds: _Kinds) -> None:
        if self._codes and not self._fields[-1] and not kinds & {"deletion", "moved_away"}:
            self._codes[-1] += element.text or ""

    def _write_shown(self, code: str, kinds: _Kinds) -> None:
        """What Word shows for a field without a stored result."""
        document = self._document
        shown = shown_by(code, document.counted + 1)
        document.counted += shown.counts
        self._write(shown.text, kinds)

    def _note(self, element: Element, kinds: _Kinds, mark: str = "") -> None:
        if kinds & _LEFT_OUT:
            self._document.changes.seen(kinds & _LEFT_OUT)
            return
        kind = local(element.tag).removesuffix("Reference")
        self._write(self._document.note(kind, attribute(element, "id"), mark), kinds)

    def _embedded(self, element: Element, kinds: _Kinds) -> None:
        """Another document or drawing at this place; it is not read."""
        del element
        if not kinds & _LEFT_OUT:
            self._document.changes.add("embedded")

    def _equation(self, element: Element, kinds: _Kinds) -> None:
        for part in parts_in_line(element):
            if isinstance(part, str):
                self._write(part, kinds)
            else:
                self._inside(part, kinds)

    def _comment(self, element: Element, kinds: _Kinds) -> None:
        del element, kinds
        self._document.changes.add("comment")

    def _alternate(self, element: Element, kinds: _Kinds) -> None:
        """One of several forms of the same content: the first with a text box, else the first."""
        forms = [each for each in element if isinstance(each.tag, str)]
        boxed = (each for each in forms if any(local(str(one.tag)) == "txbxContent" for one in each.iter()))
        chosen = next(boxed, forms[0] if forms else None)
        if chosen is not None:
            self._inside(chosen, kinds)

    def _shape(self, element: Element, kinds: _Kinds) -> None:
        """A drawing: the text boxes in it, or else a picture."""
        if _is_unseen(element):
            kinds |= {"hidden"}
        written = [attribute(each, "string") for each in element.iter() if local(str(each.tag)) == "textpath"]
        if not kinds & _LEFT_OUT:
            self._lines.box(filter(None, written))
        boxes = list(_boxes(element))
        for box in boxes:
            self._lines.box(_Story(self._document, kinds).read(box).finished())
        words = self._document.words_of(element)
        if words:
            self._document.changes.seen(kinds & _LEFT_OUT)
            self._lines.box(() if kinds & _LEFT_OUT else words)
        elif not boxes and not kinds & _LEFT_OUT:
            names = {local(str(each.tag)) for each in element.iter()}
            if names & {"blip", "imagedata", "OLEObject", "chart", "relIds"}:
                self._document.changes.add("picture")

    def _table(self, element: Element, kinds: _Kinds) -> None:
        self._lines.break_off()
        for cells in self._rows(element, kinds):
            self._lines.row(cells)

    def _rows(self, table: Element, kinds: _Kinds) -> Iterator[list[str]]:
        for row, inner in _unwrapped(table, "tr", kinds):
            properties = child(row, "trPr")
            changed = {kind for name, kind in _CHANGES.items() if child(properties, name) is not None}
            hidden = {"hidden"} if switch(properties, "hidden") else set[str]()
            yield list(self._cells(row, inner | changed | hidden))

    def _cells(self, row: Element, kinds: _Kinds) -> Iterator[str]:
        for cell, inner in _unwrapped(row, "tc", kinds):
            properties = child(cell, "tcPr")
            merged = (child(properties, name) for name in ("vMerge", "hMerge"))
            if any(each is not None and attribute(each, "val", "continue") == "continue" for each in merged):
                continue
            gone = {"deletion"} if child(properties, "cellDel") is not None else set[str]()
            text = _Cell(self._document, inner | gone).read(cell).one_line()
            if not (inner | gone) & _LEFT_OUT:
                yield text


def _form_field(data: Element | None) -> str:
    """What a form field shows that has no text of its own: a box or the chosen entry of a list."""
    box, entries = child(data, "checkBox"), child(data, "ddList")
    if box is not None:
        checked = switch(box, "checked")
        return "☒" if (checked if checked is not None else switch(box, "default")) else "☐"
    texts = [attribute(each, "val") for each in named(entries, "listEntry")]
    chosen = value(entries, "result") or value(entries, "default") or "0"
    return texts[int(chosen)] if chosen.isdigit() and int(chosen) < len(texts) else ""


class _Cell(_Story):
    """A cell, whose tables are in its line."""

    def _table(self, element: Element, kinds: _Kinds) -> None:
        self._lines.break_off()
        self._lines.row(text for cells in self._rows(element, kinds) for text in cells if text)


def _unwrapped(element: Element, name: str, kinds: _Kinds) -> Iterator[tuple[Element, _Kinds]]:
    """The rows of a table or cells of a row, also within content controls."""
    for each in element:
        found = local(each.tag) if isinstance(each.tag, str) else ""
        if found == name:
            yield each, kinds
        elif found and found not in _IGNORED and found not in ("tr", "tc"):
            yield from _unwrapped(each, name, kinds | {_CHANGES[found]} if found in _CHANGES else kinds)


def _is_unseen(shape: Element) -> bool:
    """Whether a drawing was hidden: by its properties, or by the style of its only shape."""
    shapes = [each for each in shape.iter() if local(str(each.tag)) in ("docPr", "shape", "rect", "group")]
    hidden = [
        attribute(each, "hidden") in _ON or bool(_UNSEEN.search(attribute(each, "style"))) for each in shapes
    ]  # fmt: skip
    return bool(hidden) and hidden[0]


def _boxes(element: Element) -> Iterator[Element]:
    """The outermost text boxes of a drawing."""
    for each in element:
        name = local(each.tag) if isinstance(each.tag, str) else ""
        if name == "txbxContent":
            yield each
        elif name == "AlternateContent":
            forms = [list(_boxes(form)) for form in each]
            yield from next(filter(None, forms), [])
        elif name:
            yield from _boxes(each)

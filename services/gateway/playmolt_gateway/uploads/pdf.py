"""The text of a PDF with what its pages are: text, pictures, or pictures with recognised text under them."""

import io
import logging
import time
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from pypdf import PageObject, PasswordType, PdfReader
from pypdf.generic import DictionaryObject, PdfObject

from playmolt_gateway.uploads.document_text import symbol
from playmolt_gateway.uploads.outcome import PDF, FileText, Note, NoteKind, Question, refuse
from playmolt_gateway.uploads.page_ranges import page_numbers, written
from playmolt_gateway.uploads.pdf_annotations import EMPTY_BOX, Annotations, files_within, is_drawn_by_its_reader
from playmolt_gateway.uploads.pdf_fonts import Fonts, install

_PICTURE_SHARE: Final = 0.5
_PICTURE_CHARS: Final = 60
_BAD_SHARE: Final = 0.1
_COUNT_SECONDS: Final = 4.0
"""Processor time after which the rest of a text that is too long is not counted."""
_INVISIBLE: Final = (3, 7)
"""Text rendering modes without ink."""
_SHOWS: Final = (b"Tj", b"TJ", b"'", b'"')
_REPLACEMENT: Final = "\ufffd"
_STRIP_SHARE: Final = 0.05
"""Scans may be drawn in strips; smaller pictures cover no text."""
_FORMS: Final = 16
_BAD: Final = ("Cc", "Co", "Cs", "Cn")
_WHOLE: Final = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)

_Matrix = Sequence[float]


def read_pdf(content: bytes, question: Question) -> FileText:
    """Raises UnreadableFile."""
    logging.disable()  # a hostile file makes the library warn without end
    install()
    try:
        reader = PdfReader(io.BytesIO(content), strict=False)
    except NotImplementedError as error:  # encrypted for the certificates of its readers
        raise refuse("password", "pdf") from error
    if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
        raise refuse("password", "pdf")
    if is_drawn_by_its_reader(reader):
        raise refuse("unreadable_text")
    count = len(reader.pages)
    chosen = page_numbers(question.pages, count)
    pages = _Pages(reader, question)
    for number in chosen:
        pages.read(number)
    text, notes = pages.text(), pages.notes()
    if len(chosen) < count:
        notes = (*notes, Note("pages", len(chosen), f"{written(chosen)}/{count}"))
    return FileText(text, PDF, pages=count, notes=notes)


class _Pages:
    """The pages that are read, with what they are."""

    def __init__(self, reader: PdfReader, question: Question) -> None:
        self._reader, self._question = reader, question
        self._fonts = Fonts()
        self._annotations = Annotations()
        self._texts: list[str] = []
        self._chars = 0
        self._begun = time.process_time()
        self._worded = False
        """Whether a page has text and is not a picture."""
        self._pictures: list[int] = []
        self._recognised: list[int] = []
        self._unidentified = 0

    def read(self, number: int) -> None:
        page = self._reader.pages[number - 1]
        self._fonts.prepare(page)
        looked = _Look(page)
        text = page.extract_text(visitor_operand_before=looked.before, visitor_operand_after=looked.after).strip()
        shown = sum(not char.isspace() for char in text)
        if looked.pictured and shown < _PICTURE_CHARS:
            self._pictures.append(number)
        elif shown:
            self._worded = True
            if looked.pictured and looked.under > looked.over:
                self._recognised.append(number)
        written_on = self._annotations.lines(page)
        self._worded |= any(not line.endswith(EMPTY_BOX) for line in written_on)
        if text or written_on:
            self._texts.append("\n".join([*filter(None, [text]), *written_on]))
            self._chars += len(self._texts[-1])
        if self._chars > self._question.chars and time.process_time() - self._begun > _COUNT_SECONDS:
            raise refuse("too_large", "more_chars", count=self._question.chars, most=self._question.chars)

    def text(self) -> str:
        """The text of all pages, in which a letter that is not identified is U+FFFD."""
        if not self._worded:
            raise refuse("no_text", "pictures" if self._pictures else "")
        whole = "\n\n".join(self._texts)
        bad = sum(map(_bad, whole))
        if bad > _BAD_SHARE * sum(not char.isspace() for char in whole):
            raise refuse("unreadable_text")
        if bad:
            whole = "".join(_replaced(char) if _bad(char) else char for char in whole)
            self._unidentified = whole.count(_REPLACEMENT)
        return whole

    def notes(self) -> tuple[Note, ...]:
        listed: tuple[tuple[NoteKind, list[int]], ...] = (
            ("picture", self._pictures), ("recognised", self._recognised)
        )  # fmt: skip
        notes = [Note(kind, len(numbers), written(numbers)) for kind, numbers in listed if numbers]
        counted: tuple[tuple[NoteKind, int], ...] = (
            ("comment", self._annotations.comments),
            ("hidden", self._annotations.hidden),
            ("embedded", self._annotations.files + files_within(self._reader)),
            ("unidentified", self._unidentified),
        )
        return (*notes, *(Note(kind, count) for kind, count in counted if count))


@cache
def _bad(char: str) -> bool:
    """Whether a letter that was extracted is none."""
    return char == _REPLACEMENT or (unicodedata.category(char) in _BAD and not char.isspace())


def _replaced(char: str) -> str:
    return symbol(ord(char)) if "\uf020" <= char <= "\uf0ff" else _REPLACEMENT


class _Frame(NamedTuple):
    """A form that is being drawn: the operands that named it, its place on the page, its resources."""

    key: int
    matrix: _Matrix
    resources: DictionaryObject


class _Look:
    """Looks at what a page draws, beside pypdf's extraction."""

    def __init__(self, page: PageObject) -> None:
        box = page.cropbox
        self._area = abs(float(box.width) * float(box.height)) or 1.0
        self._frames = [_Frame(0, _WHOLE, _dictionary(page.get("/Resources")))]
        self._covered = 0.0
        self._modes = [0]
        self.over = 0
        """The length of what is written with ink and not under a picture."""
        self.under = 0

    @property
    def pictured(self) -> bool:
        return self._covered > _PICTURE_SHARE * self._area

    def before(self, operator: bytes, operands: Sequence[object], matrix: _Matrix, _: _Matrix) -> None:
        if operator in _SHOWS:
            length = sum(map(_length, operands))
            if self._modes[-1] in _INVISIBLE:
                self.under += length
            else:
                self.over += length
        elif operator == b"q":
            self._modes.append(self._modes[-1])
        elif operator == b"Q":
            self._modes[-1:] = [] if len(self._modes) > 1 else self._modes[-1:]
        elif operator == b"Tr" and operands and isinstance(operands[0], int):
            self._modes[-1] = int(operands[0])
        elif operator == b"INLINE IMAGE":
            self._image(matrix)
        elif operator == b"Do" and operands:
            self._draw(operands, matrix)

    def after(self, operator: bytes, operands: Sequence[object], *_: _Matrix) -> None:
        if operator != b"Do":
            return
        keys = [frame.key for frame in self._frames]
        if id(operands) in keys:
            del self._frames[keys.index(id(operands)) :]

    def _draw(self, operands: Sequence[object], matrix: _Matrix) -> None:
        frame = self._frames[-1]
        drawn = _dictionary(_dictionary(frame.resources.get("/XObject")).get(str(operands[0])))
        if drawn.get("/Subtype") == "/Image":
            # What is partly transparent, such as a stamp or watermark, covers nothing.
            if "/SMask" not in drawn and "/Mask" not in drawn:
                self._image(matrix)
        elif drawn.get("/Subtype") == "/Form" and len(self._frames) < _FORMS:
            own = [float(each) for each in drawn.get("/Matrix", _WHOLE)]
            place = _times(own, _times(matrix, frame.matrix)) if len(own) == len(_WHOLE) else frame.matrix
            resources = _dictionary(drawn.get("/Resources")) or frame.resources
            self._frames.append(_Frame(id(operands), place, resources))

    def _image(self, matrix: _Matrix) -> None:
        a, b, c, d, *_ = _times(matrix, self._frames[-1].matrix)
        covered = min(abs(a * d - b * c), self._area)
        self._covered += covered
        if covered > _STRIP_SHARE * self._area:
            self.under, self.over = self.under + self.over, 0


def _dictionary(found: object) -> DictionaryObject:
    inner = found.get_object() if isinstance(found, PdfObject) else None
    return inner if isinstance(inner, DictionaryObject) else DictionaryObject()


def _length(operand: object) -> int:
    if isinstance(operand, str | bytes):
        return len(operand)
    return sum(map(_length, operand)) if isinstance(operand, list) else 0


def _times(inner: _Matrix, outer: _Matrix) -> _Matrix:
    a, b, c, d, e, f = inner
    g, h, i, j, k, m = outer
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)

"""The text of a PDF with what its pages are: text, pictures, or pictures with recognised text under them."""

import io
import logging
import time
import unicodedata
from functools import cache
from typing import Final, cast

from pypdf import PageObject, PasswordType, PdfReader
from pypdf.generic import EncodedStreamObject, StreamObject

from playmolt_gateway.uploads.document_text import symbol
from playmolt_gateway.uploads.outcome import PDF, FileText, Note, NoteKind, ReaderOptions, refuse
from playmolt_gateway.uploads.page_content import PageContent, words_joined
from playmolt_gateway.uploads.page_ranges import page_numbers, written
from playmolt_gateway.uploads.pdf_annotations import (
    EMPTY_BOX,
    Annotations,
    files_within,
    is_drawn_by_its_reader,
    is_protected_within,
)
from playmolt_gateway.uploads.pdf_fonts import Fonts, install
from playmolt_gateway.uploads.pdf_layers import Layers

_PICTURE_CHARS: Final = 60
_BAD_SHARE: Final = 0.1
_COUNT_SECONDS: Final = 4.0
"""Processor time after which the rest of a text that is too long is not counted."""
_REPLACEMENT: Final = "\ufffd"
_ORIENTATIONS: Final = (0, 90, 180, 270)
_BAD: Final = ("Cc", "Co", "Cs", "Cn")


def read_pdf(content: bytes, question: ReaderOptions) -> FileText:
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
    if is_protected_within(reader):
        raise refuse("password", "pdf")
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

    def __init__(self, reader: PdfReader, question: ReaderOptions) -> None:
        self._reader, self._question = reader, question
        self._fonts = Fonts()
        self._layers = Layers(reader)
        self._annotations = Annotations(self._layers)
        self._texts: list[str] = []
        self._chars = 0
        self._begun = time.process_time()
        self._worded = False
        """Whether a page has text and is not a picture."""
        self._pictures: list[int] = []
        self._recognised: list[int] = []
        self._unidentified = 0
        self._hidden = 0

    def read(self, number: int) -> None:
        page = self._reader.pages[number - 1]
        self._fonts.prepare(page)
        looked = PageContent(page, self._layers)
        text = page.extract_text(visitor_operand_before=looked.before, visitor_operand_after=looked.after)
        text = words_joined(text).strip()
        self._hidden += looked.hidden
        shown = sum(not char.isspace() for char in text)
        if (looked.pictured and shown < _PICTURE_CHARS) or (looked.veiled and not shown):
            self._pictures.append(number)
        elif shown:
            self._worded = True
            if looked.pictured and looked.under > looked.over:
                self._recognised.append(number)
        written_on = self._annotations.lines(page, lambda form: self._drawn(page, form))
        self._worded |= any(not line.endswith(EMPTY_BOX) for line in written_on)
        if text or written_on:
            self._texts.append("\n".join([*filter(None, [text]), *written_on]))
            self._chars += len(self._texts[-1])
        if self._chars > self._question.chars and time.process_time() - self._begun > _COUNT_SECONDS:
            raise refuse("too_large", "more_chars", count=self._question.chars, most=self._question.chars)

    def _drawn(self, page: PageObject, form: StreamObject) -> str:
        """The text of an annotation's picture, in one line."""
        self._fonts.prepare(form)
        looked = PageContent(page, self._layers, form)
        text = page.extract_xform_text(
            cast("EncodedStreamObject", form),
            _ORIENTATIONS,
            visitor_operand_before=looked.before,
            visitor_operand_after=looked.after,
        )
        self._hidden += looked.hidden
        return " ".join(words_joined(text).split())

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
            ("hidden", self._annotations.hidden + self._hidden),
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

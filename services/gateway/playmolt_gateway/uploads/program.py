"""Reads a file from stdin, under the limits that the system has and without secrets.

The first line is the question, the rest the file's bytes. Prints one JSON object: the text, or why there is none.
"""

import os
import re
import sys
from typing import Final

import msgspec
from playmolt_schemas.process_limits import MemoryLimit, set_limits
from playmolt_schemas.text import composed_text

from playmolt_gateway.uploads.document_text import symbol
from playmolt_gateway.uploads.file_kinds import kind_of
from playmolt_gateway.uploads.outcome import (
    DOCX,
    HWPX,
    TEXT,
    FileText,
    Note,
    Outcome,
    ReaderOptions,
    Unread,
    UnreadableFile,
    refuse,
)
from playmolt_gateway.uploads.page_ranges import made_pages, page_numbers, written
from playmolt_gateway.uploads.zip_parts import ZipParts

CPU_SECONDS: Final = 8
MEMORY_BYTES: Final = 176 * 1024 * 1024
_SYMBOLS: Final = re.compile("[\uf020-\uf0ff]")
_UNSTORABLE: Final = re.compile("[\0-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_GAPS: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


def read(content: bytes, question: ReaderOptions) -> Outcome:
    """The text of a file within the bounds of the question, or why it is not read."""
    try:
        return _bounded(_extracted(content, question), question)
    except UnreadableFile as error:
        return error.unread
    except Exception:  # a hostile file may raise anything
        return Unread("unreadable")


def _extracted(content: bytes, question: ReaderOptions) -> FileText:
    kind = kind_of(content)
    if kind == "pdf":
        from playmolt_gateway.uploads.pdf import read_pdf  # noqa: PLC0415 -- only what this file needs is loaded

        return read_pdf(content, question)
    if kind == "text":
        from playmolt_gateway.uploads.encodings import read_text  # noqa: PLC0415 -- only what this file needs is loaded

        return read_text(content, question.encoding, TEXT)
    if kind == "docx":
        from playmolt_gateway.uploads.docx import read_docx as read_document  # noqa: PLC0415 -- only what this file needs is loaded
    else:
        from playmolt_gateway.uploads.hwpx import read_hwpx as read_document  # noqa: PLC0415 -- only what this file needs is loaded
    text, notes = read_document(ZipParts(content))
    text = _GAPS.sub("\n\n", _SYMBOLS.sub(lambda found: symbol(ord(found[0])), text))
    return FileText(text.strip(), DOCX if kind == "docx" else HWPX, notes=notes)


def _bounded(found: FileText, question: ReaderOptions) -> FileText:
    """The text as it is stored: composed, without what a database cannot hold, and not too long."""
    text = composed_text(_UNSTORABLE.sub(" ", found.text))
    notes = found.notes
    if question.pages and found.pages is None:
        pages = made_pages(text)
        chosen = page_numbers(question.pages, len(pages))
        text = "".join(pages[number - 1] for number in chosen)
        if len(chosen) < len(pages):
            notes = (*notes, Note("pages", len(chosen), f"{written(chosen)}/{len(pages)}"))
    if not _shows(text):
        kinds = {note.kind for note in notes}
        why = next((why for kind, why in (("picture", "pictures"), ("embedded", "embedded")) if kind in kinds), "")
        raise refuse("empty" if found.media_type == TEXT else "no_text", why)
    if len(text) > question.chars:
        raise refuse("too_large", "chars", count=len(text), most=question.chars)
    if (length := len(msgspec.json.encode(text))) > question.text_bytes:
        raise refuse("too_large", "text_bytes", count=length, most=question.text_bytes)
    return msgspec.structs.replace(found, text=text, notes=notes)


def _shows(text: str) -> bool:
    return any(char.isprintable() and not char.isspace() for char in text)


def main() -> None:
    set_limits({"RLIMIT_CPU": (CPU_SECONDS, CPU_SECONDS + 1), "RLIMIT_FSIZE": (0, 0), "RLIMIT_CORE": (0, 0)})
    memory = MemoryLimit(MEMORY_BYTES, lambda: os._exit(1))
    question = msgspec.json.decode(sys.stdin.buffer.readline(), type=ReaderOptions)
    outcome = read(sys.stdin.buffer.read(), question)
    memory.check()
    sys.stdout.buffer.write(msgspec.json.encode(outcome))


if __name__ == "__main__":
    main()

"""What the confined reader answers: the text of a file with what was left out, or why it cannot be read."""

from typing import Final, Literal

import msgspec

Reason = Literal[
    "password", "unreadable_text", "no_text", "format", "encoding", "too_large", "unreadable", "empty", "pages"
]
NoteKind = Literal[
    "picture", "recognised", "insertion", "deletion", "moved", "comment", "hidden", "embedded", "unidentified", "pages",
    "type", "extension",
]  # fmt: skip

PDF: Final = "application/pdf"
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
HWPX: Final = "application/hwp+zip"
TEXT: Final = "text/plain"


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that a reader of the text has to know, and how often it occurs; `detail` names pages or a type."""

    kind: NoteKind
    count: int
    detail: str = ""


class ReaderOptions(msgspec.Struct, frozen=True):
    """What is asked of the reader beside the file's bytes. `chars` and `text_bytes` bound the text."""

    chars: int
    text_bytes: int
    encoding: str = ""
    pages: str = ""


class FileText(msgspec.Struct, frozen=True, tag="text", forbid_unknown_fields=True):
    """The text of a file. `pages` is the number of pages of a PDF, `encoding` and `sure` belong to texts."""

    text: str
    media_type: str
    pages: int | None = None
    encoding: str | None = None
    sure: float | None = None
    notes: tuple[Note, ...] = ()


class Unread(msgspec.Struct, frozen=True, tag="unread", forbid_unknown_fields=True):
    """Why a file is not read. What the fields mean depends on the reason.

    `name` is the format, the guessed encoding or what is too large; `count` how much there is, `most` the limit and
    `line` the first line under the guessed encoding.
    """

    reason: Reason
    name: str = ""
    count: int = 0
    most: int = 0
    line: str = ""


Outcome = FileText | Unread


class UnreadableFile(Exception):
    """Ends the reading of a file."""

    def __init__(self, unread: Unread) -> None:
        super().__init__(unread.reason)
        self.unread = unread


def refuse(reason: Reason, name: str = "", *, count: int = 0, most: int = 0, line: str = "") -> UnreadableFile:
    return UnreadableFile(Unread(reason, name, count, most, line))

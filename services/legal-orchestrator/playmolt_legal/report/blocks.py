"""The blocks of a section, and the marks on unverified citations."""

import re
from collections.abc import Iterable

import msgspec
from playmolt_schemas.stored.legal import Citation


class ReportLine(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence; `refs` are the ids it rests on, `anchor` the id it defines; `listed` is one among others like it."""

    text: str
    refs: tuple[str, ...] = ()
    anchor: str = ""
    listed: bool = True


class Heading(msgspec.Struct, frozen=True):
    """The subject of the lines that follow."""

    text: str


Cell = tuple[ReportLine, ...]


class ReportTable(msgspec.Struct, frozen=True):
    """Rows of cells, their heading first; `widths` are shares of the page."""

    rows: tuple[tuple[Cell, ...], ...]
    widths: tuple[int, ...]


Block = ReportLine | Heading | ReportTable


def _whole(text: str) -> str:
    """Matches a text that is not part of a longer one: Article 75 does not match in Article 750."""
    before = r"(?<!\d)" if text[0].isdigit() else r"(?<!\w)" if text[0].isalnum() else ""
    after = r"(?!-?\d)" if text[-1].isdigit() else r"(?![A-Za-z0-9]|\s?의\s?\d)"
    return f"{before}{re.escape(text)}{after}"


class Marker:
    """Appends a label to each of the given texts; if they overlap, only to the longest."""

    def __init__(self, unverified: Iterable[str], label: str) -> None:
        longest_first = sorted(set(unverified), key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(_whole, longest_first))) if longest_first else None
        self._label = label

    def marked(self, text: str) -> str:
        """Mark a text."""
        return self._pattern.sub(lambda match: self._with_label(match[0]), text) if self._pattern else text

    def cited(self, citation: Citation) -> str:
        """Mark a citation as a whole if no part of it is marked."""
        marked = self.marked(citation.text)
        return self._with_label(marked) if citation.unverified and marked == citation.text else marked

    def _with_label(self, text: str) -> str:
        return f"{text} ({self._label})"

"""Sentences and quotations in Korean, English and Chinese text."""

import re
from typing import Final

from playmolt_legal.guardrails.tables import TABLES

_END: Final = re.compile(r"(?<=[.!?。？！…])[\"”’')\]]*\s+|(?<=[。？！])[”’」』）]*(?=[^\s”’」』）])|\n+")
_GOES_ON: Final = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|Art|Sec|No|vs?|Inc|Ltd|Co|U\.S|cf|e\.g|i\.e)|\b\d{1,4}|\b[A-Z])\.$"
)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\.$")
_NUMBERED: Final = re.compile(rf"\b(?:no|nos|art|sec|{'|'.join(TABLES.months_short)})\.$", re.IGNORECASE)
"""Abbreviations that do not end a sentence before a number."""
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{0,500}\"|“[^”\n]{0,500}”|‘[^’\n]{0,500}’|「[^」\n]{0,500}」|『[^』\n]{0,500}』|«[^»\n]{0,500}»"
    r"|(?<![A-Za-z가-힣0-9])'[^'\n]{1,500}'(?![A-Za-z])"
)
_ABBREVIATED: Final = 16
"""Characters before a full stop that decide whether it ends an abbreviation."""


def sentences(text: str) -> list[str]:
    """Split a text; `Mr.`, `Jan. 5`, `2024. 3. 5.` and initials end no sentence."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        piece = text[start : match.end()].strip()
        if "\n" not in match[0] and _goes_on(text, match):
            continue
        if piece:
            found.append(piece)
        start = match.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def _goes_on(text: str, end: re.Match[str]) -> bool:
    before = text[max(0, end.start() - _ABBREVIATED) : end.start()]
    following = text[end.end() : end.end() + 1]
    if following.isascii() and following.isupper() and _YEAR.search(before):
        return False
    return _GOES_ON.search(before) is not None or (following.isdigit() and _NUMBERED.search(before) is not None)


def unquoted(text: str) -> str:
    """Blanks out quoted text; positions stay the same."""
    return _QUOTED.sub(lambda match: " " * len(match[0]), text)


def asks(sentence: str) -> bool:
    return sentence.rstrip("\"”’')] ").endswith(("?", "？"))

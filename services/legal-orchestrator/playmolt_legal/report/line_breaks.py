"""Where a line of text may end: behind a word, in Chinese and Japanese behind any sign that may end or begin a line."""

import re
from collections.abc import Callable, Iterator
from typing import Final

_HAN: Final = "\u2e80-\u2fff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60"
_OPENING: Final = "（《〈「『【〔［｛“‘"
_CLOSING: Final = "、。，．：；？！）》〉」』】〕］｝”’…—·％"
_COUNTED: Final = "年月日号元条款项万亿个"
"""What stays with the number before it."""
_UNIT: Final = re.compile(rf"[{_OPENING}]*(?:[^\s{_HAN}{_OPENING}{_CLOSING}]+[{_COUNTED}]?|[{_HAN}])?[{_CLOSING}]*\s*")


def wrapped(text: str, width: float, wide: Callable[[str], float]) -> list[str]:
    """The lines of a text; a word longer than a line is broken."""
    return [line for part in text.split("\n") for line in _lines(part, width, wide)]


def _lines(text: str, width: float, wide: Callable[[str], float]) -> Iterator[str]:
    line = ""
    for unit in _UNIT.findall(text):
        if wide((line + unit).rstrip()) <= width:
            line += unit
            continue
        if line:
            yield line.rstrip()
        *whole, line = _cut(unit, width, wide)
        yield from whole
    yield line.rstrip()


def _cut(word: str, width: float, wide: Callable[[str], float]) -> list[str]:
    """A word in pieces that fit on a line each; most are one piece."""
    pieces, piece = [], ""
    for char in word:
        if piece and wide((piece + char).rstrip()) > width:
            pieces.append(piece)
            piece = ""
        piece += char
    return [*pieces, piece]

"""Runs of a text, each in one script, and the shipped fonts that draw them."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

import pylopdf_fonts_ko
import pylopdf_fonts_zh_cn
from fontTools import ttLib

FontName = Literal["ko", "zh"]
"""The fonts, by the language that they are made for; each has Latin letters, too."""
_PATHS: Final[Mapping[FontName, str]] = {
    "ko": str(pylopdf_fonts_ko.sans_path()),
    "zh": str(pylopdf_fonts_zh_cn.sans_path()),
}
_HANGUL: Final = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc"
_HAN: Final = "\u2e80-\u2fdf\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SCRIPTS: Final = re.compile(f"(?P<hangul>[{_HANGUL}]+)|(?P<han>[{_HAN}]+)")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_SEEN_FORMATS: Final = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")
"""Signs that enclose the numbers behind them: of an invisible category, yet visible."""
_VARIANTS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")


class Run(NamedTuple):
    font: FontName
    text: str


def font_of(language: str) -> FontName:
    """The font of most of a report in a language."""
    return "zh" if language == "zh" else "ko"


def runs(text: str, base: FontName) -> Iterator[Run]:
    """The runs of a text. `base` draws what both fonts have, so that a name is never drawn in two of them."""
    before: Run | None = None
    for piece in _pieces(text, base):
        if before and before.font == piece.font:
            before = Run(before.font, before.text + piece.text)
            continue
        if before:
            yield before
        before = piece
    if before:
        yield before


def _pieces(text: str, base: FontName) -> Iterator[Run]:
    place = 0
    for match in _SCRIPTS.finditer(text):
        yield from _drawable(text[place : match.start()], base)
        yield from _drawable(match[0], "ko" if match["hangul"] else base)
        place = match.end()
    yield from _drawable(text[place:], base)


@lru_cache(maxsize=8192)
def _drawable(text: str, wanted: FontName) -> tuple[Run, ...]:
    """The text in the wanted font, or as a whole in the other, or character by character in whichever has it."""
    other: FontName = "ko" if wanted == "zh" else "zh"
    if not text:
        return ()
    if _has_all(wanted, text):
        return (Run(wanted, text),)
    if _SCRIPTS.fullmatch(text) and _has_all(other, text):
        return (Run(other, text),)
    return tuple(Run(other if not _has(wanted, char) and _has(other, char) else wanted, char) for char in text)


def drawn(char: str) -> bool:
    """Whether a shipped font has a picture of a character, or it needs none."""
    return any(_has(font, char) for font in _PATHS)


def _has_all(font: FontName, text: str) -> bool:
    return all(_has(font, char) for char in set(text))


def _has(font: FontName, char: str) -> bool:
    # Both have ASCII. A font's characters are read when the first text needs them.
    return char.isascii() or ord(char) in _characters(font) or _unseen(char)


@lru_cache(maxsize=4096)
def _unseen(char: str) -> bool:
    return bool(_VARIANTS.match(char)) or (unicodedata.category(char) in _UNSEEN and not _SEEN_FORMATS.match(char))


@cache
def _characters(font: FontName) -> frozenset[int]:
    with ttLib.TTFont(_PATHS[font], lazy=True) as opened:
        return frozenset(opened.getBestCmap())


def path(font: FontName) -> str:
    """The file of a font."""
    return _PATHS[font]

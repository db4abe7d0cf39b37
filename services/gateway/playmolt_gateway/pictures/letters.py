"""Letters of a picture: what a person sees as one, where a line may break, and what the shipped fonts can draw.

A PNG is drawn with the shipped fonts alone, so that it looks the same on every machine. Text in scripts that they lack
is replaced by a reading in Latin letters, made of the Unicode names: `ส` (THAI CHARACTER SO SUA) is `s`, `👍` is
`:thumbs up sign:`. A reading does not translate; it keeps two names apart where boxes would not.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

from fontTools import ttLib

FONT_FILES: Final = (
    str(files("pylopdf_fonts_ko").joinpath("NotoSansKR-Regular.otf")),
    str(files("pylopdf_fonts_zh_cn").joinpath("NotoSansSC-Regular.otf")),
)
"""They cover Latin, Cyrillic, Greek, Hangul, Kana and Han."""
OPENING: Final = frozenset("（《〈「『【〔［｛“‘([{«¿¡")
"""A line does not end with these."""
CLOSING: Final = frozenset("、。，．：；？！）》〉」』】〕］｝”’…—·％,.:;?!)]}»%ー々")
"""A line does not begin with these."""
_JOINER: Final = "\u200d"
_EXTENDING: Final = ("Mn", "Me", "Mc")
_MODIFIERS: Final = re.compile("[\u200c\u200d\ufe00-\ufe0f\u0e33\u0eb3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_FLAG: Final = re.compile("[\U0001f1e6-\U0001f1ff]")
_LEADING: Final = re.compile("[\u1100-\u115f\ua960-\ua97c]")
_JAMO: Final = re.compile("[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]")
_INVISIBLE: Final = ("Cf", "Cc", "Zs", "Zl", "Zp")
_NAME: Final = re.compile(r".*\b(?:LETTER|CHARACTER|SYLLABLE|VOWEL SIGN|SIGN|DIGIT)\b (?:FINAL |SMALL |CAPITAL )?(.+)")
_SHORT: Final = 2
_PARTS: Final = ("sara", "mai")
"""Thai vowels and marks."""


def graphemes(text: str) -> Iterator[str]:
    """What a person sees as one letter: never cut inside."""
    found = ""
    for letter in text:
        if found and not _joins(found, letter):
            yield found
            found = ""
        found += letter
    if found:
        yield found


def _joins(before: str, letter: str) -> bool:
    if unicodedata.category(letter) in _EXTENDING or _MODIFIERS.match(letter) or before.endswith(_JOINER):
        return True
    if _FLAG.match(letter):
        return len(before) == 1 and bool(_FLAG.match(before))
    return bool(_JAMO.match(letter) and not _LEADING.match(letter) and _JAMO.match(before[-1])) or bool(
        _LEADING.match(letter) and _LEADING.match(before[-1])
    )


def legible(value: Any) -> Any:
    """A state whose texts the shipped fonts can draw; its ids and numbers are as they were."""
    if isinstance(value, str):
        return legible_text(value)
    if isinstance(value, Mapping):
        return {name: legible(one) for name, one in value.items()}
    return [legible(one) for one in value] if isinstance(value, Sequence) else value


def legible_text(text: str) -> str:
    """The text, with a reading in place of each part that no shipped font can draw."""
    if all(map(_is_drawn, text)):
        return text
    parts = ((drawn, "".join(part)) for drawn, part in groupby(graphemes(text), lambda one: all(map(_is_drawn, one))))
    return "".join(part if drawn else _reading(part) for drawn, part in parts)


def _is_drawn(letter: str) -> bool:
    common = letter < "\u0250" or "가" <= letter <= "힣"
    return common or unicodedata.category(letter) in _INVISIBLE or ord(letter) in _covered()


@cache
def _covered() -> frozenset[int]:
    """Read when the first text needs it: two fonts have 60,000 letters."""
    found: set[int] = set()
    for path in FONT_FILES:
        with ttLib.TTFont(path, lazy=True) as font:
            found |= font.getBestCmap().keys()
    return frozenset(found)


@lru_cache(maxsize=4096)
def _reading(text: str) -> str:
    return "".join(map(_read, text))


@lru_cache(maxsize=4096)
def _read(letter: str) -> str:
    kind, base = unicodedata.category(letter), unicodedata.normalize("NFD", letter)[0]
    if kind in _INVISIBLE or (_MODIFIERS.match(letter) and kind[0] != "L"):
        return ""
    if _is_drawn(base):
        return base
    if _FLAG.match(letter):
        return chr(ord(letter) - 0x1F1E6 + ord("A"))
    name = unicodedata.name(letter, "")
    if kind[0] in "LMN" and name:
        return _sound(name, is_mark=kind[0] == "M")
    return f":{name.lower()}:" if name else f"U+{ord(letter):04X}"


def _sound(name: str, *, is_mark: bool) -> str:
    """The first sound of a letter by its Unicode name; "" for marks that change no sound that one could write."""
    named = _NAME.fullmatch(name)
    if named is None or (is_mark and " SIGN " in name and "VOWEL" not in name):
        return ""
    words = named[1].replace("-", " ").lower().split()
    if words[0] in _PARTS and len(words) > 1:
        return words[1] if words[0] == "sara" else "a" if words[1] == "han" else ""
    # Thai and Lao consonants are named by a syllable, such as NGO NGU.
    sound = words[0].rstrip("o") if name.startswith(("THAI", "LAO")) else words[0]
    return sound if len(sound) <= _SHORT else sound[0]

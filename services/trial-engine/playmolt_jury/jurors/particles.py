"""Korean particles have two forms; which one follows from how the word before them ends."""

import re
from typing import Final

_AFTER_VOWEL: Final = {"을": "를", "이": "가", "이군요": "군요"}
_HANGUL: Final = range(0xAC00, 0xD7A4)
_FINALS: Final = 28
_DIGITS_ON_A_VOWEL: Final = "2459"


def named(line: str, field: str, quoted: str) -> str:
    """Puts a quoted title for the field, and the particle behind it into the form that the title asks for."""
    after = "|".join(sorted(_AFTER_VOWEL, key=len, reverse=True))
    open_ended = _ends_on_a_vowel(quoted)

    def put(found: re.Match[str]) -> str:
        particle = found[1] or ""
        return quoted + (_AFTER_VOWEL[particle] if particle and open_ended else particle)

    return re.sub(rf"{re.escape(field)}({after})?", put, line)


def _ends_on_a_vowel(text: str) -> bool:
    last = next((char for char in reversed(text) if char.isalnum()), "")
    if last and ord(last) in _HANGUL:
        return (ord(last) - _HANGUL.start) % _FINALS == 0
    return last in _DIGITS_ON_A_VOWEL if last else False

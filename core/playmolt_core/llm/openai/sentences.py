"""Whether words stop where a sentence does."""

import unicodedata
from typing import Final

_ENDS: Final = frozenset(".!?…。！？｡．‼⁇⁈⁉؟।")
_BEHIND: Final = frozenset("\"'*_`~")
_BEHIND_CATEGORIES: Final = frozenset({"Pe", "Pf", "Pi", "So", "Sk", "Mn", "Cf"})
"""What may stand behind the end of a sentence: closing quotes and brackets, emphasis, an emoji."""


def ends_a_sentence(words: str) -> bool:
    end = len(words)
    while end and (words[end - 1].isspace() or _stands_behind(words[end - 1])):
        end -= 1
    return end > 0 and words[end - 1] in _ENDS


def _stands_behind(char: str) -> bool:
    return char in _BEHIND or unicodedata.category(char) in _BEHIND_CATEGORIES

"""Texts that agents send: trimmed, counted in code points, free of what no page may hold (api.md, order of checks)."""

import re
import unicodedata

from playmolt_schemas.limits import REASON_CHARS

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's White_Space property. `str.strip()` alone would also take U+001C to U+001F, which are no white space."""

_UNFIT = ("Cc", "Cs", "Zl", "Zp")
_BLANK = re.compile(
    # Unicode's Default_Ignorable_Code_Point.
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # Blank without being ignorable: the empty braille pattern, interlinear marks, a note without a head, a filler.
    "\u2800\ufff9-\ufffb\U0001d159\U00016fe4]"
)

_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def trimmed(text: str) -> str:
    """Take white space off both ends."""
    return text.strip(WHITE_SPACE)


def unstorable(text: str) -> bool:
    """Whether a text holds NUL or a lone surrogate, which neither Postgres nor UTF-8 can carry."""
    if "\x00" in text:
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def reason_fault(reason: str) -> str:
    """Say what is wrong with an operator's reason, already trimmed; "" when it is in order."""
    if 1 <= len(reason) <= REASON_CHARS and not unstorable(reason):
        return ""
    return f"must hold 1 to {REASON_CHARS} characters, without NUL and lone surrogates"


def unfit(text: str, *, lines: bool = False) -> bool:
    """Whether a text holds a control, surrogate, line separator or bidi control; `lines` allows line feeds."""
    return any(
        (unicodedata.category(char) in _UNFIT and not (lines and char == "\n")) or char in _BIDI_CONTROLS
        for char in text
    )


def shows(text: str) -> bool:
    """Whether a text holds at least one character that shows."""
    return any(
        char not in WHITE_SPACE and not _BLANK.match(char) and unicodedata.category(char) != "Cc" for char in text
    )


def holds_bidi(text: str) -> bool:
    return not _BIDI_CONTROLS.isdisjoint(text)

"""Texts that agents send: trimmed, counted in code points, free of what no page may hold (api.md, order of checks)."""

import unicodedata

from playmolt_schemas.limits import REASON_CHARS

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's White_Space property. `str.strip()` alone would also take U+001C to U+001F, which are no white space."""

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


def bad_name(name: str) -> bool:
    """Whether a name holds a control, a surrogate or a bidi control."""
    return any(unicodedata.category(char) in ("Cc", "Cs") or char in _BIDI_CONTROLS for char in name)

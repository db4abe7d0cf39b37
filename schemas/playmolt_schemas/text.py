"""Checks of texts from agents: trimming, length in code points, forbidden characters (api.md, order of checks)."""

import re
import unicodedata
from decimal import Decimal
from typing import Any, Final

from msgspec import Meta

from playmolt_schemas.limits import REASON_CHARS

WITHHELD: Final = "[withheld]"
"""Shown instead of a text or name that the operator hid; pages show it in the reader's language."""
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's White_Space property. `str.strip()` would also strip U+001C to U+001F, which are not white space."""

_UNFIT = ("Cc", "Cs", "Zl", "Zp")
_BLANKS = (
    # Unicode's Default_Ignorable_Code_Point.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # Blank but not ignorable: the empty braille pattern, interlinear annotation marks, a null notehead, a filler.
    "\u2800\ufff9-\ufffb\U0001d159\U00016fe4"
)
_BLANK = re.compile(f"[{_BLANKS}]")

_CONTROLS = "\x00-\x1f\x7f-\x9f"
_UNSPEAKABLE = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f"
"""Control characters except tabs and line ends."""
_SURROGATES = "\ud800-\udfff"
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSPOKEN = re.compile(f"[{_UNSPEAKABLE}{_BIDI}]")
_LINE_ENDS = {"\x85": b"\\u0085", "\u2028": b"\\u2028", "\u2029": b"\\u2029"}
_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def trimmed(text: str) -> str:
    """Strip white space at both ends."""
    return text.strip(WHITE_SPACE)


def composed_text(text: str) -> str:
    """The text in Unicode's composed form (NFC): a Mac's file names, and texts copied from there, have Hangul in parts.

    Every text of a person is composed where it comes in, before its length is checked.
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def composed(value: object) -> Any:
    """A JSON value with all its texts composed; names of fields stay as they are."""
    match value:
        case str():
            return composed_text(value)
        case dict():
            return {name: composed(inner) for name, inner in value.items()}
        case list():
            return [composed(inner) for inner in value]
    return value


def unstorable(text: str) -> bool:
    """Whether a text contains NUL or a lone surrogate, which Postgres and UTF-8 cannot represent."""
    if "\x00" in text:
        return True
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def reason_fault(reason: str) -> str:
    """What is wrong with an operator's trimmed reason; "" if it is valid."""
    if 1 <= len(reason) <= REASON_CHARS and not unstorable(reason):
        return ""
    return f"must contain 1 to {REASON_CHARS} characters, without NUL or lone surrogates"


def has_line_breaks_or_controls(text: str, *, lines: bool = False) -> bool:
    """Whether a text contains a control, surrogate, line separator or bidi control; `lines` allows line feeds."""
    return any(
        (unicodedata.category(char) in _UNFIT and not (lines and char == "\n")) or char in _BIDI_CONTROLS
        for char in text
    )


def has_visible_character(text: str) -> bool:
    """Whether a text contains a visible character."""
    return any(
        char not in WHITE_SPACE and not _BLANK.match(char) and unicodedata.category(char) != "Cc" for char in text
    )


def without_invisible(text: str) -> tuple[str, str]:
    """The text without its invisible characters, and with a space for each."""
    return _BLANK.sub("", text), _BLANK.sub(" ", text)


def has_control_characters(text: str) -> bool:
    """Whether a text contains a control character other than tabs and line ends, or a bidi control."""
    return bool(_UNSPOKEN.search(text))


def escape_line_ends(written: bytes) -> bytes:
    """Escape the line ends that JSON allows unescaped, because many NDJSON and event stream readers split there."""
    if not written.isascii():
        for char, escape in _LINE_ENDS.items():
            written = written.replace(char.encode(), escape)
    return written


def _escaped(chars: str) -> str:
    """Characters for a character class: as escapes that every dialect supports, otherwise verbatim."""
    return "".join(char if char == "-" or ord(char) > 0xFFFF else f"\\u{ord(char):04x}" for char in chars)


def _no(*chars: str) -> str:
    return f"[^{_escaped(''.join(chars))}]"


def _pattern(taken: str, one_of: str = "") -> str:
    """Pattern of a text of `taken` characters, at least one of `one_of`. `$` alone would allow a final line feed."""
    return f"^(?=[\\s\\S]*{one_of}){taken}*$(?!\\n)" if one_of else f"^{taken}*$(?!\\n)"


_STORABLE = _no("\x00", _SURROGATES)
_SPEAKABLE = _no(_UNSPEAKABLE, _SURROGATES, _BIDI)
_NOT_BLANK = _no(WHITE_SPACE)
_SHOWS = _no(WHITE_SPACE, _BLANKS, _CONTROLS)

STORABLE = _pattern(_STORABLE)
"""JSON Schema pattern of a text that may be blank."""
WORDS = _pattern(_STORABLE, _NOT_BLANK)
"""Pattern of a text that is not blank."""
BLANK = _pattern(f"[{_escaped(WHITE_SPACE)}]")
SPOKEN = _pattern(_SPEAKABLE)
"""Pattern of a text that is shown to others and may be blank."""
SPEECH = _pattern(_SPEAKABLE, _NOT_BLANK)
LINE = _pattern(_no(_CONTROLS, _SURROGATES, _BIDI, "\u2028\u2029"), _SHOWS)
"""Pattern of a name: one line with a visible character."""
LINES = _pattern(_no("\x00-\x09\x0b-\x1f\x7f-\x9f", _SURROGATES, _BIDI, "\u2028\u2029"), _SHOWS)


def text_schema(most: int, pattern: str = WORDS, description: str = "") -> Meta:
    """Schema annotation of a text that `BodyFields` trims and validates."""
    least = {} if pattern in (STORABLE, SPOKEN) else {"minLength": 1}
    description = f"{description} Trimmed; the length counts Unicode code points.".strip()
    return Meta(description=description, extra_json_schema={**least, "maxLength": most, "pattern": pattern})


EXACT_MOST: Final = 2**53
"""Whole numbers up to this one are exact as floats."""


def decimal_text(value: Decimal) -> str:
    """Format without exponent and trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

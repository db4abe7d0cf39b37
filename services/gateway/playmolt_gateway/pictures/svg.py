"""SVG as values. Text of agents is escaped and clipped to its place."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

import msgspec

from playmolt_gateway.pictures.letters import CLOSING, OPENING, graphemes

_MARKS_AT_MOST: Final = 2
"""The maximum of combining marks per letter; more would cover the line above."""
_RIGHT_TO_LEFT: Final = frozenset({"R", "AL", "RLE", "RLO", "RLI"})
_WIDE: Final = frozenset("WF")
_LONGEST: Final = 24
_ELLIPSIS: Final = "…"
_BOLD: Final = 0.88
_WIDTHS: Final = (("iljI .,:;'|!", 0.34), ("ftr()[]-/\\", 0.42), ("mwMW@%", 1.0))
"""Character widths that differ from the usual, measured in the widest common font; the reader's font is unknown."""
_UPPER: Final = 0.78
_LOWER: Final = 0.62
_FOREIGN: Final = 0.7


class Node(msgspec.Struct, frozen=True):
    """An element. Attributes are written unchanged, with `_` for `-`."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple["Node | str", ...]

    def markup(self) -> str:
        attributes = "".join(f' {name}="{escape(value)}"' for name, value in self.attributes)
        inner = "".join(child.markup() if isinstance(child, Node) else escape(child) for child in self.children)
        return f"<{self.tag}{attributes}>{inner}</{self.tag}>"


Child = Node | str | None | Iterable["Node | None"]


def node(tag: str, *children: Child, **attributes: str | float | None) -> Node:
    """Make an element; attributes and children that are None are left out. `class_` is `class`."""
    given = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    flat: list[Node | str] = []
    for child in children:
        if isinstance(child, Node | str):
            flat.append(child)
        elif child is not None:
            flat += [one for one in child if one is not None]
    return Node(tag, tuple((name, _written(value)) for name, value in given if value is not None), tuple(flat))


def _written(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def group(*children: Child, x: float = 0, y: float = 0, **attributes: str | float | None) -> Node:
    """A group at a position. With a `data_key` it keeps its identity between versions and moves."""
    return node("g", *children, transform=f"translate({x:g} {y:g})", **attributes)


def label(text: str, x: float, y: float, size: float, *, width: float, **attributes: str | float | None) -> Node:
    """A line of text of limited width. Bidi isolation keeps one text from reordering others."""
    return node("text", shortened(text, size, _room(width, attributes)), x=x, y=y, font_size=size, **attributes)


def paragraph(
    text: str, x: float, y: float, size: float, *, width: float, lines: int, **attributes: str | float | None
) -> list[Node]:
    """Lines of text, truncated with an ellipsis."""
    return [
        label(line, x, y + place * size * 1.32, size, width=width, **attributes)
        for place, line in enumerate(wrapped(text, size, _room(width, attributes), lines))
    ]


def _room(width: float, attributes: Mapping[str, object]) -> float:
    """The width available to bold text, which is wider than measured."""
    return width * _BOLD if "p-bold" in str(attributes.get("class_")) else width


def fitted(text: str, size: float, width: float, *, least: float) -> float:
    """The font size at which a bold line fits, down to the smallest readable one."""
    room = width * _BOLD * 0.99  # what is computed to fit must not be cut for a rounding
    return max(least, min(size, room / (_width(plain(text), 1) or 1)))


def wrapped(text: str, size: float, width: float, lines: int) -> Sequence[str]:
    """Break a text into lines of approximately this width."""
    found: list[str] = []
    line = ""
    for word in _words(plain(text)):
        if not line or _width(line + word, size) <= width:
            line += word
            continue
        found.append(line.strip())
        line = word.lstrip()
    found.append(line.strip())
    if len(found) > lines:
        found = [*found[: lines - 1], shortened(f"{found[lines - 1]} {_ELLIPSIS}", size, width)]
    return found


def shortened(text: str, size: float, width: float) -> str:
    """Truncate a text to a width."""
    text = plain(text)
    if _width(text, size) <= width:
        return text
    kept, room = "", width - _width(_ELLIPSIS, size)
    for letter in graphemes(text):
        if _width(kept + letter, size) > room:
            break
        kept += letter
    return kept.rstrip() + _ELLIPSIS


def isolated(text: str) -> str:
    """A right-to-left text between marks that keep it from reordering its neighbors, as in `web/parts/language.js`."""
    turned = any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in text)
    return f"\u2068{text}\u2069" if turned else text


def plain(text: str) -> str:
    """A text without control characters (invalid in XML), line breaks and excessive combining marks."""
    kept: list[str] = []
    marks = 0
    for letter in text:
        category = unicodedata.category(letter)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category in ("Cc", "Cs", "Cn", "Zl", "Zp"):
            kept.append(" ")
        elif marks <= _MARKS_AT_MOST:
            kept.append(letter)
    return "".join(kept)


def _words(text: str) -> Iterable[str]:
    """Pieces between which a line may break: after spaces and around wide letters, and not inside what is seen as one.

    No line begins with closing punctuation or ends with opening punctuation.
    """
    word = ""
    for letter in graphemes(text):
        wide = unicodedata.east_asian_width(letter[0]) in _WIDE and not "가" <= letter[0] <= "힣"
        held = letter in CLOSING or (word and word[-1] in OPENING)
        # A long run without spaces breaks somewhere, or it would leave the picture.
        long = len(word) >= _LONGEST
        if word and not held and (wide or word[-1] == " " or _is_wide_end(word) or long):
            yield word
            word = ""
        word += letter
    if word:
        yield word


def _is_wide_end(word: str) -> bool:
    last = word.rstrip("".join(CLOSING))[-1:] or word[-1]
    return unicodedata.east_asian_width(last) in _WIDE and not "가" <= last <= "힣"


def _width(text: str, size: float) -> float:
    """The approximate width of a text, without font metrics; layouts allow for the error."""
    return sum(map(_share, text)) * size


def _share(letter: str) -> float:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in _WIDE:
        return 1.0
    for letters, share in _WIDTHS:
        if letter in letters:
            return share
    if not letter.isascii():
        return _FOREIGN
    return _UPPER if letter.isupper() else _LOWER

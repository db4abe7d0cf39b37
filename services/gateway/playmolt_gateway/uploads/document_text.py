"""The text of a word processor's document as it is put together: lines, and stretches of tracked changes."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from playmolt_gateway.uploads.outcome import Note, NoteKind

CELLS: Final = " | "
BULLET: Final = "•"
_SYMBOLS: Final = {
    0xF0B7: "•", 0xF0A7: "▪", 0xF06C: "●", 0xF06E: "■", 0xF071: "❑", 0xF076: "❖", 0xF0A8: "◻", 0xF0D8: "➢",
    0xF0E0: "→", 0xF0FC: "✓", 0xF0FB: "✗", 0xF0FD: "☒", 0xF0FE: "☑", 0xF06F: "□", 0xF075: "◆", 0xF0A1: "○",
    0xF0B0: "°", 0xF0B1: "±", 0xF0B4: "×", 0xF0D7: "·",
}  # fmt: skip
"""Private-use letters of Word's symbol fonts."""


def symbol(code: int) -> str:
    """A letter of a symbol font; never one of private use."""
    code = code if code >= 0xF000 else 0xF000 + code
    return _SYMBOLS.get(code, "▪")


_SYMBOL_FONTS: Final = ("symbol", "wingdings", "webdings", "marlett", "mt extra", "zapfdingbats")
_GREEK: Final = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ......αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
_MATHS: Final = {0xA3: "≤", 0xA5: "∞", 0xAE: "→", 0xB1: "±", 0xB3: "≥", 0xB4: "×", 0xB8: "÷", 0xB9: "≠", 0xBB: "≈",
                 0xD5: "∏", 0xD6: "√", 0xE5: "∑", 0xF2: "∫"}  # fmt: skip


def symbol_of(font: str, code: int) -> str:
    """A letter that a document takes from a font by its number: of private use in a symbol font, else itself."""
    name = font.strip().lower()
    place = code - 0xF000 if code >= 0xF000 else code
    if not name.startswith(_SYMBOL_FONTS):
        letter = chr(place if 0xF000 < code <= 0xF0FF else code)
        return letter if letter.isprintable() else symbol(code)
    if name == "symbol":
        if place in range(ord("A"), ord("z") + 1) and (letter := _GREEK[place - ord("A")]) != ".":
            return letter
        if place in _MATHS or 0x20 <= place < 0x40:
            return _MATHS.get(place, chr(place))
    return symbol(code)


class Changes:
    """Counts stretches of a document: text of one kind without a break is one.

    A move has two ends and counts once; what is read is the place that it was moved to.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._open: frozenset[str] = frozenset()

    def seen(self, kinds: frozenset[str]) -> None:
        """Text, or the end of a paragraph, that is of these kinds; `moved_away` is the old place of a move."""
        for kind in kinds - self._open:
            self._counts[kind] += 1
        self._open = kinds

    def paragraph_ends(self, kinds: frozenset[str]) -> None:
        """The mark of a paragraph; where it alone is hidden nothing is left out."""
        self.seen(kinds if "hidden" in self._open else kinds - {"hidden"})

    def add(self, kind: NoteKind, count: int = 1) -> None:
        self._counts[kind] += count

    def notes(self) -> tuple[Note, ...]:
        counts = self._counts | Counter(moved=self._counts["moved_away"])
        kinds: tuple[NoteKind, ...] = ("insertion", "deletion", "moved", "comment", "hidden", "picture", "embedded")
        return tuple(Note(kind, counts[kind]) for kind in kinds if counts[kind])


class Lines:
    """The paragraphs of one story (the body, a cell, a note): a line each, or several where it has line breaks."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._paragraph: list[str] = []
        self._before: list[str] = []
        self._after: list[str] = []

    def write(self, text: str) -> None:
        self._paragraph.append(text)

    @property
    def begun(self) -> bool:
        """Whether the present paragraph has text."""
        return any(part.strip() for part in self._paragraph)

    def box(self, lines: Iterable[str]) -> None:
        """A text box at this place: before its paragraph where that has no text yet, else after it."""
        (self._after if self.begun else self._before).extend(lines)

    def end(self, mark: str = "") -> None:
        """End the paragraph; `mark` is its number or bullet."""
        text = "".join(self._paragraph)
        if mark:
            text = f"{mark} {text.lstrip()}".rstrip()
        own = [] if not text.strip() and (self._before or self._after) else [text]
        self.lines += [*self._before, *own, *self._after]
        self._paragraph, self._before, self._after = [], [], []

    def break_off(self) -> None:
        """End a paragraph whose mark is left out, before what cannot go on in its line."""
        if self.begun:
            self.end()

    def row(self, cells: Iterable[str]) -> None:
        """A table's row."""
        listed = list(cells)
        if any(listed):
            self.lines.append(CELLS.join(listed))

    def finished(self) -> list[str]:
        """All lines, the present paragraph's too."""
        if self._paragraph or self._before or self._after:
            self.end()
        return self.lines

    def one_line(self) -> str:
        """The whole story in one line, for a cell or a note."""
        return " ".join(" ".join(self.finished()).split())

"""What a page of a PDF draws, beside its text: pictures over it, what a reader does not see, and copies of a text."""

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from pypdf import PageObject
from pypdf.generic import ArrayObject, DictionaryObject, PdfObject, TextStringObject, create_string_object

from playmolt_gateway.uploads.pdf_layers import Layers

_PICTURE_SHARE: Final = 0.5
_INVISIBLE: Final = (3, 7)
"""Text rendering modes without ink."""
_SHOWS: Final = (b"Tj", b"TJ", b"'", b'"')
_STRIP_SHARE: Final = 0.05
"""Scans may be drawn in strips; smaller pictures cover no text."""
_FORMS: Final = 16
_NEXT_LINE: Final = (b"'", b'"')
"""Shows of text that begin a line; where is not looked at."""
_MOVES: Final = (b"BT", b"Td", b"TD", b"Tm", b"T*")
_SAME_PLACE: Final = 0.1
"""Part of a letter's height within which the same text is drawn again to look bold or raised."""
_WHOLE: Final = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)

_SOFT_HYPHEN: Final = "\u00ad"
_WORD_GOES_ON: Final = "\U0010fffc"
"""In place of a hyphen that the file calls soft, at the end of a line. Fonts code other hyphens so, too."""
_HYPHENATED: Final = re.compile(f"{_WORD_GOES_ON}\\s*")
_FARTHEST: Final = 8.0
_Matrix = Sequence[float]


class _Frame(NamedTuple):
    """A form that is being drawn: the operands that named it, its place on the page, its resources."""

    key: int
    matrix: _Matrix
    resources: DictionaryObject
    hidden: bool
    """Whether the form is of a layer that is off."""
    marks: list[bool]
    """For each part of the content that is open, whether it is."""


class PageContent:
    """Looks at what a page or form draws, beside pypdf's extraction, and takes out what a reader does not see.

    What is taken out loses its operands: text of a layer that is off or beside the page, and the copies of a text that
    is drawn several times at one place.
    """

    def __init__(self, page: PageObject, layers: Layers, form: DictionaryObject | None = None) -> None:
        box = page.cropbox
        self._box = (
            *sorted((float(box.left), float(box.right))), *sorted((float(box.bottom), float(box.top)))
        )  # fmt: skip
        self._area = abs(float(box.width) * float(box.height)) or 1.0
        self._layers = layers
        self._of_page = form is None
        resources = _dictionary((page if form is None else form).get("/Resources"))
        self._frames = [_Frame(0, _WHOLE, resources, hidden=False, marks=[])]
        self._covered = self._veiled = 0.0
        self._modes = [0]
        self._sizes = [0.0]
        self._in_run = 0
        """How many pieces were shown since the place of the text was last set."""
        self._places: dict[tuple[str | bytes, int, int], list[tuple[float, float]]] = {}
        """Where on the page each piece of text begins, by its row."""
        self._instead: str | None = None
        """The text given for what is drawn (`/ActualText`), until it is read; None outside of such parts."""
        self._instead_since = 0
        """How many parts of the content were open then."""
        self.hidden = 0
        """How many stretches of text a reader does not see."""
        self._in_hidden = False
        self.over = 0
        """The length of what is written with ink and not under a picture."""
        self.under = 0

    @property
    def pictured(self) -> bool:
        return self._covered > _PICTURE_SHARE * self._area

    @property
    def veiled(self) -> bool:
        """Whether pictures cover most of the page, those with transparent parts too."""
        return self._covered + self._veiled > _PICTURE_SHARE * self._area

    def before(self, operator: bytes, operands: list[object], matrix: _Matrix, text_matrix: _Matrix) -> None:
        if operator in _SHOWS:
            self._show(operator, operands, matrix, text_matrix)
        elif operator in _MOVES:
            self._in_run = 0
        elif operator == b"q":
            self._modes.append(self._modes[-1])
            self._sizes.append(self._sizes[-1])
        elif operator == b"Q":
            self._modes[-1:] = [] if len(self._modes) > 1 else self._modes[-1:]
            self._sizes[-1:] = [] if len(self._sizes) > 1 else self._sizes[-1:]
        elif operator == b"Tr" and operands and isinstance(operands[0], int):
            self._modes[-1] = int(operands[0])
        elif operator == b"Tf" and len(operands) > 1 and isinstance(operands[1], int | float):
            self._sizes[-1] = abs(float(operands[1]))
        elif operator in (b"BDC", b"BMC"):
            self._open(operands)
        elif operator == b"EMC":
            self._close()
        elif operator == b"INLINE IMAGE":
            self._image(matrix)
        elif operator == b"Do" and operands:
            self._draw(operands, matrix)

    def after(self, operator: bytes, operands: list[object], *_: _Matrix) -> None:
        if operator != b"Do":
            return
        keys = [frame.key for frame in self._frames]
        if id(operands) in keys:
            del self._frames[keys.index(id(operands)) :]

    @property
    def _off(self) -> bool:
        return any(frame.hidden or any(frame.marks) for frame in self._frames)

    def _is_off(self, operands: list[object]) -> bool:
        if len(operands) < 2 or operands[0] != "/OC":
            return False
        properties = _dictionary(self._frames[-1].resources.get("/Properties"))
        return self._layers.hide(_dictionary(properties.get(str(operands[1]))))

    def _open(self, operands: list[object]) -> None:
        self._frames[-1].marks.append(self._is_off(operands))
        if self._instead is None:
            self._instead, self._instead_since = self._actual_text(operands), self._open_parts

    def _close(self) -> None:
        if self._open_parts == self._instead_since:
            self._instead = None
        self._frames[-1].marks[-1:] = []

    @property
    def _open_parts(self) -> int:
        return sum(len(frame.marks) for frame in self._frames)

    def _actual_text(self, operands: list[object]) -> str | None:
        """The text that the file gives for a part of the content.

        Letters from right to left are read as they are drawn: a part may be one letter or a line, and the library
        orders letters alone.
        """
        named = operands[1] if len(operands) > 1 else None
        properties = _dictionary(self._frames[-1].resources.get("/Properties"))
        found = _dictionary(properties.get(named) if isinstance(named, str) else named).get("/ActualText")
        text = create_string_object(bytes(found)) if isinstance(found, bytes) else found
        if not isinstance(text, str) or any(unicodedata.bidirectional(char) in ("R", "AL") for char in text):
            return None
        return text.replace(_SOFT_HYPHEN, _WORD_GOES_ON)

    def _replace(self, operator: bytes, operands: list[object]) -> None:
        """Read the text of the part at its first piece, and nothing at others."""
        text, self._instead = TextStringObject(self._instead), ""
        if not text:
            operands.clear()
        elif operands:
            operands[-1] = ArrayObject([text]) if operator == b"TJ" else text

    def _show(self, operator: bytes, operands: list[object], matrix: _Matrix, text_matrix: _Matrix) -> None:
        frame = self._frames[-1]
        off = (len(self._frames) > 1 or bool(frame.marks)) and self._off
        copy = beside = False
        if operator in _NEXT_LINE:
            self._in_run = 0
        elif not off:
            around = matrix if frame.matrix is _WHOLE else _times(matrix, frame.matrix)
            x, y, height = self._place(text_matrix, around)
            beside = self._is_beside(x, y, height)
            copy = not beside and self._is_copy(operands, x, y, _SAME_PLACE * height)
        length = sum(map(_length, operands))
        if off or beside:
            if length:
                self.hidden += not self._in_hidden
                self._in_hidden = True
            operands.clear()
        elif copy:
            operands.clear()
        else:
            self._in_hidden = self._in_hidden and not length
            if self._modes[-1] in _INVISIBLE:
                self.under += length
            else:
                self.over += length
            if self._instead is not None:
                self._replace(operator, operands)
        self._in_run += 1

    def _place(self, text_matrix: _Matrix, around: _Matrix) -> tuple[float, float, float]:
        """Where on the page a text begins, and how high its letters are."""
        a, b, c, d, e, f = text_matrix
        g, h, i, j, k, m = around
        height = self._sizes[-1] * math.sqrt(abs((a * d - b * c) * (g * j - h * i)))
        return e * g + f * i + k, e * h + f * j + m, height

    def _is_beside(self, x: float, y: float, line: float) -> bool:
        """Whether text begins more than a line above, below or to the right of the part of the page that is shown."""
        if not self._of_page or len(self._frames) > 1:
            return False
        left, right, bottom, top = self._box
        return right > left and top > bottom and (x > right + line or not bottom - line <= y <= top + line)

    def _is_copy(self, operands: list[object], x: float, y: float, near: float) -> bool:
        shown = operands[0] if operands and isinstance(operands[0], str | bytes) else repr(operands)
        near = min(near, _FARTHEST)
        if not math.isfinite(y):
            return False
        for row in range(round(y - near), round(y + near) + 1):
            for left, bottom in self._places.get((shown, self._in_run, row), ()):
                if abs(x - left) <= near and abs(y - bottom) <= near:
                    return True
        self._places.setdefault((shown, self._in_run, round(y)), []).append((x, y))
        return False

    def _draw(self, operands: list[object], matrix: _Matrix) -> None:
        frame = self._frames[-1]
        drawn = _dictionary(_dictionary(frame.resources.get("/XObject")).get(str(operands[0])))
        hidden = self._layers.hide(_dictionary(drawn.get("/OC")))
        if drawn.get("/Subtype") == "/Image":
            if hidden or self._off:
                return
            # What is partly transparent, such as a stamp or watermark, covers no text.
            self._image(matrix, veil="/SMask" in drawn or "/Mask" in drawn)
        elif drawn.get("/Subtype") == "/Form" and len(self._frames) < _FORMS:
            own = [float(each) for each in drawn.get("/Matrix", _WHOLE)]
            place = _times(own, _times(matrix, frame.matrix)) if len(own) == len(_WHOLE) else frame.matrix
            resources = _dictionary(drawn.get("/Resources")) or frame.resources
            self._frames.append(_Frame(id(operands), place, resources, hidden=hidden, marks=[]))

    def _image(self, matrix: _Matrix, *, veil: bool = False) -> None:
        a, b, c, d, *_ = _times(matrix, self._frames[-1].matrix)
        covered = min(abs(a * d - b * c), self._area)
        if veil:
            self._veiled += covered
            return
        self._covered += covered
        if covered > _STRIP_SHARE * self._area:
            self.under, self.over = self.under + self.over, 0


def words_joined(text: str) -> str:
    """The text of a page without the hyphens at the ends of its lines that the file says are none of the text."""
    return _HYPHENATED.sub("", text)


def _dictionary(found: object) -> DictionaryObject:
    inner = found.get_object() if isinstance(found, PdfObject) else None
    return inner if isinstance(inner, DictionaryObject) else DictionaryObject()


def _length(operand: object) -> int:
    if isinstance(operand, str | bytes):
        return len(operand)
    return sum(map(_length, operand)) if isinstance(operand, list) else 0


def _times(inner: _Matrix, outer: _Matrix) -> _Matrix:
    a, b, c, d, e, f = inner
    g, h, i, j, k, m = outer
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)

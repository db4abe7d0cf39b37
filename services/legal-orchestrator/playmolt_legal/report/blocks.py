"""What a section is made of."""

import msgspec


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence; `refs` are the ids it rests on, `anchor` the id it defines; `listed` is one among others like it."""

    text: str
    refs: tuple[str, ...] = ()
    anchor: str = ""
    listed: bool = True


class Heading(msgspec.Struct, frozen=True):
    """What the lines behind it are about."""

    text: str


Cell = tuple[Line, ...]


class Table(msgspec.Struct, frozen=True):
    """Rows of cells, their heading first; `widths` are shares of the page."""

    rows: tuple[tuple[Cell, ...], ...]
    widths: tuple[int, ...]


Block = Line | Heading | Table

"""Equations of a DOCX in one line, as they are typed: `1/2`, `x^2`, `√(a+b)`. Without signs a half would read as 12."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from playmolt_gateway.uploads.docx_styles import named, value
from playmolt_gateway.uploads.zip_parts import Element, local

Part = str | Element
"""A sign, or an element of the equation."""
_PLAIN: Final = re.compile(r"[\w.,%]*")


def parts_in_line(element: Element) -> Iterator[Part]:
    """The parts of an element of `EQUATIONS`, with signs between them."""
    return EQUATIONS[local(str(element.tag))](element)


def _parts(element: Element, *names: str) -> Iterator[Element]:
    return (each for name in names for each in named(element, name))


def _grouped(parts: Iterable[Element]) -> Iterator[Part]:
    """In brackets unless it is one word or number."""
    for part in parts:
        plain = _PLAIN.fullmatch("".join(part.itertext()))
        yield from (part,) if plain else ("(", part, ")")


def _joined(parts: Iterable[Element], sign: str) -> Iterator[Part]:
    for at, part in enumerate(parts):
        yield from (sign, part) if at else (part,)


def _fraction(element: Element) -> Iterator[Part]:
    bar = value(element, "fPr", "type")
    yield from _grouped(_parts(element, "num"))
    yield ", " if bar == "noBar" else "/"
    yield from _grouped(_parts(element, "den"))


def _scripts(element: Element) -> Iterator[Part]:
    yield from _parts(element, "e")
    yield from _below_and_above(element)


def _below_and_above(element: Element) -> Iterator[Part]:
    for name, sign in (("sub", "_"), ("sup", "^")):
        for part in _parts(element, name):
            if "".join(part.itertext()).strip():
                yield sign
                yield from _grouped((part,))


def _before(element: Element) -> Iterator[Part]:
    """Scripts in front of a letter."""
    yield from _below_and_above(element)
    yield " "
    yield from _parts(element, "e")


def _function(element: Element) -> Iterator[Part]:
    yield from _parts(element, "fName")
    yield " "
    yield from _grouped(_parts(element, "e"))


def _accented(element: Element) -> Iterator[Part]:
    found = value(element, "accPr", "chr")
    yield from _parts(element, "e")
    yield "\u0302" if found is None else found


def _root(element: Element) -> Iterator[Part]:
    yield from _parts(element, "deg")
    yield "√("
    yield from _parts(element, "e")
    yield ")"


def _large(element: Element) -> Iterator[Part]:
    """A sum, an integral and the like."""
    found = value(element, "naryPr", "chr")
    yield "∫" if found is None else found
    yield from _below_and_above(element)
    yield " "
    yield from _parts(element, "e")


def _brackets(element: Element) -> Iterator[Part]:
    signs = {name: value(element, "dPr", name) for name in ("begChr", "sepChr", "endChr")}
    yield "(" if signs["begChr"] is None else signs["begChr"]
    yield from _joined(_parts(element, "e"), "|" if signs["sepChr"] is None else signs["sepChr"])
    yield ")" if signs["endChr"] is None else signs["endChr"]


def _rows(element: Element) -> Iterator[Part]:
    for at, row in enumerate(named(element, "mr")):
        if at:
            yield "; "
        yield from _joined(_parts(row, "e"), ", ")


EQUATIONS: Final[Mapping[str, Callable[[Element], Iterator[Part]]]] = {
    "f": _fraction,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _before,
    "func": _function,
    "acc": _accented,
    "bar": lambda element: iter((*_parts(element, "e"), "\u0305")),
    "rad": _root,
    "nary": _large,
    "d": _brackets,
    "m": _rows,
    "eqArr": lambda element: _joined(_parts(element, "e"), "; "),
    "limLow": lambda element: iter((*_parts(element, "e"), "_", *_grouped(_parts(element, "lim")))),
    "limUpp": lambda element: iter((*_parts(element, "e"), "^", *_grouped(_parts(element, "lim")))),
}
"""Elements of equations whose parts need signs, by name."""

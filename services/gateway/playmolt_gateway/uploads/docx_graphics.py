"""The words of diagrams (SmartArt) and charts of a DOCX, which are parts of their own."""

from collections.abc import Iterator
from typing import Final

from playmolt_gateway.uploads.document_text import CELLS
from playmolt_gateway.uploads.docx_styles import named
from playmolt_gateway.uploads.zip_parts import Element, attribute, child, local

_REFERENCES: Final = {"relIds": "dm", "chart": "id"}
"""Elements of a drawing that name a part, and the attribute that has its relationship."""
_DEPTH: Final = 100


def part_of(drawing: Element) -> str:
    """The relationship of the diagram or chart that a drawing shows; "" if it shows none."""
    for each in drawing.iter():
        key = _REFERENCES.get(local(str(each.tag)))
        if key and (found := attribute(each, key)):
            return found
    return ""


def words_of(part: Element) -> Iterator[str]:
    """The lines of a diagram, each under what it belongs to, or of a chart: its titles, then a row a series."""
    if local(part.tag) == "dataModel":
        yield from _diagram(part)
    elif local(part.tag) == "chartSpace":
        yield from _paragraphs(part)
        yield from _rows(part)


def _paragraphs(element: Element) -> Iterator[str]:
    for each in element.iter():
        if local(str(each.tag)) == "p":
            text = "".join(word.text or "" for word in each.iter() if local(str(word.tag)) == "t")
            if text := " ".join(text.split()):
                yield text


def _diagram(model: Element) -> Iterator[str]:
    points = {attribute(each, "modelId"): each for each in named(child(model, "ptLst"), "pt")}
    below: dict[str, list[tuple[int, str]]] = {}
    for each in named(child(model, "cxnLst"), "cxn"):
        place = attribute(each, "srcOrd", "0")
        if attribute(each, "type", "parOf") == "parOf" and place.isdigit():
            below.setdefault(attribute(each, "srcId"), []).append((int(place), attribute(each, "destId")))

    def lines(key: str, depth: int) -> Iterator[str]:
        point = points.pop(key, None)
        if point is None or depth > _DEPTH:
            return
        if text := " ".join(_paragraphs(point)):
            yield text
        for _, under in sorted(below.get(key, [])):
            yield from lines(under, depth + 1)

    for key in [key for key, point in points.items() if attribute(point, "type") == "doc"]:
        yield from lines(key, 0)
    for key in [key for key, point in points.items() if attribute(point, "type") in ("", "node", "asst")]:
        yield from lines(key, 0)


def _rows(chart: Element) -> Iterator[str]:
    """The series with their names; the row before them has the categories where these differ from the last ones."""
    before: list[str] = []
    for series in (each for each in chart.iter() if local(str(each.tag)) == "ser"):
        categories = _values(child(series, "cat")) or _values(child(series, "xVal"))
        if categories and categories != before:
            yield CELLS.join(["", *categories]).strip()
            before = categories
        name = " ".join(_values(child(series, "tx")))
        rows = [_values(child(series, key)) for key in ("val", "yVal", "bubbleSize")]
        for row in filter(None, rows):
            yield CELLS.join([*filter(None, [name]), *row])


def _values(data: Element | None) -> list[str]:
    """What the document has stored of cells of a sheet, of the innermost level of categories."""
    if data is None:
        return []
    level = next((each for each in data.iter() if local(str(each.tag)) == "lvl"), data)
    found = (each for each in level.iter() if local(str(each.tag)) == "v")
    return [" ".join((each.text or "").split()) for each in found]

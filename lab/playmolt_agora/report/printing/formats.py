"""Figures for print: SVG in millimetres, PDF with its font inside, PNG with its resolution; and their files.

Equal figures give equal bytes. PDF draws the few shapes that `chart.ChartCanvas` makes.
"""

import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from xml.etree import ElementTree as ET

import msgspec
import resvg_py
from fontTools import subset, ttLib
from fpdf import FPDF
from pylopdf_fonts_ko import sans_path

from playmolt_agora.report.plots.figure import Plot
from playmolt_agora.report.study import StudyData

WIDTH_MM: Final = 175.0
_FAMILY: Final = "Noto Sans KR"
_FONT: Final = "sans"
_EPOCH: Final = datetime(1980, 1, 1, tzinfo=UTC)
_INCH_MM: Final = 25.4
_HEAD: Final = re.compile(r' width="[\d.]+(?:mm)?" height="[\d.]+(?:mm)?"')
_VIEW: Final = re.compile(r' viewBox="0 0 ([\d.]+) ([\d.]+)"')
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_PNG_HEAD: Final = 33
"""Signature and first chunk; the resolution follows."""

_LATIN: Final = frozenset(map(chr, (*range(0x20, 0x180), *range(0x2010, 0x2027), *b"\n", 0x2212)))
_UNUSED_TABLES: Final = ("GSUB", "GPOS", "BASE", "vhea", "vmtx", "VORG")

_BEFORE: Final = {"middle": 0.5, "end": 1.0}
"""The share of a text's width before its anchor."""

Point = tuple[float, float]


def size(svg: str) -> tuple[float, float]:
    """Width and height in millimetres: as wide as a page's text, as high as that makes it."""
    width, height = _pixels(svg)
    return WIDTH_MM, round(height * WIDTH_MM / width, 1)


def print_svg(svg: str) -> str:
    """The picture as a separate file, with its size on paper."""
    width, height = size(svg)
    return _HEAD.sub(f' width="{width:g}mm" height="{height:g}mm"', svg, count=1)


def png(svg: str, dpi: int = 300) -> bytes:
    pixels = round(WIDTH_MM / _INCH_MM * dpi)
    width, height = _pixels(svg)
    svg = _HEAD.sub(f' width="{width:g}" height="{height:g}"', svg, count=1)
    drawn = bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg, width=pixels, background="#ffffff", font_files=[str(sans_path())], font_family=_FAMILY,
            sans_serif_family=_FAMILY,
        )
    )  # fmt: skip
    metre = round(dpi / _INCH_MM * 1000)
    data = b"pHYs" + struct.pack(">IIB", metre, metre, 1)
    resolution = struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))
    return drawn[:_PNG_HEAD] + resolution + drawn[_PNG_HEAD:]


def pdf(svg: str, title: str) -> bytes:
    with _font(svg) as font:
        return _Page(svg, title, font).written()


@contextmanager
def _font(svg: str) -> Iterator[Path]:
    """The font's file; for a figure in Latin letters one with these only, which is read in a tenth of the time."""
    if not _LATIN.issuperset(svg):
        yield sans_path()
        return
    with TemporaryDirectory(prefix="playmolt-font-") as folder:
        file = Path(folder) / "sans.otf"
        file.write_bytes(_latin_font())
        yield file


@cache
def _latin_font() -> bytes:
    subsetter = subset.Subsetter(subset.Options(notdef_outline=True, drop_tables=_UNUSED_TABLES))
    subsetter.populate(unicodes=map(ord, _LATIN))
    out = BytesIO()
    with ttLib.TTFont(sans_path(), recalcTimestamp=False, lazy=True) as font:
        subsetter.subset(font)
        font.save(out)
    return out.getvalue()


def _pixels(svg: str) -> Point:
    found = _VIEW.search(svg)
    if found is None:
        raise ValueError("the picture has no size")
    return float(found[1]), float(found[2])


class _Page:
    def __init__(self, svg: str, title: str, font: Path) -> None:
        self._root = ET.fromstring(svg)  # noqa: S314 -- drawn here
        width, height = size(svg)
        self._scale = width / _pixels(svg)[0]
        self._pdf = FPDF(unit="mm", format=(width, height))
        self._pdf.set_creation_date(_EPOCH)
        self._pdf.set_title(title)
        self._pdf.set_auto_page_break(auto=False)
        self._pdf.set_margin(0)
        self._pdf.add_font(_FONT, fname=font)
        self._pdf.add_page()

    def written(self) -> bytes:
        for element in self._root:
            draw = _SHAPES.get(element.tag.rpartition("}")[2])
            if draw is not None:
                with self._pdf.local_context(fill_opacity=_number(element, "opacity", 1.0),
                                             stroke_opacity=_number(element, "opacity", 1.0)):  # fmt: skip
                    style = self._styled(element)
                    draw(self, element, style)
        return bytes(self._pdf.output())

    def _styled(self, element: ET.Element) -> str:
        """Set the colours and the pen; D, F or DF as the shape is drawn, filled or both."""
        fill, stroke = element.get("fill"), element.get("stroke")
        if fill not in (None, "none"):
            self._pdf.set_fill_color(*_colour(fill))
        if stroke is not None:
            self._pdf.set_draw_color(*_colour(stroke))
            self._pdf.set_line_width(_number(element, "stroke-width", 1.0) * self._scale)
            dash = [float(each) * self._scale for each in _NUMBER.findall(element.get("stroke-dasharray", ""))]
            self._pdf.set_dash_pattern(*(dash[:2] if dash else (0, 0)))
        return ("D" if stroke is not None else "") + ("F" if fill not in (None, "none") else "")

    def _at(self, element: ET.Element, *names: str) -> Iterator[float]:
        return (_number(element, name) * self._scale for name in names)

    def line(self, element: ET.Element, _: str) -> None:
        x1, y1, x2, y2 = self._at(element, "x1", "y1", "x2", "y2")
        self._pdf.line(x1, y1, x2, y2)

    def rect(self, element: ET.Element, style: str) -> None:
        x, y, width, height = self._at(element, "x", "y", "width", "height")
        self._pdf.rect(x, y, width, height, style=style)

    def circle(self, element: ET.Element, style: str) -> None:
        x, y, radius = self._at(element, "cx", "cy", "r")
        self._pdf.circle(x, y, radius, style=style)

    def polyline(self, element: ET.Element, style: str) -> None:
        self._pdf.polyline(self._points(element.get("points", "")), fill=False, polygon=False, style=style)

    def polygon(self, element: ET.Element, style: str) -> None:
        self._pdf.polygon(self._points(element.get("points", "")), style=style)

    def curve(self, element: ET.Element, _: str) -> None:
        start, middle, end = self._points(element.get("d", ""))
        self._pdf.bezier([start, middle, end], style="D")

    def text(self, element: ET.Element, _: str) -> None:
        x, y = self._at(element, "x", "y")
        points = _number(element, "font-size") * self._scale / _INCH_MM * 72
        self._pdf.set_font(_FONT, size=points)
        self._pdf.set_text_color(*_colour(element.get("fill", "#000000")))
        words = element.text or ""
        before = _BEFORE.get(element.get("text-anchor", ""), 0.0) * self._pdf.get_string_width(words)
        if element.get("transform"):
            with self._pdf.rotation(90, x, y):
                self._pdf.text(x - before, y, words)
        else:
            self._pdf.text(x - before, y, words)

    def _points(self, text: str) -> list[Point]:
        numbers = [float(each) * self._scale for each in _NUMBER.findall(text)]
        return list(zip(numbers[::2], numbers[1::2], strict=True))


_SHAPES: Final[Mapping[str, Callable[[_Page, ET.Element, str], None]]] = {
    "line": _Page.line,
    "rect": _Page.rect,
    "circle": _Page.circle,
    "polyline": _Page.polyline,
    "polygon": _Page.polygon,
    "path": _Page.curve,
    "text": _Page.text,
}


def _number(element: ET.Element, name: str, default: float = 0.0) -> float:
    return float(element.get(name, default))


@cache
def _colour(text: str) -> tuple[int, int, int]:
    digits = text.removeprefix("#")
    whole = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    return int(whole[:2], 16), int(whole[2:4], 16), int(whole[4:], 16)


FOLDER: Final = "figures"
INDEX: Final = "index.json"


def write(study: StudyData, figures: Mapping[str, Plot], out: Path, *, printed: bool) -> tuple[Path, ...]:
    """Write `figures/NAME.svg`, with `printed` also `.pdf` and `.png`, and `figures/index.json`; gives the files."""
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    found = [path for figure in figures.values() for path in _formats(figure, folder, printed=printed)]
    index = folder / INDEX
    index.write_bytes(msgspec.json.format(msgspec.json.encode(list(_entries(study, figures.values()))), indent=1))
    return (*found, index)


def _formats(figure: Plot, folder: Path, *, printed: bool) -> Iterable[Path]:
    bodies = {"svg": print_svg(figure.svg).encode()}
    if printed:
        bodies |= {"pdf": pdf(figure.svg, figure.title), "png": png(figure.svg)}
    for ending, body in bodies.items():
        path = folder / f"{figure.name}.{ending}"
        path.write_bytes(body)
        yield path


def _entries(study: StudyData, figures: Iterable[Plot]) -> Iterable[dict[str, object]]:
    for figure in figures:
        width, height = size(figure.svg)
        yield {
            "name": figure.name,
            "title": figure.title,
            "width_mm": width,
            "height_mm": height,
            "tables": [figure.table] if figure.table else [],
            "definition": f"{figure.measure} of {study.definitions}",
            "runs": [run.run for run in figure.runs],
            "columns": figure.columns,
            "rows": figure.lines,
        }

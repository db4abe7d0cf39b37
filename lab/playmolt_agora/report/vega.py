"""Vega-Lite specifications as SVG, PDF and PNG: offline, text stays text, equal specifications give equal bytes."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, cast
from xml.etree import ElementTree as ET

import vl_convert
from pylopdf_fonts_ko import sans_path as korean
from pylopdf_fonts_zh_cn import sans_path as chinese

from playmolt_agora.measures.data.results import Row
from playmolt_agora.report.markup import cleaned, counted, shown

Spec = dict[str, object]
Rows = Sequence[Mapping[str, object]]

WIDTH: Final = 760.0
"""Fits a printed page and a narrow column of a browser."""
WIDTH_MM: Final = 175.0
_INCH_MM: Final = 25.4
_POINTS: Final = 72.0
_VERSION: Final = "6.4"
_PRINTED: Final = "Noto Sans KR, Noto Sans SC"
WHOLE: Final = "Noto Sans KR"
LATIN: Final = "PlayMolt Latin"
"""A part of the whole font, so texts are as wide. The converter needs a millisecond for a text in a font of thousands
of letters. `fonts/latin.otf` is NotoSansKR-Regular.otf with the letters outside `_OTHERS` and this family name, made
with the subsetter of fontTools and its usual layout features."""
_OTHERS: Final = re.compile("[^ -\u024f\u2000-\u206f\u2190-\u2193\u2212\u2260\u2264\u2265]")
_FONT: Final = f"system-ui, -apple-system, 'Segoe UI', 'Noto Sans', {_PRINTED}, sans-serif"
_NAMESPACE: Final = "http://www.w3.org/2000/svg"
_SIZE: Final = re.compile(r' width="[\d.]+(?:mm)?" height="[\d.]+(?:mm)?"')
_VIEW: Final = re.compile(r' viewBox="0 0 ([\d.]+) ([\d.]+)"')
_LONG: Final = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
_DROPPED: Final = frozenset(
    ("aria-hidden", "aria-label", "aria-roledescription", "class", "font-family", "pointer-events", "role")
)
_DEFAULTS: Final = frozenset((("opacity", "1"), ("stroke-miterlimit", "10"), ("transform", "translate(0,0)")))
_ROOM: Final = 700
_ROOM_BESIDE: Final = 500
"""What is left for a legend, above panels and beside the names of bands."""
_EMPTY: Final[Spec] = {"mark": "text", "data": {"values": []}, "height": 10, "config": {"view": {"stroke": None}}}
"""Without rows scales and legends have no finite size."""
_NAMES: Final = ("panel", "name", "group", "series", "action", "from", "to", "run", "x")
"""The columns of rows that say whose value it is."""
_CHARTS: Final = Path(__file__).parent / "charts"

ET.register_namespace("", _NAMESPACE)


def chart(name: str, rows: Rows, values: Mapping[str, object] = {}, *, columns: int | None = None) -> Spec:
    """The chart of `charts/NAME.vl.json` over these rows; `values` are those of its parameters.

    `columns` are those of its panels, where they are fewer than the file has. Texts in rows and values are data: none
    becomes part of an expression.
    """
    if not rows:
        return _EMPTY
    spec: Any = _read(f"{name}.vl.json") | {"datasets": {"rows": rows}, "config": _read("config.json")}
    for each in spec.get("params", ()):
        each["value"] = values.get(each["name"], each["value"])
        if each["name"] == "series":
            room = _ROOM if "facet" in spec else _ROOM_BESIDE
            spec["config"]["legend"]["columns"] = _legend_columns(each["value"], room)
    if "facet" in spec:
        _fit(spec, len({row[spec["facet"]["field"]] for row in rows}), columns)
    made: Spec = spec
    return made


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_CHARTS / name).read_text("utf-8"))
    return found


def _fit(spec: Any, panels: int, columns: int | None) -> None:
    """Widen panels that are fewer than the columns of the specification."""
    most, gap, view = spec["columns"], spec["spacing"]["column"], spec["spec"]
    used = max(1, min(most, panels, columns or most))
    spec["columns"], view["width"] = used, most * (view["width"] + gap) / used - gap
    spec["facet"].setdefault("header", {})["labelLimit"] = view["width"]


def _legend_columns(series: Iterable[str], room: float) -> int:
    """As many as fit; letters of Korean and Chinese are nearly twice as wide."""
    letters = max((sum(1 if ord(letter) < 0x1100 else 1.8 for letter in name) for name in series), default=1)
    return max(1, int(room // (40 + 6.2 * letters)))


def draw(spec: Spec, name: str, title: str, description: str) -> str:
    """The picture with its name for readers who do not see it; `name` is unique on a page."""
    root = ET.fromstring(converted(configured(spec)))  # noqa: S314 -- drawn here
    _plain(root)
    width, height = float(root.get("width", 0)), root.get("height", "0")
    wide = f"{max(width, WIDTH):g}"
    heads = [ET.Element("title", id=f"{name}-t"), ET.Element("desc", id=f"{name}-d")]
    for head, words in zip(heads, (title, description), strict=True):
        head.text = cleaned(words)
    root[:0] = heads
    root.attrib.clear()
    root.attrib.update(
        {"role": "img", "aria-labelledby": f"{name}-t {name}-d", "viewBox": f"0 0 {wide} {height}", "width": wide,
         "height": height, "font-family": _FONT}
    )  # fmt: skip
    return ET.tostring(root, encoding="unicode")


def in_words(spec: Spec, column: str) -> str:
    """What a chart shows, for readers who do not see it: the least and the greatest value, and whose they are."""
    rows = cast("dict[str, list[Row]]", spec.get("datasets", {})).get("rows", ())
    marks = sorted((row for row in rows if row[column] is not None), key=itemgetter(column))
    if not marks:
        return "No values."
    ends = (
        f"{shown(row[column])} ({' · '.join(str(row[name]).replace(chr(10), ' ') for name in _NAMES if row.get(name))})"
        for row in (marks[0], marks[-1])
    )
    return f"{counted(len(marks), 'value')}, from {' to '.join(ends)}."


def configured(spec: Spec) -> str:
    """The specification with its font, as JSON."""
    config: Any = spec["config"]
    font = WHOLE if _OTHERS.search(json.dumps(spec, ensure_ascii=False)) else LATIN
    return json.dumps(_cleaned({**spec, "config": {**config, "font": font}}))


@cache
def _fonts() -> None:
    """The metrics of text are those of fonts that we install, on every machine."""
    for path in (korean(), chinese(), Path(__file__).parent / "fonts" / "latin.otf"):
        vl_convert.register_font_directory(str(path.parent))


@lru_cache(maxsize=64)
def converted(spec: str) -> str:
    """The picture as the converter draws it."""
    _fonts()
    return vl_convert.vegalite_to_svg(spec, vl_version=_VERSION, allowed_base_urls=[])


def _cleaned(value: object) -> object:
    """The converter ends the process at a null character."""
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, Mapping):
        return {_cleaned(name): _cleaned(each) for name, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list | tuple) else value


def _plain(element: ET.Element) -> None:
    """Keep what is seen, with short numbers; the description of a mark becomes what a pointer shows."""
    for child in list(element):
        _plain(child)
        tag, note = child.tag.rpartition("}")[2], child.get("aria-label")
        if child.get("class") in {"background", "foreground"} or (tag == "g" and not len(child)):
            element.remove(child)
            continue
        if note and tag != "g":
            ET.SubElement(child, f"{{{_NAMESPACE}}}title").text = note
        child.attrib = {
            key: _LONG.sub(lambda found: f"{round(float(found[0]), 2):g}", value.removesuffix("px"))
            for key, value in child.attrib.items()
            if key not in _DROPPED and (key, value) not in _DEFAULTS
        }


def size(svg: str) -> tuple[float, float]:
    """Width and height in millimetres: as wide as a page's text, as high as that makes it."""
    width, height = _pixels(svg)
    return WIDTH_MM, round(height * WIDTH_MM / width, 1)


def print_svg(svg: str) -> str:
    """The picture as a separate file, with its size on paper."""
    width, height = size(svg)
    return _SIZE.sub(f' width="{width:g}mm" height="{height:g}mm"', svg, count=1)


def png(svg: str, dpi: int = 300) -> bytes:
    pixels = round(WIDTH_MM / _INCH_MM * dpi)
    return vl_convert.svg_to_png(_sized(svg, 1), scale=pixels / _pixels(svg)[0] * _POINTS / dpi, ppi=dpi)


def pdf(svg: str) -> bytes:
    """Another process writes its parts in another order."""
    return vl_convert.svg_to_pdf(_sized(svg, WIDTH_MM / _INCH_MM * _POINTS / _pixels(svg)[0]))


def _sized(svg: str, scale: float) -> str:
    """The picture on white with the fonts that are installed with it, in pixels or points."""
    _fonts()
    width, height = _pixels(svg)
    sized = _SIZE.sub(f' width="{width * scale:.3f}" height="{height * scale:.3f}"', svg, count=1)
    head, end, rest = sized.replace(_FONT.replace("'", "&apos;"), _PRINTED).partition(">")
    return f'{head}{end}<rect width="100%" height="100%" fill="#fff"/>{rest}'.replace(_FONT, _PRINTED, 1)


def _pixels(svg: str) -> tuple[float, float]:
    found = _VIEW.search(svg)
    if found is None:
        raise ValueError("the picture has no size")
    return float(found[1]), float(found[2])

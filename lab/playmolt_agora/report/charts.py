"""The kinds of charts, as Vega-Lite specifications over rows.

Every series has a colour, a dash and a shape, so that colour is never the only sign. A chart is a grid of panels of
fixed size; its texts are passed as data and never become part of an expression.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from playmolt_agora.report.vega import INK, LABEL, SOFT, WIDTH, Spec

HUES: Final = ("#1765ad", "#b8500f", "#2c7d46", "#7a4aa5", "#a03050", "#60656b", "#8a6a00", "#0b7a86")
"""Each at least 4.5:1 on white."""
BAND: Final = "#c9d1da"
DASHES: Final = ((1, 0), (6, 3), (2, 3), (8, 3, 2, 3), (10, 4), (4, 2), (1, 3), (12, 3, 3, 3))
SHAPES: Final = ("circle", "square", "triangle-up", "diamond")
_EDGE: Final = 4
_WIDER: Final = 0.1
Rows = Sequence[Mapping[str, object]]


class Style(msgspec.Struct, frozen=True):
    """What distinguishes a series: colour, dash and mark."""

    hue: str
    dash: tuple[int, ...] = DASHES[0]
    shape: str = "square"


def style(index: int) -> Style:
    """The style of the series number `index`; with many series colours repeat, dash and mark then differ."""
    turn = index // len(HUES)
    return Style(HUES[index % len(HUES)], DASHES[(index + turn) % len(DASHES)], SHAPES[(index + turn) % len(SHAPES)])


def styles(names: Iterable[str]) -> dict[str, Style]:
    return {name: style(index) for index, name in enumerate(names)}


def panel(
    layers: Sequence[Spec], width: float, height: float, *, title: str = "", note: str = "",
) -> Spec:  # fmt: skip
    """One framed chart; `note` is a second line under its title."""
    head: Spec = {"text": title, **({"subtitle": note} if note else {})}
    return {"width": width, "height": max(1, height), "layer": list(layers), **({"title": head} if title else {})}


def grid(panels: Sequence[Spec], columns: int, *, gap: float = 34, below: float = 66) -> Spec:
    """Panels in rows. Gaps are between their frames, so that panels stay in line whatever their labels are."""
    shown = list(panels) or [panel([{"mark": "text", "data": {"values": []}}], 10, 10)]
    return {"concat": shown, "columns": columns, "spacing": {"column": gap, "row": below}, "bounds": "flush"}


def fitted(count: int, most: int, *, left: float = 56, gap: float = 34) -> tuple[int, float]:
    """Columns for `count` panels, and the width that fills the picture."""
    columns = max(1, min(most, count))
    return columns, (WIDTH - left - 14 - (columns - 1) * gap) / columns


def axis(
    field: str,
    title: str | None = None,
    *,
    domain: tuple[float, float] | None = None,
    nice: bool = True,
    options: Spec | None = None,
) -> Spec:
    """A quantitative axis, from `domain` rounded outwards if it is `nice`; `options` are Vega-Lite's."""
    scale: Spec = {"nice": nice, "zero": False, **({"domain": list(domain)} if domain else {})}
    return {
        "field": field,
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": title, "tickCount": 5, "format": "~r", **(options or {})},
    }


def band(field: str, names: Iterable[object], **options: object) -> Spec:
    """A row or a column for each name, in this order; a long one is shortened inside, since names differ at the end."""
    return {"field": field, "type": "nominal", "scale": {"domain": list(names) or [""], "padding": 0},
            "axis": {"title": None, "tickBand": "extent", "labelExpr": _SHORTENED, **options}}  # fmt: skip


_SHORTENED: Final = "truncate(datum.label, test(/[\\u1100-\\uffff]/, datum.label) ? 20 : 36, 'center')"


def banded(layers: Sequence[Spec], names: Sequence[str], height: float) -> Spec:
    """One panel with a band of this height for each name."""
    return grid([panel(layers, beside(names), height * len(names))], 1) | spare(names)


def spare(names: Iterable[str]) -> Spec:
    """Room at the left edge: names of bands are wider in many readers' fonts than in the one that is measured."""
    return {"padding": {"left": _EDGE + _WIDER * _label(names), "top": _EDGE, "right": _EDGE, "bottom": _EDGE}}


def key(series: Iterable[str], *, room: float = 700, titled: bool = True) -> Spec:
    """The legend of series in as many columns as fit, above the titles of panels if these are `titled`."""
    return {"columns": max(1, int(room // (40 + 6.2 * longest(series)))), "offset": 26 if titled else 8}


def looks(series: Mapping[str, Style], *channels: str, legend: Spec | None = None) -> dict[str, Spec]:
    """The channels (color, fill, stroke, shape, strokeDash) of the field `series`, with one legend."""
    of = {"shape": "shape", "strokeDash": "dash"}
    return {
        channel: {
            "field": "series",
            "type": "nominal",
            "scale": {
                "domain": list(series),
                "range": [getattr(each, of.get(channel, "hue")) for each in series.values()],
            },
            "legend": legend if series else None,
        }
        for channel in channels
    }


def longest(names: Iterable[str]) -> float:
    """The length of the longest name in letters; letters of Korean and Chinese are nearly twice as wide."""
    return max((sum(1 if ord(letter) < 0x1100 else 1.8 for letter in name) for name in names), default=1)


def beside(names: Iterable[str]) -> float:
    """The width that is left for a panel beside the names of its bands."""
    return WIDTH - 34 - (1 + _WIDER) * _label(names)


def _label(names: Iterable[str]) -> float:
    return min(LABEL, 6.4 * longest(names))


def layer(mark: Spec | str, rows: Rows, **encoding: object) -> Spec:
    return {"mark": mark, "data": {"values": list(rows)}, "encoding": encoding}


def level(value: float = 0.0, *, across: str = "y", dashed: bool = False) -> Spec:
    """A line at a value."""
    mark: Spec = {"type": "rule", "color": SOFT, **({"strokeDash": [3, 3]} if dashed else {})}
    return {"mark": mark, "data": {"values": [{}]}, "encoding": {across: {"datum": value}}}


NOTE: Final[Spec] = {"description": {"field": "note"}}
"""What a pointer shows."""


def bars(rows: Rows, series: Mapping[str, Style], *, legend: Spec, thick: float = 1, **encoding: object) -> Spec:
    """A block for each row, with its note; `thick` is its share of a band."""
    mark: Spec = {"type": "bar" if thick < 1 else "rect", "aria": True, "stroke": "#fff", "strokeWidth": 0.6,
                  **({"height": {"band": thick}} if thick < 1 else {})}  # fmt: skip
    return layer(mark, rows, **encoding, **looks(series, "fill", legend=legend), **NOTE)


def stacked(parts: Iterable[tuple[str, float, str]]) -> list[dict[str, object]]:
    """Blocks on top of each other: series, length and note of each that has a length."""
    found, at = list[dict[str, object]](), 0.0
    for name, length, note in parts:
        if length:
            found.append({"series": name, "lo": at, "hi": at + length, "note": note})
            at += length
    return found


def lines(
    rows: Rows, series: Mapping[str, Style], x: Spec, y: Spec, *, marks: bool = True, legend: Spec | None = None
) -> list[Spec]:
    """Rows of `series, x, y`: a thin line for each `run`, where rows have one, and a thick one for their mean."""
    known = [row for row in rows if row["y"] is not None]
    hue = looks(series, "stroke", legend=legend)
    dash = looks(series, "strokeDash", legend=None if marks else legend)
    mean = {**y, "aggregate": "mean"}
    found = [
        layer({"type": "line", "strokeWidth": 0.9, "opacity": 0.45}, [row for row in known if "run" in row], x=x, y=y,
              detail={"field": "run"}, **hue),
        layer({"type": "line", "strokeWidth": 1.9}, known, x=x, y=mean, **hue, **dash),
    ]  # fmt: skip
    if marks:
        found.append(layer({"type": "point", "size": 36, "strokeWidth": 0, "opacity": 1}, known, x=x, y=mean,
                           **looks(series, "fill", "shape", legend=legend)))  # fmt: skip
    return found


def dots(rows: Rows, series: Mapping[str, Style], x: Spec, y: Spec, legend: Spec) -> list[Spec]:
    """Rows of `series, value, lo, hi, hollow` by name: a mark in its interval, the series below each other."""
    offset: Spec = {"field": "series", "type": "nominal", "scale": {"domain": list(series), "paddingOuter": 0.5}}
    measured = [row for row in rows if row.get("lo") is not None and row.get("hi") is not None]
    shown = looks(series, "fill", "stroke", "shape", legend=legend)
    shown["fill"] = {**shown["fill"], "condition": {"test": "datum.hollow", "value": "#fff"}}
    at = {"y": y, "yOffset": offset}
    return [
        layer({"type": "rule", "strokeWidth": 1.4}, measured, x={**x, "field": "lo"}, x2={"field": "hi"}, **at,
              stroke=shown["stroke"]),
        layer({"type": "point", "size": 55, "strokeWidth": 1.5, "opacity": 1},
              [row for row in rows if row.get("value") is not None], x=x, **at, **shown),
    ]  # fmt: skip


def strokes(rows: Rows, x: Spec, y: Spec, color: str = INK, size: float = 16) -> Spec:
    """Upright strokes at values."""
    return layer({"type": "tick", "thickness": 2, "size": size, "color": color, "opacity": 1}, rows, x=x, y=y)

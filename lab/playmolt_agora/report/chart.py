"""Charts as plain SVG: text stays text, colour is never the only sign, and equal data give equal bytes."""

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from playmolt_agora.report.markup import escaped

INK: Final = "#1b1f24"
SOFT: Final = "#57606a"
GRID: Final = "#dfe3e8"
BAND: Final = "#c9d1da"
FONT: Final = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans KR', sans-serif"
HUES: Final = ("#1765ad", "#b8500f", "#2c7d46", "#7a4aa5", "#a03050", "#60656b", "#8a6a00", "#0b7a86")
"""Each at least 4.5:1 on white."""
DASHES: Final = ("", "6 3", "2 3", "8 3 2 3", "10 4", "4 2", "1 3", "12 3 3 3")
SHAPES: Final = ("circle", "square", "triangle", "diamond")


class Style(msgspec.Struct, frozen=True):
    """What distinguishes a series: colour, dash and mark."""

    hue: str
    dash: str
    shape: str


def style(index: int) -> Style:
    """The style of the series number `index`; with many series colours repeat, dash and mark then differ."""
    turn = index // len(HUES)
    return Style(HUES[index % len(HUES)], DASHES[(index + turn) % len(DASHES)], SHAPES[(index + turn) % len(SHAPES)])


class Scale(msgspec.Struct, frozen=True):
    """A linear way from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value; an empty range maps to the middle."""
        if self.high == self.low:
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, most: int = 5) -> tuple[float, ...]:
    """At most `most` + 1 round numbers in the range."""
    if high <= low:
        return (low,)
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(number * step, 10) for number in range(first, last + 1))


def rounded_up(value: float) -> float:
    """The next round number that is at least `value`, for the end of an axis; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if factor * power >= value * (1 - 1e-9))


def label_of(value: float) -> str:
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return text.replace("-", "−") if text not in {"", "-0"} else "0"


def _px(value: float) -> str:
    text = f"{value:.1f}"
    return text.removesuffix(".0")


class ChartCanvas:
    """An SVG picture that grows by marks; coordinates in pixels from the upper left."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._marks: list[str] = []

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, hue: str = INK, width: float = 1, dash: str = ""
    ) -> None:
        self._marks.append(
            f'<line x1="{_px(x1)}" y1="{_px(y1)}" x2="{_px(x2)}" y2="{_px(y2)}" stroke="{hue}"'
            f' stroke-width="{_px(width)}"{_dashed(dash)}/>'
        )

    def path(
        self, points: Sequence[tuple[float, float]], *, hue: str, width: float = 1.8, dash: str = "", opacity: float = 1
    ) -> None:
        if len(points) < 2:
            return
        self._marks.append(
            f'<polyline points="{_points(points)}" fill="none" stroke="{hue}" stroke-width="{_px(width)}"'
            f' stroke-linejoin="round"{_dashed(dash)}{_opacity(opacity)}/>'
        )

    def area(self, points: Sequence[tuple[float, float]], *, hue: str, opacity: float = 1) -> None:
        self._marks.append(f'<polygon points="{_points(points)}" fill="{hue}"{_opacity(opacity)}/>')

    def rect(self, x: float, y: float, width: float, height: float, *, hue: str, note: str = "") -> None:
        """Fill a rectangle; `note` is shown to who points at it."""
        inner = f"<title>{escaped(note)}</title>" if note else ""
        self._marks.append(
            f'<rect x="{_px(x)}" y="{_px(y)}" width="{_px(max(0.0, width))}" height="{_px(max(0.0, height))}"'
            f' fill="{hue}">{inner}</rect>'
        )

    def curve(
        self, start: tuple[float, float], middle: tuple[float, float], end: tuple[float, float], *,
        hue: str, width: float, opacity: float, note: str,
    ) -> None:  # fmt: skip
        self._marks.append(
            f'<path d="M{_px(start[0])} {_px(start[1])}Q{_px(middle[0])} {_px(middle[1])} {_px(end[0])} {_px(end[1])}"'
            f' fill="none" stroke="{hue}" stroke-width="{_px(width)}"{_opacity(opacity)}>'
            f"<title>{escaped(note)}</title></path>"
        )

    def mark(self, shape: str, x: float, y: float, *, hue: str, size: float = 4, hollow: bool = False) -> None:
        """Set a mark: circle, square, triangle, diamond or bar (an upright stroke)."""
        paint = f'fill="#fff" stroke="{hue}" stroke-width="1.5"' if hollow else f'fill="{hue}"'
        if shape == "circle":
            self._marks.append(f'<circle cx="{_px(x)}" cy="{_px(y)}" r="{_px(size)}" {paint}/>')
        elif shape == "bar":
            self.line(x, y - size * 1.6, x, y + size * 1.6, hue=hue, width=2)
        else:
            corners = {
                "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
                "triangle": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
                "diamond": ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
            }[shape]
            around = [(x + size * dx * 0.9, y + size * dy * 0.9) for dx, dy in corners]
            self._marks.append(f'<polygon points="{_points(around)}" {paint}/>')

    def text(
        self, x: float, y: float, text: object, *, size: float = 11, hue: str = INK, anchor: str = "start",
        bold: bool = False, turned: bool = False,
    ) -> None:  # fmt: skip
        """Write a line of text; `turned` writes it upwards."""
        turn = f' transform="rotate(-90 {_px(x)} {_px(y)})"' if turned else ""
        weight = ' font-weight="600"' if bold else ""
        self._marks.append(
            f'<text x="{_px(x)}" y="{_px(y)}" font-size="{_px(size)}" fill="{hue}" text-anchor="{anchor}"'
            f"{weight}{turn}>{escaped(text)}</text>"
        )

    def svg(self, name: str, title: str, description: str) -> str:
        """The picture with its name for those who do not see it; `name` is unique on a page."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{name}-t {name}-d"'
            f' viewBox="0 0 {_px(self.width)} {_px(self.height)}" width="{_px(self.width)}"'
            f' height="{_px(self.height)}" font-family="{escaped(FONT)}">'
            f'<title id="{name}-t">{escaped(title)}</title><desc id="{name}-d">{escaped(description)}</desc>'
            f"{''.join(self._marks)}</svg>"
        )


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_px(x)},{_px(y)}" for x, y in points)


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def _opacity(opacity: float) -> str:
    return f' opacity="{opacity:.2f}"' if opacity < 1 else ""


class Panel:
    """A framed part of a drawing with an x and a y axis."""

    def __init__(
        self, drawing: ChartCanvas, left: float, top: float, width: float, height: float, *,
        x: tuple[float, float], y: tuple[float, float],
    ) -> None:  # fmt: skip
        self.drawing = drawing
        self.left, self.top, self.width, self.height = left, top, width, height
        self.x = Scale(x[0], x[1], left, left + width)
        self.y = Scale(y[0], y[1], top + height, top)

    def axes(
        self, *, title: str = "", note: str = "", x_label: str = "", y_label: str = "",
        x_ticks: Sequence[float] | None = None,
        y_ticks: Sequence[float] | None = None, x_names: bool = True, y_names: bool = True,
    ) -> None:  # fmt: skip
        """Draw grid, ticks and labels, `note` under the title; the names of ticks can be left to a neighbour."""
        bottom = self.top + self.height
        for value in ticks(self.y.low, self.y.high, 4) if y_ticks is None else y_ticks:
            at = self.y(value)
            self.drawing.line(self.left, at, self.left + self.width, at, hue=GRID)
            if y_names:
                self.drawing.text(self.left - 5, at + 3.5, label_of(value), size=10.8, hue=SOFT, anchor="end")
        for value in ticks(self.x.low, self.x.high) if x_ticks is None else x_ticks:
            at = self.x(value)
            self.drawing.line(at, bottom, at, bottom + 3, hue=SOFT)
            if x_names:
                self.drawing.text(at, bottom + 14, label_of(value), size=10.8, hue=SOFT, anchor="middle")
        self.drawing.line(self.left, bottom, self.left + self.width, bottom, hue=SOFT)
        if title:
            self.drawing.text(self.left, self.top - (19 if note else 6), title, size=11, bold=True)
        if note:
            self.drawing.text(self.left, self.top - 6, note, size=10.8, hue=SOFT)
        if x_label:
            self.drawing.text(self.left + self.width / 2, bottom + 29, x_label, size=10.8, hue=SOFT, anchor="middle")
        if y_label:
            middle = self.top + self.height / 2
            self.drawing.text(self.left - 34, middle, y_label, size=10.8, hue=SOFT, anchor="middle", turned=True)

    def level(self, value: float, *, hue: str = SOFT, dash: str = "") -> None:
        """Draw a line across at a value of y."""
        at = self.y(value)
        self.drawing.line(self.left, at, self.left + self.width, at, hue=hue, dash=dash)

    def series(
        self, points: Sequence[tuple[float, float]], look: Style, *, thin: bool = False, marks: bool = True
    ) -> None:
        """Draw a series; `thin` is one of many behind the one that counts."""
        at = [(self.x(x), self.y(y)) for x, y in points]
        self.drawing.path(
            at, hue=look.hue, width=0.9 if thin else 1.9, dash="" if thin else look.dash, opacity=0.45 if thin else 1
        )
        if marks and not thin:
            for x, y in at:
                self.drawing.mark(look.shape, x, y, hue=look.hue, size=3)

    def band(self, low: Sequence[tuple[float, float]], high: Sequence[tuple[float, float]]) -> None:
        around = [(self.x(x), self.y(y)) for x, y in low] + [(self.x(x), self.y(y)) for x, y in reversed(high)]
        self.drawing.area(around, hue=BAND, opacity=0.75)


def legend(
    drawing: ChartCanvas, x: float, y: float, entries: Sequence[tuple[str, Style]], *, lines: bool, right: float
) -> float:
    """Write what the series are, in rows up to `right`; gives the y below."""
    at = x
    for name, look in entries:
        length = 30 + 6.3 * len(name)
        if at + length > right and at > x:
            at, y = x, y + 17
        if lines:
            drawing.line(at, y - 4, at + 20, y - 4, hue=look.hue, width=1.9, dash=look.dash)
            drawing.mark(look.shape, at + 10, y - 4, hue=look.hue, size=3)
        else:
            drawing.rect(at + 6, y - 10, 12, 12, hue=look.hue)
        drawing.text(at + 24, y, name, size=11)
        at += length + 8
    return y + 17


def grid(count: int, columns: int) -> tuple[int, int]:
    """Rows and columns for `count` panels."""
    columns = max(1, min(columns, count))
    return max(1, math.ceil(count / columns)), columns

"""The drawings of a panel's report: shares, mean changes and orders with their intervals, as SVG."""

from collections.abc import Sequence
from html import escape
from typing import Final

import msgspec

_WIDTH: Final = 760
_LABEL: Final = 270
_RIGHT: Final = 90
_ROW: Final = 30
_HEAD: Final = 34
_FOOT: Final = 8


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a drawing: a value with its interval, if it has one. `note` is written after it."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """The values that a drawing covers, with those that have a line, and how they are written."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    middle: float
    """Where bars begin."""
    ends: tuple[str, str] = ("", "")
    """What is at the left and at the right."""


SHARES: Final = Scale(
        low=0.0, high=1.0, middle=0.0,
    ticks=((0.0, "0 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")),
)  # fmt: skip


def points(bars: Sequence[Bar], ends: tuple[str, str]) -> Scale:
    """A scale of points of stance around 0, wide enough for all values and intervals."""
    values = [abs(value) for bar in bars for value in (bar.value, bar.low, bar.high) if value is not None]
    most = next((each for each in (2, 5, 10, 15, 20, 30, 50) if each >= max(values, default=1)), 100)
    half = most / 2
    ticks = tuple((value, f"{value:+g}" if value else "0") for value in (-most, -half, 0, half, most))
    return Scale(low=-most, high=most, ticks=ticks, middle=0.0, ends=ends)


def drawn(title: str, bars: Sequence[Bar], scale: Scale) -> str:
    """Rows of bars from the middle of a scale; the line of a row is its interval."""
    top = _HEAD + (16 if any(scale.ends) else 0)
    height = top + _ROW * len(bars) + _FOOT
    lines = "".join(_tick(value, text, scale, top, height) for value, text in scale.ticks)
    rows = "".join(_row(bar, scale, top + _ROW * place) for place, bar in enumerate(bars))
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}">'
        f"{_ends(scale)}{lines}{rows}</svg>"
    )


def _x(value: float, scale: Scale) -> float:
    room = _WIDTH - _LABEL - _RIGHT
    share = (min(max(value, scale.low), scale.high) - scale.low) / (scale.high - scale.low)
    return round(_LABEL + room * share, 1)


def _ends(scale: Scale) -> str:
    left, right = scale.ends
    if not (left or right):
        return ""
    return (
        f'<text x="{_LABEL}" y="12" class="end">← {escape(left)}</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="12" class="end" text-anchor="end">{escape(right)} →</text>'
    )


def _tick(value: float, text: str, scale: Scale, top: int, height: int) -> str:
    x, strong = _x(value, scale), ' class="middle"' if value == scale.middle else ""
    return (
        f'<line x1="{x}" x2="{x}" y1="{top - 6}" y2="{height - _FOOT}"{strong}/>'
        f'<text x="{x}" y="{top - 11}" class="tick" text-anchor="middle">{escape(text)}</text>'
    )


def _row(bar: Bar, scale: Scale, y: int) -> str:
    middle = y + _ROW / 2
    label = f'<text x="{_LABEL - 12}" y="{middle + 4}" text-anchor="end">{escape(_cut(bar.label))}'
    label += f"<title>{escape(bar.label)}</title></text>"
    note = f'<text x="{_WIDTH - _RIGHT + 10}" y="{middle + 4}" class="note">{escape(bar.note)}</text>'
    if bar.value is None:
        return label + note
    start, end = sorted((_x(scale.middle, scale), _x(bar.value, scale)))
    side = "guilt" if bar.value > scale.middle else "innocence"
    shape = f'<rect x="{start}" y="{y + 7}" width="{max(end - start, 1.5)}" height="{_ROW - 14}" class="{side}"/>'
    if bar.low is None or bar.high is None:
        return label + shape + note
    low, high = _x(bar.low, scale), _x(bar.high, scale)
    whisker = (
        f'<path d="M{low} {middle - 5}V{middle + 5}M{low} {middle}H{high}M{high} {middle - 5}V{middle + 5}"'
        ' class="interval"/>'
    )
    return label + shape + whisker + note


def _cut(text: str, most: int = 38) -> str:
    """As much of a label as has room; letters of Hangul and Han are twice as wide."""
    room = most
    for at, letter in enumerate(text):
        room -= 2 if ord(letter) >= 0x1100 else 1
        if room < 0:
            return f"{text[: max(at - 1, 1)]}…"
    return text

"""Charts: axes that hold their data, series that can be told apart, pictures with a name."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_agora.report.chart import (
    BAND,
    HUES,
    INK,
    SOFT,
    ChartCanvas,
    Panel,
    Scale,
    legend,
    rounded_up,
    style,
    ticks,
)
from playmolt_agora.report.plots.figure import ACTION_STYLES, PLACE_STYLES

SVG = "{http://www.w3.org/2000/svg}"


def luminance(hue: str) -> float:
    parts = [int(hue[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 8))
@settings(max_examples=60)
def test_ticks_are_few_ascending_and_inside(low: float, span: float, most: int) -> None:
    found = ticks(low, low + span, most)
    assert 1 <= len(found) <= most + 1 or not found
    assert list(found) == sorted(set(found))
    slack = span * 1e-3 + 1e-9
    assert all(low - slack <= tick <= low + span + slack for tick in found)


@given(st.floats(1e-9, 1e9))
@settings(max_examples=60)
def test_an_axis_ends_at_a_round_number_not_far_above_its_data(value: float) -> None:
    assert value * (1 - 1e-6) <= rounded_up(value) <= 2 * value


def test_an_empty_range_is_drawn_in_the_middle() -> None:
    assert Scale(3, 3, 0, 100)(3) == 50
    assert rounded_up(0) == 1


@pytest.mark.parametrize("hue", [*HUES, INK, SOFT])
def test_lines_and_text_stand_out_from_white(hue: str) -> None:
    assert 1.05 / (luminance(hue) + 0.05) >= 4.5


def test_the_band_lies_behind_what_is_drawn_on_it() -> None:
    assert luminance(BAND) > max(luminance(hue) for hue in HUES)


def test_series_differ_in_more_than_colour() -> None:
    looks = [style(number) for number in range(24)]
    assert len(set(looks)) == 24
    assert len({(look.dash, look.shape) for look in looks[:4]}) == 4


def test_actions_and_places_have_colours_of_their_own() -> None:
    assert len({look.hue for look in ACTION_STYLES.values()}) == 6
    assert len({look.hue for look in PLACE_STYLES.values()}) == 3


def test_a_picture_is_xml_with_a_title_and_a_description() -> None:
    drawing = ChartCanvas(200, 100)
    panel = Panel(drawing, 20, 20, 150, 60, x=(0, 10), y=(0, 1))
    panel.axes(title="<b>&", note="n", x_label="x", y_label="y")
    panel.series([(0, 0), (10, 1)], style(0))
    panel.band([(0, 0)], [(0, 1)])
    panel.level(0.5)
    legend(drawing, 0, 10, [("a name", style(number)) for number in range(9)], lines=True, right=200)
    drawing.mark("bar", 5, 5, hue=INK)
    picture = ElementTree.fromstring(drawing.svg("fig-x", "A < B & C", "words\x00"))  # noqa: S314 -- our own text
    assert picture.attrib["role"] == "img"
    assert [picture.find(f"{SVG}{name}").text for name in ("title", "desc")] == ["A < B & C", "words�"]  # type: ignore[union-attr]
    assert picture.attrib["aria-labelledby"] == "fig-x-t fig-x-d"


def test_a_line_of_one_point_is_not_a_line() -> None:
    drawing = ChartCanvas(10, 10)
    drawing.path([(1, 1)], hue=INK)
    assert "polyline" not in drawing.svg("x", "x", "x")

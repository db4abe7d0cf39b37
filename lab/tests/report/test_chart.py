"""Charts: series that can be told apart, pictures with a name, equal bytes, files for print."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fontTools.ttLib import TTFont
from playmolt_agora.report import charts, vega
from playmolt_agora.report.charts import BAND, HUES
from playmolt_agora.report.plots.figure import ACTION_STYLES, PLACE_STYLES
from playmolt_agora.report.vega import INK, SOFT, Spec

SVG = "{http://www.w3.org/2000/svg}"
WIDER = 1.07
"""A reader's font beside the one that charts are measured with: DejaVu Sans is 1.06 times as wide."""


def luminance(hue: str) -> float:
    parts = [int(hue[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def chart(*, name: str = "a <b> & 기록관 档案员", note: str = "a note <c>\x00") -> Spec:
    """Blocks with notes beside lines, under names that are no markup."""
    looks = charts.styles([name, "other"])
    legend = charts.key(looks)
    blocks = charts.bars(
        [{"name": name, "note": note, **block} for block in charts.stacked([(name, 0.4, note), ("other", 0.6, note)])],
        looks, legend=legend, thick=0.5, x={**charts.axis("lo", "x", domain=(0, 1)), "field": "lo"},
        x2={"field": "hi"}, y=charts.band("name", [name]),
    )  # fmt: skip
    points = [{"series": name, "x": x, "y": -x / 10} for x in range(3)]
    lines = charts.lines(points, looks, charts.axis("x"), charts.axis("y"), legend=legend)
    return charts.grid(
        [charts.panel([blocks], 200, 30, title=name, note=name), charts.panel(lines, 200, 30, title="lines")], 2
    )


@pytest.mark.parametrize("hue", [*HUES, INK, SOFT])
def test_lines_and_text_stand_out_from_white(hue: str) -> None:
    assert 1.05 / (luminance(hue) + 0.05) >= 4.5


def test_the_band_lies_behind_what_is_drawn_on_it() -> None:
    assert luminance(BAND) > max(luminance(hue) for hue in HUES)


def test_series_differ_in_more_than_colour() -> None:
    looks = [charts.style(number) for number in range(24)]
    assert len(set(looks)) == 24
    assert len({(look.dash, look.shape) for look in looks[:4]}) == 4


def test_actions_and_places_have_colours_of_their_own() -> None:
    assert len({look.hue for look in ACTION_STYLES.values()}) == 6
    assert len({look.hue for look in PLACE_STYLES.values()}) == 3


def test_a_picture_is_xml_with_a_title_a_description_and_notes() -> None:
    svg = vega.draw(chart(), "fig-x", "A < B & C", "words\x00")
    picture = ElementTree.fromstring(svg)  # noqa: S314 -- our own text
    assert picture.attrib["role"] == "img"
    assert [picture.find(f"{SVG}{name}").text for name in ("title", "desc")] == ["A < B & C", "words�"]  # type: ignore[union-attr]
    assert picture.attrib["aria-labelledby"] == "fig-x-t fig-x-d"
    assert [each.text for each in picture.iterfind(f".//{SVG}path/{SVG}title")] == ["a note <c>�"] * 2
    texts = [each.text for each in picture.iter(f"{SVG}text")]
    assert texts.count("a <b> & 기록관 档案员") == 4, "title, line under it, band and legend"
    assert {"0.5", "−0.2", "other"} <= set(texts)
    assert float(picture.attrib["width"]) == vega.WIDTH


def test_a_picture_names_nothing_outside_and_has_no_id_but_its_own() -> None:
    svg = vega.draw(chart(), "fig-x", "title", "words")
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"url\(|href|<script|<style|class=", svg)
    assert re.findall(r' id="([^"]+)"', svg) == ["fig-x-t", "fig-x-d"]


def test_a_chart_without_panels_or_bands_is_an_empty_picture() -> None:
    assert "<text" not in vega.draw(charts.grid([], 3), "x", "x", "x")
    bars = charts.bars([], {}, legend=charts.key(()), x=charts.axis("x"), y=charts.band("name", []))
    empty = charts.grid([charts.panel([bars], 100, 0)], 1)
    assert vega.size(vega.draw(empty, "x", "x", "x"))[1] < 40


def left_edge(svg: str) -> float:
    """Where the leftmost text begins in a wider font, in which letters of Korean and Chinese are square."""
    font = TTFont(Path(vega.__file__).parent / "fonts" / "latin.otf")
    advances, glyphs, em = font["hmtx"], font.getBestCmap(), font["head"].unitsPerEm

    def begins(element: ElementTree.Element, x: float) -> list[float]:
        moved = re.match(r"translate\(([-\d.]+),", element.get("transform", ""))
        x += float(moved[1]) if moved else 0.0
        found = [start for child in element for start in begins(child, x)]
        if element.tag == f"{SVG}text":
            letters = [
                advances[glyphs[ord(each)]][0] / em if ord(each) in glyphs else 1.0 for each in element.text or ""
            ]
            wide = sum(letters) * float(element.get("font-size", 11)) * WIDER
            found.append(x - {"end": wide, "middle": wide / 2}.get(element.get("text-anchor", ""), 0.0))
        return found

    return min(begins(ElementTree.fromstring(svg), 0.0))  # noqa: S314 -- our own text


@pytest.mark.parametrize(
    "name",
    ["scripted-steady · ko", "model · Phase 2 · no persona ko", "provider/a-model-of-many-words-2501-preview · ko",
     "기록관이라는이름을가진아주긴모델 · ko", "档案员模型甲乙丙丁戊己庚辛壬癸 · en"],
)  # fmt: skip
def test_names_of_bands_begin_inside_the_picture_in_wider_fonts_too(name: str) -> None:
    looks = charts.styles(["one"])
    marks = charts.dots([{"name": name, "series": "one", "value": 0.5}], looks, charts.axis("value", "x"),
                        charts.band("name", [name]), charts.key(looks))  # fmt: skip
    svg = vega.draw(charts.banded(marks, [name], 40), "x", "x", "x")
    assert left_edge(svg) >= 0
    assert f"{name[-5:]}</text>" in svg, "what a long name ends in is seen"
    assert float(ElementTree.fromstring(svg).attrib["width"]) == vega.WIDTH  # noqa: S314 -- our own text


@pytest.mark.parametrize(("name", "font"), [("a <b> – ±0.5 Ärger", vega.LATIN), ("기록관 档案员", vega.WHOLE)])
def test_texts_are_as_wide_in_the_small_font_as_in_the_whole_one(name: str, font: str) -> None:
    spec = vega.configured(chart(name=name, note="a note"))
    assert f'"font": "{font}"' in spec
    assert vega.converted(spec).replace(font, vega.WHOLE) == vega.converted(spec.replace(font, vega.WHOLE))


def test_another_process_draws_equal_bytes() -> None:
    """Where no font of the machine is known, too: those of the text's metrics are installed with the laboratory."""
    program = (
        "from lab.tests.report.test_chart import chart\n"
        "from playmolt_agora.report import vega\n"
        "svg = vega.draw(chart(), 'x', 'y', 'z')\n"
        "import hashlib\n"
        "print(*(hashlib.sha256(each).hexdigest() for each in (svg.encode(), vega.pdf(svg, 't'), vega.png(svg, 72))))"
    )
    done = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
        for _ in range(2)
    ]
    assert done[0].stdout == done[1].stdout
    assert len(done[0].stdout.split()) == 3

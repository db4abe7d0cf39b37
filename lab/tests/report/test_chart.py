"""Charts: series that can be told apart, pictures with a name, equal bytes, files for print."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
import vl_convert
from fontTools.ttLib import TTFont
from playmolt_agora.report import vega
from playmolt_agora.report.plots.gallery import FIGURES
from playmolt_agora.report.plots.turns import CODES
from playmolt_agora.report.study import StudyData
from playmolt_agora.report.vega import Spec
from playmolt_schemas.stored.agora.turn import ACTIONS

SVG = "{http://www.w3.org/2000/svg}"
WIDER = 1.07
"""A reader's font beside the one that charts are measured with: DejaVu Sans is 1.06 times as wide."""
CHARTS: Final = Path(vega.__file__).parent / "charts"
LOOKS: Final[dict[str, Any]] = json.loads((CHARTS / "config.json").read_text("utf-8"))
HUES: Final[list[str]] = LOOKS["range"]["category"]
INK, SOFT, BAND = "#1b1f24", "#57606a", "#c9d1da"


def luminance(hue: str) -> float:
    parts = [int(hue[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


EVIL = "a <b> & 기록관 档案员"


def chart(name: str = EVIL, note: str = "a note <c>\x00") -> Spec:
    """Marks with notes under names that are no markup."""
    pairs = [
        {"panel": name, "agents": 2, "from": sender, "from_at": at, "to": target, "to_at": to, "times": 1 + at,
         "drawn": at != to, "note": f"{note}{at}{to}"}
        for at, sender in enumerate((name, "other")) for to, target in enumerate((name, "other"))
    ]  # fmt: skip
    return vega.chart("networks", pairs)


@pytest.mark.parametrize("hue", [*HUES, INK, SOFT])
def test_lines_and_text_stand_out_from_white(hue: str) -> None:
    assert 1.05 / (luminance(hue) + 0.05) >= 4.5


def test_the_band_lies_behind_what_is_drawn_on_it() -> None:
    assert luminance(BAND) > max(luminance(hue) for hue in HUES)
    assert BAND in (CHARTS / "pcs.vl.json").read_text("utf-8")


def test_series_differ_in_more_than_colour() -> None:
    shapes = LOOKS["range"]["symbol"]
    lines = json.loads((CHARTS / "windows.vl.json").read_text("utf-8"))["spec"]["layer"][1]["encoding"]
    dashes = [tuple(dash) for dash in lines["strokeDash"]["scale"]["range"]]
    for others in (shapes, dashes):
        assert len({(HUES[at % len(HUES)], others[at % len(others)]) for at in range(24)}) == 24
        assert len(set(others[:4])) == 4


def test_one_epoch_is_a_dot_and_more_are_lines() -> None:
    def dots(epochs: int) -> int:
        rows = [
            {"panel": "Stage 1", "x": epoch + 1, "y": 0.4, "run": run, "series": "ko"}
            for run in "ab" for epoch in range(epochs)
        ]  # fmt: skip
        svg = vega.draw(vega.chart("epochs", rows), "a", "b", "c")
        return len(re.findall(' d="[^"]*A[^"]*"', svg))

    assert [dots(epochs) for epochs in (1, 2)] == [1, 0]


def named(name: str, *path: str | int) -> list[str]:
    """What a specification lists at a place."""
    found: Any = json.loads((CHARTS / f"{name}.vl.json").read_text("utf-8"))
    for step in path:
        found = found[step]
    assert isinstance(found, list)
    return found


def test_specifications_list_the_actions_and_the_parse_codes_that_there_are() -> None:
    assert named("parse-codes", "layer", 0, "transform", 0, "fold") == [*CODES]
    assert named("parse-codes", "layer", 0, "encoding", "fill", "scale", "domain") == [*CODES]
    assert named("pcs-parts", "layer", 0, "transform", 0, "fold") == [f"contrib_{action}" for action in ACTIONS]
    assert named("pcs-parts", "layer", 0, "encoding", "fill", "scale", "domain") == [*ACTIONS]
    assert named("contrast-shares", "spec", "encoding", "y", "scale", "domain") == [*ACTIONS]


@pytest.mark.parametrize("path", sorted(CHARTS.glob("*.vl.json")), ids=lambda path: path.name)
def test_a_specification_has_an_example_of_its_rows(path: Path) -> None:
    spec = json.loads(path.read_text("utf-8"))
    svg = vega.draw(vega.chart(path.name.removesuffix(".vl.json"), spec["datasets"]["rows"]), "x", "x", "x")
    assert "Infinity" not in svg
    assert all(
        str(text).partition("\n")[0] in svg for text in spec["datasets"]["rows"][0].values() if isinstance(text, str)
    )


def test_no_text_becomes_part_of_an_expression(study: StudyData) -> None:
    """Data sets and the series of a compiled chart contain the texts from outside; nothing else does."""
    sketches = [figure.draw(study) for figure in FIGURES.values()]
    charts = [sketch.chart for sketch in sketches if sketch]
    assert len(charts) > 10
    texts = {"scripted-steady", "scripted-trader", "agent_01", "archivist", "agora-set-A-1"}
    for each in charts:
        compiled: Any = vl_convert.vegalite_to_vega(vega.configured(each), vl_version="6.4")
        compiled["data"] = [held for held in compiled["data"] if "values" not in held]
        compiled["signals"] = [held for held in compiled.get("signals", ()) if held["name"] != "series"]
        assert not [text for text in texts if text in json.dumps(compiled)]


def test_a_picture_is_xml_with_a_title_a_description_and_notes() -> None:
    svg = vega.draw(chart(), "fig-x", "A < B & C", "words\x00")
    picture = ElementTree.fromstring(svg)  # noqa: S314 -- our own text
    assert picture.attrib["role"] == "img"
    assert [picture.find(f"{SVG}{name}").text for name in ("title", "desc")] == ["A < B & C", "words�"]  # type: ignore[union-attr]
    assert picture.attrib["aria-labelledby"] == "fig-x-t fig-x-d"
    notes = [str(each.text) for each in picture.iterfind(f".//{SVG}path/{SVG}title")]
    assert sorted(notes) == [f"a note <c>�{pair}" for pair in ("00", "01", "01", "10", "10", "11")]
    texts = [each.text for each in picture.iter(f"{SVG}text")]
    assert texts.count(EVIL) == 2, "title and agent"
    assert {f"{EVIL} · 1", "other · 2", "from (down) to (across)"} <= set(texts)
    assert float(picture.attrib["width"]) == vega.WIDTH


def test_a_picture_names_nothing_outside_and_has_no_id_but_its_own() -> None:
    svg = vega.draw(chart(), "fig-x", "title", "words")
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"url\(|href|<script|<style|class=", svg)
    assert re.findall(r' id="([^"]+)"', svg) == ["fig-x-t", "fig-x-d"]


def test_a_chart_without_rows_is_an_empty_picture() -> None:
    for path in CHARTS.glob("*.vl.json"):
        svg = vega.draw(vega.chart(path.name.removesuffix(".vl.json"), []), "x", "x", "x")
        assert "<text" not in svg
        assert vega.size(svg)[1] < 40


@pytest.mark.parametrize("epochs", [2, 3, 20])
def test_epochs_are_whole_numbers(epochs: int) -> None:
    """However few they are: Vega would mark their halves."""
    points = [{"panel": "Stage 1", "x": at, "y": 10 * at, "run": "a", "series": "ko"} for at in range(1, epochs + 1)]
    svg = vega.draw(vega.chart("epochs", points, {"series": ["ko"], "domain": [100, 900]}), "n", "t", "d")
    marked = [float(text) for text in re.findall(r">([\d.]+)</text>", svg) if float(text) < 100]
    assert marked[-1] == epochs
    assert all(at == int(at) for at in marked)


@pytest.mark.parametrize("panels", [1, 2, 3, 7])
def test_panels_share_the_width_of_the_picture(panels: int) -> None:
    rows = [{"panel": f"p{at}", "from": 0, "to": 1, "series": "plaza", "share": 1} for at in range(panels)]
    spec: Any = vega.chart("shares", rows, {"series": ["plaza"]})
    assert spec["columns"] == min(4, panels)
    assert spec["columns"] * (spec["spec"]["width"] + 14) == pytest.approx(4 * (168 + 14))
    picture = ElementTree.fromstring(vega.draw(spec, "x", "x", "x"))  # noqa: S314 -- our own text
    assert float(picture.attrib["width"]) == vega.WIDTH
    titles = ["".join(each.itertext()) for each in picture.iter(f"{SVG}text")]
    assert [title for title in titles if title.startswith("p") and title != "plaza"] == [
        f"p{at}" for at in range(panels)
    ]


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
    rows = [{"name": name, "series": "one", "value": 0.5}]
    svg = vega.draw(vega.chart("contrasts", rows, {"series": ["one"]}), "x", "x", "x")
    assert left_edge(svg) >= 0
    assert f"{name[-5:]}</text>" in svg, "what a long name ends in is seen"
    assert float(ElementTree.fromstring(svg).attrib["width"]) == vega.WIDTH  # noqa: S314 -- our own text


@pytest.mark.parametrize(("name", "font"), [("a <b> – ±0.5 Ärger", vega.LATIN), ("기록관 档案员", vega.WHOLE)])
def test_texts_are_as_wide_in_the_small_font_as_in_the_whole_one(name: str, font: str) -> None:
    spec = vega.configured(chart(name, "a note"))
    assert f'"font": "{font}"' in spec
    assert vega.converted(spec).replace(font, vega.WHOLE) == vega.converted(spec.replace(font, vega.WHOLE))


def test_another_process_draws_equal_bytes() -> None:
    """Where no font of the machine is known, too: those of the text's metrics are installed with the laboratory."""
    program = (
        "from lab.tests.report.test_chart import chart\n"
        "from playmolt_agora.report import vega\n"
        "svg = vega.draw(chart(), 'x', 'y', 'z')\n"
        "import hashlib\n"
        "print(*(hashlib.sha256(each).hexdigest() for each in (svg.encode(), vega.png(svg, 72))))"
    )
    done = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
        for _ in range(2)
    ]
    assert done[0].stdout == done[1].stdout
    assert len(done[0].stdout.split()) == 2

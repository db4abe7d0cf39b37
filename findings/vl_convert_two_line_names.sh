#!/usr/bin/env bash
# vl-convert-python 1.9.0.post1 (draws Vega-Lite charts without a browser), installed 2026-11.
# Guess: a name at the left of its bar that is drawn in two lines (`labelExpr` that gives a list) has its middle beside the
#        middle of the bar, as `labelBaseline: middle`, the default there, says.
# Seen:  the first line has its middle beside the middle of the bar, and the second hangs below: the text is 6 pixels too
#        low with lines of 12 pixels. With bars of 18 the second line lies beside the next bar. A name of one line is right.
# Why it matters: in a chart of agents with long names each second line reads as the name of the bar below. Raise the text
#        by `labelOffset: -6`, or give the bars room for it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check vl-convert-python==1.9.0.post1
"$folder/venv/bin/python" - <<'PY'
import re

import vl_convert

STEP, LINE, SIZE = 18, 12, 10
NAMES = ["Ada archivist", "Bob merchant", "Cleo jester"]


def middles(axis):
    """For each bar, how far the middle of its name is below its own."""
    chart = vl_convert.vegalite_to_svg({
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": [{"agent": name, "points": 1} for name in NAMES]}, "mark": "bar", "height": {"step": STEP},
        "encoding": {
            "y": {"field": "agent", "type": "nominal", "axis": {"labelFontSize": SIZE, "labelLineHeight": LINE, **axis}},
            "x": {"field": "points", "type": "quantitative"},
        },
    })
    found = re.findall(r'<text[^>]*translate\([-\d.]+,([-\d.]+)\)[^>]*>((?:<tspan|Ada|Bob|Cleo).*?)</text>', chart)
    assert len(found) == len(NAMES), "the SVG is written in another way"
    # A line's middle is three tenths of its size above its baseline.
    lines = [max(1, text.count("<tspan")) for _, text in found]
    return [
        round(float(first) - 0.3 * SIZE + (count - 1) * LINE / 2 - (number + 0.5) * STEP)
        for number, ((first, _), count) in enumerate(zip(found, lines, strict=True))
    ]


one, two, raised = middles({}), middles({"labelExpr": "split(datum.label, ' ')"}), middles({
    "labelExpr": "split(datum.label, ' ')", "labelOffset": -LINE / 2,
})
print("pixels below the middle of the bar: one line", one, "two lines", two, "two lines, raised", raised)
assert one == [0, 0, 0], "it changed"
assert two == [LINE / 2] * 3, "it changed"
assert raised == [0, 0, 0], "it changed"
PY

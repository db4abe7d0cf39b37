#!/usr/bin/env bash
# Vega-Lite 6.4 as vl-convert-python 1.9.0.post1 holds it (draws charts without a browser), installed 2026-11.
# Guess: `"tickMinStep": 1` on a quantitative axis leaves no two ticks nearer than 1, so an axis of rounds has whole numbers;
#        with `"format": "d"` they are written as such.
# Seen:  from 0 to 4 the ticks are 0, 1, 2, 3, 4. From 1 to 3 they are 1, 1.5, 2, 2.5, 3, with "d" written as
#        "1 2 2 3 3", and from 1 to 2 as "1 2 2": the least step limits how many ticks are wished for, and the round step that
#        is then chosen may be half of it. An ordinal axis, or a list of `values`, has whole numbers only.
# Why it matters: rounds, windows and epochs begin at 1 and are often few. The axis then names the same round twice, at two
#        places, and a point of round 2 lies under the first of them or between the two.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check vl-convert-python==1.9.0.post1
"$folder/venv/bin/python" - <<'PY'
import re

import vl_convert


def ticks(first, last, kind="quantitative", **axis):
    """What is written at an axis of rounds."""
    chart = vl_convert.vegalite_to_svg({
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json", "mark": "point", "width": 300,
        "data": {"values": [{"round": number, "points": 1} for number in range(first, last + 1)]},
        "encoding": {
            "x": {"field": "round", "type": kind, "scale": {"zero": False} if kind == "quantitative" else {}, "axis": axis},
            "y": {"field": "points", "type": "quantitative", "axis": None},
        },
    })
    return re.findall(r">([\d.]+)</text>", chart)


for first, last, expected in ((0, 4, "0 1 2 3 4"), (1, 3, "1.0 1.5 2.0 2.5 3.0"), (1, 2, "1.0 1.5 2.0")):
    found = " ".join(ticks(first, last, tickMinStep=1))
    print(f"rounds {first} to {last}, tickMinStep 1: {found}")
    assert found == expected, "it changed"
for first, last, expected in ((1, 3, "1 2 2 3 3"), (1, 2, "1 2 2")):
    found = " ".join(ticks(first, last, tickMinStep=1, format="d"))
    print(f"rounds {first} to {last}, tickMinStep 1 and format d: {found}")
    assert found == expected, "it changed"
assert ticks(1, 3, "ordinal", labelAngle=0) == ["1", "2", "3"], "it changed"
assert ticks(1, 3, values=[1, 2, 3], format="d") == ["1", "2", "3"], "it changed"
PY

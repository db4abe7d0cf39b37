#!/usr/bin/env bash
# Vega-Lite 6.4 as vl-convert-python 1.9.0.post1 holds it (draws charts without a browser), installed 2026-11.
# Guess: `"sort": null` means the order of the data in every channel, so the panels of a facet come in that order, as the
#        bands of an axis and the entries of a legend do.
# Seen:  an axis and a legend follow the data. `facet`, `row` and `column` sort their panels by name nevertheless: null is
#        as good as nothing. A list of names is followed, and so is a number of the row
#        (`"sort": {"field": "number", "op": "min"}` after a window transform with `row_number`).
# Why it matters: a report that has put its experiments, phases or windows in order shows its panels in another one, where
#        "window 10" comes before "window 2", and its words and its pictures disagree.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check vl-convert-python==1.9.0.post1
"$folder/venv/bin/python" - <<'PY'
import re

import vl_convert

PHASES = ["pilot", "main", "follow-up"]
ROWS = [{"phase": phase, "points": number} for number, phase in enumerate(PHASES)]
POINTS = {"field": "points", "type": "quantitative"}


def shown(channel, **sort):
    """The phases as they follow each other in the picture."""
    phase = {"field": "phase", "type": "nominal", **sort}
    chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json", "data": {"values": ROWS},
        "transform": [{"window": [{"op": "row_number", "as": "number"}]}],
    }
    if channel == "facet":
        chart |= {"facet": phase, "columns": 3, "spec": {"mark": "point", "encoding": {"y": POINTS}}}
    else:
        chart |= {"mark": "point", "encoding": {channel: phase, "y": POINTS}}
    return re.findall(f">({'|'.join(PHASES)})<", vl_convert.vegalite_to_svg(chart))


for channel in ("x", "color", "facet", "row", "column"):
    found = shown(channel, sort=None)
    print(f"{channel}, sort: null:", *found)
    assert found == (PHASES if channel in ("x", "color") else sorted(PHASES)), "it changed"
for sort in (PHASES, {"field": "number", "op": "min"}):
    print("facet, sort:", sort, *shown("facet", sort=sort))
    assert shown("facet", sort=sort) == PHASES, "it changed"
PY

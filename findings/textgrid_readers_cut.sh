#!/usr/bin/env bash
# Readers of TextGrid, the form in which transcripts of hearings are aligned by Praat and by forced aligners: tgt 1.5, TextGrid 1.6.1,
# praatio 6.2.2, pympi-ling 1.71 (PyPI), installed 2026-11.
# Guess: all read the same texts and times; what one writes it reads again.
# Seen:  tgt cuts a text at " = " and takes off one more letter: "guilty = 3, not guilty = 1" is "guilt". It does so with the long
#        form that it writes itself, and not with the short form. praatio leaves out the last turn of a short file that has
#        no line break at its end, as those of tgt. TextGrid rounds times to five digits, so that the last turn ends after the
#        recording. pympi is right. Nothing is reported.
# Why it matters: counts and bids in a transcript lose their numbers, and the last words of a hearing, often its verdict, are
#        missing after a conversion. Compare the characters and the number of turns before and after, and end files with a line break.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tgt==1.5 TextGrid==1.6.1 praatio==6.2.2 pympi-ling==1.71 numpy==2.3.5
cd "$folder"
venv/bin/python -W ignore - <<'PY'
from pathlib import Path

import textgrid
import tgt
from praatio import textgrid as praatio
from pympi import Praat

END = 3.1234567
TURNS = [(0, 1, "guilty = 3, not guilty = 1"), (1, 2, "she said so"), (2, 2.5, ""), (2.5, END, "yes")]


def write(path, form):
    tier = tgt.IntervalTier(0, END, "judge", [tgt.Interval(*turn) for turn in TURNS])
    grid = tgt.TextGrid()
    grid.add_tier(tier)
    tgt.write_to_file(grid, path, format=form)


def read(path):
    return {
        "tgt": [(turn.start_time, turn.end_time, turn.text) for turn in tgt.read_textgrid(path, include_empty_intervals=True).tiers[0]],
        "TextGrid": [(turn.minTime, turn.maxTime, turn.mark) for turn in textgrid.TextGrid.fromFile(path)[0]],
        "praatio": [tuple(turn) for turn in praatio.openTextgrid(path, includeEmptyIntervals=True).getTier("judge").entries],
        "pympi": list(Praat.TextGrid(path).get_tier("judge").get_all_intervals()),
    }


texts = [text for *_, text in TURNS]
for form in ("long", "short"):
    write(f"{form}.TextGrid", form)
    found = read(f"{form}.TextGrid")
    for name, turns in found.items():
        print(f"{form}, {name}: {[text for *_, text in turns]}, ends at {float(turns[-1][1])}")
    assert found["tgt"][0][2] == ("guilt" if form == "long" else texts[0]), "it changed"
    assert [text for *_, text in found["praatio"]] == (texts if form == "long" else texts[:-1]), "it changed"
    assert [text for *_, text in found["pympi"]] == [text for *_, text in found["TextGrid"]] == texts, "it changed"
    assert found["TextGrid"][-1][1] > END == found["pympi"][-1][1], "it changed"
with Path("short.TextGrid").open("a") as file:
    file.write("\n")
turns = read("short.TextGrid")["praatio"]
print("with a line break, praatio:", [text for *_, text in turns])
assert [text for *_, text in turns] == texts, "it changed"
PY

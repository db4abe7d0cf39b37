#!/usr/bin/env bash
# pympi-ling 1.71 (reads and writes ELAN, the form of annotated recordings), installed 2026-11: `shift_annotations` to the left.
# Guess: after the first 950 ms of a recording are cut off, every turn begins and ends 950 ms earlier; a turn that was running then
#        begins at 0 and keeps its shifted end, 1100 becoming 150.
# Seen:  that turn begins at 0 and its end stays where it was, at 1100: it overlaps those after it on its own tier, and its length is
#        more than what was said. The returned lists name it with its old times, as "squashed". Turns that begin later, and all
#        turns moved to the right, are right. Turns that end before the cut are removed. `add_annotation` takes overlaps on one
#        tier too, which ELAN's own editor does not make.
# Why it matters: a person who speaks at a cut of a hearing gets up to the length of the cut in speaking time. Shift such
#        turns by hand, or cut between turns.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pympi-ling==1.71
"$folder/venv/bin/python" -W ignore - <<'PY'
from pympi import Eaf

TURNS = [(0, 400, "order"), (900, 1100, "guilty"), (1100, 2000, "not guilty")]


def shifted(by):
    hearing = Eaf(author="clerk")
    hearing.add_tier("jury")
    for turn in TURNS:
        hearing.add_annotation("jury", *turn)
    reported = hearing.shift_annotations(by)
    return sorted(hearing.get_annotation_data_for_tier("jury")), reported


for by, expected in (
    (-950, [(0, 1100, "guilty"), (150, 1050, "not guilty")]),
    (-1000, [(0, 1100, "guilty"), (100, 1000, "not guilty")]),
    (500, [(start + 500, end + 500, text) for start, end, text in TURNS]),
):
    found, reported = shifted(by)
    print(f"shifted by {by}: {found}, reported {reported}")
    assert found == expected, "it changed"
assert shifted(-950)[1] == ([("jury", 900, 1100, "guilty")], [("jury", 0, 400, "order")]), "it changed"

hearing = Eaf(author="clerk")
hearing.add_tier("jury")
for turn in ((0, 1000, "order"), (500, 1500, "guilty")):
    hearing.add_annotation("jury", *turn)
print("turns that overlap on one tier:", hearing.get_annotation_data_for_tier("jury"))
assert len(hearing.get_annotation_data_for_tier("jury")) == 2, "it changed"
PY

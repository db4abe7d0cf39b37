#!/usr/bin/env bash
# Readers of loosely written JSON, as models write it: dirtyjson 1.0.8, json-repair 0.64.6, json5 0.17.3, chompjs 1.4.1 (PyPI),
# installed 2026-11.
# Guess: what is not a number of JSON, such as a date or a score without quotation marks, is a text or an error; 010 is 10 or an error.
# Seen:  dirtyjson calculates: the date 2026-11-30 is the number 1985, the score 3-1 is 2, the vote 2/3 is 0.666…, and 010 is 8
#        (chompjs: 8 as well). json-repair gives the texts, and 10, but takes the first number of "2*3" and "6:3". json5
#        refuses all of them, chompjs all but 010.
# Why it matters: a reply of a model that leaves out quotation marks passes as an integer and meets the schema, with another
#        value than it wrote. Where the field is a number, compare it with the characters of the reply, or read strictly and ask again.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dirtyjson==1.0.8 json-repair==0.64.6 json5==0.17.3 chompjs==1.4.1
"$folder/venv/bin/python" - <<'PY'
import chompjs
import dirtyjson
import json5
import json_repair

REFUSED = "refused"


def read(load, text):
    try:
        return load(text)["value"]
    except ValueError:
        return REFUSED


for written, dirty, repaired, other in (
    ("2026-11-30", 1985, "2026-11-30", REFUSED),
    ("3-1", 2, "3-1", REFUSED),
    ("2/3", 2 / 3, "2/3", REFUSED),
    ("2*3", 6, 2, REFUSED),
    ("010", 8, 10, 8),
    ("6:3", REFUSED, 6, REFUSED),
):
    text = f'{{"value": {written}}}'
    found = [read(load, text) for load in (dirtyjson.loads, json_repair.loads, json5.loads, chompjs.parse_js_object)]
    print(f"{written}: dirtyjson {found[0]!r}, json-repair {found[1]!r}, json5 {found[2]!r}, chompjs {found[3]!r}")
    assert found == [dirty, repaired, REFUSED, other], "it changed"
PY

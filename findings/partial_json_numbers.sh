#!/usr/bin/env bash
# Readers of JSON that a model is still writing. Installed 2026-11: jiter 0.19.0 (in pydantic and OpenAI's SDK),
# partial-json-parser 0.2.1.1.post7, json-repair 0.64.6 (PyPI), partial-json 0.1.7, jsonrepair 3.15.0 (npm).
# Guess: what is not finished is left out or can be recognised: a number whose end has not arrived is no value yet, just as
#        jiter leaves out `tru` and a text without its closing quotation mark.
# Seen:  all five give the digits so far as the number: {"damages": 12 is 12, one token before it is 12000. jiter does so in
#        its strict partial mode, which holds unfinished texts back. After a point or an e, two leave the field out again,
#        so that a value appears, vanishes and comes back. Of a bare minus json-repair makes an empty text, jsonrepair a 0;
#        of `tru` both make the text "tru".
# Why it matters: a page or an agent that acts on fields as they arrive acts on 12. partial-json-parser and partial-json can
#        leave numbers out (`Allow`, without NUM); elsewhere a number counts once a character follows it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jiter==0.19.0 partial-json-parser==0.2.1.1.post7 json-repair==0.64.6
(cd "$folder" && npm init --yes > /dev/null && npm install --silent --no-audit --no-fund partial-json@0.1.7 jsonrepair@3.15.0)
cat > "$folder/read.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { Allow, parse } from "partial-json";
import { jsonrepair } from "jsonrepair";
const readers = {
  "partial-json": parse,
  "partial-json, no NUM": (text) => parse(text, Allow.ALL & ~Allow.NUM),
  "jsonrepair": (text) => JSON.parse(jsonrepair(text)),
};
const texts = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(Object.fromEntries(Object.entries(readers).map(([name, read]) => [name, texts.map((text) => { try { return read(text); } catch { return {}; } })]))));
JS
cd "$folder"
venv/bin/python - <<'PY'
import json
import subprocess

import jiter
import json_repair
from partial_json_parser import ALL, NUM, loads

TEXTS = ['{"damages": 12', '{"damages": 12.', '{"damages": -', '{"damages": tru', '{"damages": "tw', '{"damages": 12}']
readers = {
    "jiter": lambda text: jiter.from_json(text.encode(), partial_mode=True),
    "partial-json-parser": loads,
    "partial-json-parser, no NUM": lambda text: loads(text, ALL & ~NUM),
    "json-repair": json_repair.loads,
}
seen = {name: [read(text) for text in TEXTS] for name, read in readers.items()}
seen |= json.loads(subprocess.run(["node", "read.mjs"], input=json.dumps(TEXTS), capture_output=True, text=True, check=True).stdout)
found = {name: [each.get("damages", "-") for each in values] for name, values in seen.items()}
print(f"{'':28}", *TEXTS)
for name, values in found.items():
    print(f"{name:28}", values)
for name, values in found.items():
    assert values[0] == ("-" if "NUM" in name else 12), f"{name} changed"
    assert values[5] == 12 or "NUM" in name
assert found["jiter"] == [12, "-", "-", "-", "-", 12]
assert found["partial-json"][:2] == [12, "-"]
assert found["json-repair"][2:4] == ["", "tru"] and found["jsonrepair"][2:4] == [0, "tru"]
PY

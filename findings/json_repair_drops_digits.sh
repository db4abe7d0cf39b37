#!/usr/bin/env bash
# json-repair 0.64.6 (PyPI; repairs the JSON of language models), jsonrepair 3.15.0 (npm), installed 2026-11.
# Guess: what a model wrote where a number belongs becomes that number, or stays a text that a schema then refuses, or the
#        call raises: digits are never dropped.
# Seen:  json-repair drops them: 12 000 becomes 12, 10:30 becomes 10, 50% becomes 50, 1_000 becomes 1000 but 1,200 the text
#        "1,200". Of two objects with the same keys, or two lists, the last one alone is left; of objects with
#        other keys, a list. The npm package, of the same purpose, keeps texts or raises in each of these.
# Why it matters: 12 000 is how people write amounts in much of Europe. A sum that is a thousand times too small passes the
#        schema and is a finding of fact; nothing is raised. Ask the
#        model again instead.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check json-repair==0.64.6
(cd "$folder" && npm init --yes > /dev/null && npm install --silent --no-audit --no-fund jsonrepair@3.15.0)
cat > "$folder/read.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { jsonrepair } from "jsonrepair";
const read = (text) => { try { return JSON.parse(jsonrepair(text)); } catch { return "raises"; } };
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(read)));
JS
cd "$folder"
venv/bin/python - <<'PY'
import json
import subprocess

import json_repair

SEEN = {
    '{"damages": 12 000}': {"damages": 12},
    '{"damages": 12 000 000, "paid": 5}': {"damages": 12, "paid": 5},
    '{"at": 10:30}': {"at": 10},
    '{"share": 50%}': {"share": 50},
    '{"damages": 1,200}': {"damages": "1,200"},
    '{"damages": 1_000}': {"damages": 1000},
    '{"vote": "guilty"} {"vote": "not guilty"}': {"vote": "not guilty"},
    '{"vote": "guilty"} {"reason": "none"}': [{"vote": "guilty"}, {"reason": "none"}],
    '["guilty"] ["not guilty"]': ["not guilty"],
}
node = json.loads(subprocess.run(["node", "read.mjs"], input=json.dumps(list(SEEN)), capture_output=True, text=True, check=True).stdout)
for (text, value), other in zip(SEEN.items(), node):
    found = json_repair.loads(text)
    print(text, "| json-repair:", found, "| jsonrepair:", other)
    assert found == value, "it changed"
assert node[0] == node[2] == "raises" and node[3] == {"share": "50%"}, "jsonrepair changed"
PY

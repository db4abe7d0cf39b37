#!/usr/bin/env bash
# quicktype 26.0.0 (npm; writes types and readers for a JSON Schema in many languages), installed 2026-11: `oneOf` of kinds of moves.
# Guess: a bid with a value, and a pass with a reason, become two types, as in the schema; the reader refuses a bid without its value.
# Seen:  they become one class with the name of the first, Bid, with the type "bid" or "pass" and both fields optional. The readers
#        for Python and JavaScript take a bid without value, and one with the reason of a pass, which the schema refuses. Where
#        the two have a field of one name, an integer and a text, a bid may have the text. `minimum` and `maximum` do not count,
#        `additionalProperties: false` only in JavaScript. Of the values "sealed-offer" and "sealed_offer" in an `enum`, Python's
#        SEALED_OFFER is the one with the hyphen. Nothing is reported.
# Why it matters: a bot whose types are made from published schemas sends moves that the server refuses, and its reader takes
#        events that do not exist. Validate with the schema as well, or make a type for each move.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jsonschema==4.25.1 python-dateutil==2.9.0.post0
cd "$folder"
npm install --silent --no-audit --no-fund quicktype@26.0.0
cat > action.json <<'JSON'
{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "required": ["move", "seat"],
  "additionalProperties": false,
  "properties": {
    "move": {"oneOf": [{"$ref": "#/definitions/Bid"}, {"$ref": "#/definitions/Pass"}]},
    "seat": {"type": "integer", "minimum": 1, "maximum": 4},
    "form": {"enum": ["sealed-offer", "sealed_offer"]}
  },
  "definitions": {
    "Bid": {
      "type": "object",
      "required": ["type", "value", "by"],
      "properties": {"type": {"const": "bid"}, "value": {"type": "integer"}, "by": {"type": "integer"}},
      "additionalProperties": false
    },
    "Pass": {
      "type": "object",
      "required": ["type", "reason", "by"],
      "properties": {"type": {"const": "pass"}, "reason": {"type": "string"}, "by": {"type": "string"}},
      "additionalProperties": false
    }
  }
}
JSON
npx quicktype --src-lang schema --src action.json --lang python --python-version 3.7 --out action.py
npx quicktype --src-lang schema --src action.json --lang javascript --out action.js
cat > read.cjs <<'JS'
const { toAction } = require("./action.js");
const read = (action) => {
  try { toAction(JSON.stringify(action)); return true; } catch { return false; }
};
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(read)));
JS
venv/bin/python - <<'PY'
import json
import subprocess
from pathlib import Path

import action
import jsonschema

validator = jsonschema.Draft7Validator(json.loads(Path("action.json").read_text()))


def reads(value):
    try:
        action.action_from_dict(value)
    except (AssertionError, ValueError):
        return False
    return True


values = [
    {"move": {"type": "bid", "by": 1, "value": 3}, "seat": 1},
    {"move": {"type": "wait", "by": 1}, "seat": 1},
    {"move": {"type": "bid", "by": 1}, "seat": 1},
    {"move": {"type": "bid", "by": 1, "reason": "late"}, "seat": 1},
    {"move": {"type": "bid", "by": "first", "value": 3}, "seat": 1},
    {"move": {"type": "bid", "by": 1, "value": 3}, "seat": 9},
    {"move": {"type": "bid", "by": 1, "value": 3}, "seat": 1, "more": 0},
]
javascript = json.loads(subprocess.check_output(["node", "read.cjs", json.dumps(values)]))
for value, other in zip(values, javascript, strict=True):
    print(f"{value}: schema {validator.is_valid(value)}, Python {reads(value)}, JavaScript {other}")
assert [validator.is_valid(value) for value in values] == [True] + [False] * 6
assert [reads(value) for value in values] == [True, False, True, True, True, True, True], "it changed"
assert javascript == [True, False, True, True, True, True, False], "it changed"
print(action.Bid.__annotations__, {form.name: form.value for form in action.Form})
assert not hasattr(action, "Pass") and action.Form.SEALED_OFFER.value == "sealed-offer", "it changed"
PY

#!/usr/bin/env bash
# JSON Schema's `multipleOf` for amounts, installed 2026-11: jsonschema 4.26.0, fastjsonschema 2.22.3, jsonschema-rs 0.60.3 (PyPI),
# ajv 8.20.0, @cfworker/json-schema 4.1.6, @hyperjump/json-schema 1.18.0 (npm).
# Guess: 19.99 is a multiple of 0.01 in each of them, or in none, since all have the same floats; what one of them takes at the
#        border of a service the next one takes as well.
# Seen:  jsonschema and ajv, the most used of the two languages, refuse it, with 4.35, 0.07, 1.15 and 0.3 for 0.1, while 1.1 passes;
#        the other four take them all, and refuse 19.995. ajv's `multipleOfPrecision` makes it take them too.
# Why it matters: a sum that a client checked is refused by the server, or a model is asked again for a reply that is right, and only for some
#        amounts. Publish cents as integers, or a pattern of a text.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jsonschema==4.26.0 fastjsonschema==2.22.3 jsonschema-rs==0.60.3
(cd "$folder" && npm install --silent --no-audit --no-fund ajv@8.20.0 @cfworker/json-schema@4.1.6 @hyperjump/json-schema@1.18.0)
cat > "$folder/check.mjs" <<'JS'
import assert from "node:assert";
import { createRequire } from "node:module";
import { Validator } from "@cfworker/json-schema";
import { registerSchema, validate } from "@hyperjump/json-schema/draft-2020-12";
const Ajv = createRequire(import.meta.url)("ajv/dist/2020");
const draft = "https://json-schema.org/draft/2020-12/schema";
const rows = [[0.01, 19.99], [0.01, 4.35], [0.01, 0.07], [0.01, 1.15], [0.1, 0.3], [0.01, 1.1], [0.01, 19.995]];
const seen = { ajv: [], "ajv with a precision": [], cfworker: [], hyperjump: [] };
for (const [step, value] of rows) {
  const schema = { type: "number", multipleOf: step }, id = `https://example.org/${step}/${value}`;
  registerSchema({ $schema: draft, ...schema }, id);
  seen.ajv.push(new Ajv().validate(schema, value));
  seen["ajv with a precision"].push(new Ajv({ multipleOfPrecision: 6 }).validate(schema, value));
  seen.cfworker.push(new Validator(schema, "2020-12").validate(value).valid);
  seen.hyperjump.push((await validate(id, value)).valid);
}
const exact = [true, true, true, true, true, true, false], floats = [false, false, false, false, false, true, false];
for (const [name, taken] of Object.entries(seen)) console.log(name.padEnd(22), taken.map((yes) => (yes ? "taken" : "refused")).join(" "));
assert.deepEqual(seen, { ajv: floats, "ajv with a precision": exact, cfworker: exact, hyperjump: exact }, "it changed");
JS
node "$folder/check.mjs"
"$folder/venv/bin/python" - <<'PY'
import fastjsonschema
import jsonschema
import jsonschema_rs

ROWS = [(0.01, 19.99), (0.01, 4.35), (0.01, 0.07), (0.01, 1.15), (0.1, 0.3), (0.01, 1.1), (0.01, 19.995)]


def fast(schema, value):
    try:
        fastjsonschema.validate(schema, value)
    except fastjsonschema.JsonSchemaValueException:
        return False
    return True


libraries = {
    "jsonschema": lambda schema, value: jsonschema.Draft202012Validator(schema).is_valid(value),
    "fastjsonschema": fast,
    "jsonschema-rs": jsonschema_rs.is_valid,
}
seen = {name: [taken({"type": "number", "multipleOf": step}, value) for step, value in ROWS] for name, taken in libraries.items()}
for name, row in seen.items():
    print(f"{name:22}", *("taken" if taken else "refused" for taken in row))
exact, floats = [True] * 6 + [False], [False] * 5 + [True, False]
assert seen == {"jsonschema": floats, "fastjsonschema": exact, "jsonschema-rs": exact}, "it changed"
PY

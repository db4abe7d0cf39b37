#!/usr/bin/env bash
# @mlc-ai/web-xgrammar 0.1.27 (npm; holds a model's reply to a JSON Schema while it is written), ajv 8.20.0, installed 2026-11. xgrammar
# 0.2.9 of PyPI, used by servers of models and with 7 GB too large for this script, answers alike, with better bounds of numbers.
# Guess: what the schema takes can be written, and what it refuses cannot, or the keyword is refused by name; order of fields aside.
# Seen:  beside `anyOf` or `$ref` the object's own fields are dropped: a move with its kind cannot be written, one without it
#        can. Lengths beside `$ref`, ranges beside `enum` and with `allOf` everything is dropped, so that a text passes as a number.
#        Narrower: a pattern has to match the whole text, a text with a length holds no quotation mark and no line break. A number
#        from 0 on cannot be 0.5; from 0 to 1 it may be 1.5, but has six decimals at most (0.2.9: six decimals in both, and
#        no 1.5). `allOf` alone prints a warning.
# Why it matters: a game's schema "kind, and one of these" takes the kind out of every answer, and a word limit takes the
#        line breaks out of a speech; the model is blamed. Write the shared fields into each branch, and count words afterwards.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @mlc-ai/web-xgrammar@0.1.27 ajv@8.20.0
cp node_modules/@mlc-ai/web-xgrammar/lib/index.js grammar.cjs  # written for browsers; Node takes it as CommonJS alone
cat > compare.mjs <<'JS'
import assert from "node:assert";
import { createRequire } from "node:module";
import { Ajv2020 } from "ajv/dist/2020.js";

const { Grammar, Testings } = createRequire(import.meta.url)("./grammar.cjs");
const ajv = new Ajv2020({ strict: false });
const [text, number] = [{ type: "string" }, { type: "integer" }];
const needs = (name, schema) => ({ properties: { [name]: schema }, required: [name] });
const either = [needs("card", number), needs("target", text)];
const seat = { $defs: { seat: { type: "object", ...needs("seat", number) }, name: { type: "string", minLength: 1 } } };
const BOTH = { kind: "play", card: 1 };
// A schema, and texts on which the two disagree, with the schema's answer.
const CASES = {
  "fields beside anyOf": [{ type: "object", ...needs("kind", text), anyOf: either }, { [JSON.stringify(BOTH)]: true, '{"card": 1}': false }],
  "fields beside $ref": [{ ...seat, $ref: "#/$defs/seat", ...needs("kind", text) }, { '{"seat": 1, "kind": "play"}': true, '{"seat": 1}': false }],
  "length beside $ref": [{ ...seat, $ref: "#/$defs/name", maxLength: 3 }, { '"abcd"': false }],
  "range beside enum": [{ enum: [1, 2, 3], minimum: 2 }, { 1: false }],
  "allOf, range in two": [{ allOf: [{ type: "integer", minimum: 10 }, { maximum: 20 }] }, { 25: false, '"a text"': false }],
  "pattern, not the whole text": [{ type: "string", pattern: "^b" }, { '"bc"': true }],
  "number from 0 on": [{ type: "number", minimum: 0 }, { 0.5: true, 0.1234567: true }],
  "number from 0 to 1": [{ type: "number", minimum: 0, maximum: 1 }, { 1.5: false, 0.1234567: true, "1e-1": true }],
  "text with a length": [{ type: "string", maxLength: 200 }, { '"a\\nb"': true, '"say \\"no\\""': true }],
  "list without repeats": [{ type: "array", items: number, uniqueItems: true }, { "[1, 1]": false }],
};
const AGREED = {
  "anyOf alone": [{ anyOf: either.map((branch) => ({ type: "object", ...branch })) }, ['{"card": 1}'], ['{"card": "a"}']],
  "fields in each branch": [{ anyOf: either.map((branch) => ({ type: "object", properties: { kind: text, ...branch.properties },
    required: ["kind", ...branch.required] })) }, ['{"kind": "play", "card": 1}'], ['{"card": 1}']],
  "number": [{ type: "number" }, ["0.1234567", "1e1"], ['"a"']],
  "six decimals": [{ type: "number", minimum: 0, maximum: 1 }, ["0.123456"], ["2.5"]],
  "text": [text, ['"a\\nb"', '"say \\"no\\""'], ["1"]],
  "length": [{ type: "string", maxLength: 3 }, ['"abc"'], ['"abcd"']],
};
const spaced = (value) => value.replace(/([:,])(?=\S)/g, "$1 ");
const writes = async (schema, value) => Testings.isGrammarAcceptString(await Grammar.fromJSONSchema(JSON.stringify(schema)), spaced(value));
for (const [name, [schema, values]] of Object.entries(CASES)) {
  for (const [value, right] of Object.entries(values)) {
    const found = await writes(schema, value);
    console.log(`${name}: ${value} schema ${right}, grammar ${found}`);
    assert.strictEqual(ajv.validate(schema, JSON.parse(value)), right);
    assert.strictEqual(found, !right, "it changed");
  }
}
for (const [name, [schema, right, wrong]] of Object.entries(AGREED)) {
  for (const value of right) assert(ajv.validate(schema, JSON.parse(value)) && (await writes(schema, value)), name);
  for (const value of wrong) assert(!ajv.validate(schema, JSON.parse(value)) && !(await writes(schema, value)), name);
}
JS
node compare.mjs

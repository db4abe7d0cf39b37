#!/usr/bin/env bash
# json-schema-to-typescript 16.0.0 (npm), types from a JSON Schema of 2020-12, installed 2026-11.
# Guess: a type takes each value that the schema takes; where TypeScript cannot say as much, it is wider. A pair written with
#        `prefixItems` is [string, number], as it is with the older `items: [...]`.
# Seen:  with `"items": false`, which closes a pair, it is `never[]`: only the empty list fits. Without `items` it is `unknown[]`. "Not a
#        text" becomes an object, so that numbers and null are refused. Wider than it need be: `oneOf` of `required` beside properties
#        takes away `additionalProperties: false` and both names; required fields that `properties` does not name are gone; a pattern of
#        names holds for all names. `const` and `enum` of anything are exact.
# Why it matters: pairs of offers and positions on a board are schemas with `prefixItems`; a bot that is typed by them cannot write a right
#        move without a cast, and compiles with a wrong field. Name the parts: an object with two required fields is exact.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund json-schema-to-typescript@16.0.0 ajv@8.20.0
cat > types.mjs <<'JS'
import assert from "node:assert";
import { Ajv2020 } from "ajv/dist/2020.js";
import { compile } from "json-schema-to-typescript";

const [text, number] = [{ type: "string" }, { type: "integer" }];
const field = (schema) => ({ properties: { field: schema }, required: ["field"] });
const pair = { type: "array", prefixItems: [text, number] };
const either = { oneOf: [{ required: ["card"] }, { required: ["target"] }] };
// A schema, a value that it takes, its type.
const CASES = {
  "pair, closed": [field({ ...pair, items: false }), { field: ["ada", 1] }, "{ field: never[]; }"],
  "pair, closed, both needed": [field({ ...pair, items: false, minItems: 2 }), { field: ["ada", 1] }, "{ field: never[]; }"],
  "pair, open": [field(pair), { field: ["ada", 1] }, "{ field: unknown[]; }"],
  "not a text": [field({ not: text }), { field: 3 }, "{ field: { [k: string]: unknown; }; }"],
  "one of two": [{ properties: { card: number, target: text }, ...either }, { card: 1 }, "{ card?: number; target?: string; } & { [k: string]: unknown; }"],
  "required, unnamed": [{ properties: { card: number }, required: ["card", "target"] }, { card: 1, target: "ben" }, "{ card: number; }"],
  "names by pattern": [{ patternProperties: { "^seat": number } }, { seat1: 1 }, "{ [k: string]: number; }"],
  "const, an object": [field({ const: { seat: 1 } }), { field: { seat: 1 } }, "{ field: {seat: 1}; }"],
  "enum, mixed": [field({ enum: ["a", null, 1] }), { field: null }, '{ field: "a" | null | 1; }'],
};
for (const [name, [schema, value, expected]] of Object.entries(CASES)) {
  const closed = { type: "object", additionalProperties: false, ...schema };
  // The required field of this case is not among its properties: it may be added.
  if (name === "required, unnamed") closed.additionalProperties = text;
  assert(new Ajv2020({ strict: false }).validate(closed, value));
  const made = (await compile(structuredClone(closed), "Top", { bannerComment: "" })).replace(/\/\*\*[\s\S]*?\*\//g, "");
  const type = made.replace(/^\s*export (interface|type) Top( =)?/, "").replace(/\s+/g, " ").replace(/;\s*$/, ";").trim().replace(/(?<=\}) ?;$/, "");
  console.log(`${name}: ${JSON.stringify(value)} is valid, the type is ${type}`);
  if (name === "required, unnamed") assert(!type.includes("target"), "it changed");
  else assert.strictEqual(type, expected, "it changed");
}
const old = await compile({ type: "object", ...field({ type: "array", items: [text, number], minItems: 2, maxItems: 2 }) }, "Top");
assert(old.includes("field: [string, number];"));
JS
node types.mjs

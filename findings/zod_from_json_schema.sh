#!/usr/bin/env bash
# zod 4.6.7 (`z.fromJSONSchema`), ajv 8.20.0 (npm): the schema of a tool's arguments or of a reply, installed 2026-11.
# Guess: the zod schema accepts what the JSON Schema accepts, and a keyword that zod does not have is refused by name, as `not`, `if`
#        and `dependentRequired` are.
# Seen:  much is dropped without a word: a required field that `properties` does not name; every keyword where `type` is missing,
#        `properties` included, so that branches without `type` match everything: `anyOf` of them accepts all, `oneOf` refuses
#        all; what is beside `$ref` and beside `enum`, a `type` too. A `const` that is an object or a list matches nothing.
# Why it matters: a move of a game is often an object whose branches say which fields go together. With `anyOf` a client lets
#        wrong moves pass, with `oneOf` it refuses right ones, and the server with another library disagrees. Write `type` in each
#        branch, or validate with a library for JSON Schema.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund zod@4.6.7 ajv@8.20.0
cat > compare.mjs <<'JS'
import assert from "node:assert";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as z from "zod";

const ajv = new Ajv2020({ strict: false });
const text = { type: "string" };
const WRONG = {
  "required alone": [{ type: "object", required: ["seat"] }, {}],
  "no type: bound": [{ minimum: 3 }, 2],
  "no type: properties": [{ properties: { seat: text }, required: ["seat"] }, { seat: 1 }],
  "beside $ref": [{ $defs: { name: text }, $ref: "#/$defs/name", minLength: 3 }, "ab"],
  "beside enum": [{ type: "integer", enum: [1, 2, 3], minimum: 2 }, 1],
  "type of enum": [{ type: "string", enum: ["one", 1] }, 1],
  "anyOf beside properties": [
    { type: "object", properties: { move: text }, required: ["move"], anyOf: [{ required: ["card"] }, { required: ["target"] }] },
    { move: "play" },
  ],
};
for (const [name, [schema, value]] of Object.entries(WRONG)) {
  const found = [ajv.validate(schema, value), z.fromJSONSchema(schema).safeParse(value).success];
  console.log(`${name}: ${JSON.stringify(value)} ajv ${found[0]}, zod ${found[1]}`);
  assert.deepStrictEqual(found, [false, true], "it changed");
}
for (const value of [{ seat: 1 }, ["ana"]]) {
  const found = [ajv.validate({ const: value }, value), z.fromJSONSchema({ const: value }).safeParse(value).success];
  console.log(`const: ${JSON.stringify(value)} ajv ${found[0]}, zod ${found[1]}`);
  assert.deepStrictEqual(found, [true, false], "it changed");
}
const branches = [{ properties: { move: { const: "pass" } } }, { properties: { move: { const: "play" } }, required: ["card"] }];
for (const [move, right] of [[{ move: "pass" }, true], [{ move: "play", card: 1 }, true], [{ move: "play" }, false]]) {
  for (const [keyword, expected] of [["anyOf", true], ["oneOf", false]]) {
    const schema = { type: "object", properties: { move: text }, [keyword]: branches };
    const found = [ajv.validate(schema, move), z.fromJSONSchema(schema).safeParse(move).success];
    console.log(`${keyword} of moves: ${JSON.stringify(move)} ajv ${found[0]}, zod ${found[1]}`);
    assert.deepStrictEqual(found, [right, expected], "it changed");
  }
}
for (const schema of [{ not: text }, { type: "object", if: {}, then: {} }, { type: "object", dependentRequired: { a: ["b"] } }]) {
  assert.throws(() => z.fromJSONSchema(schema), /not supported/);
}
for (const [schema, value] of [
  [{ type: "integer", minimum: 3 }, 2],
  [{ type: "object", properties: { seat: text }, required: ["seat"] }, {}],
  [{ type: "object", minProperties: 1 }, {}],
]) {
  assert.strictEqual(z.fromJSONSchema(schema).safeParse(value).success, false);
}
JS
node compare.mjs

#!/usr/bin/env bash
# @asyncapi/modelina 5.10.1 (npm; writes classes for the schemas of an AsyncAPI document), installed 2026-11: votes by agent.
# Guess: an object with `additionalProperties` gets a type that `marshal` writes and `unmarshal` reads, as the other fields have it;
#        `JSON.stringify` of an instance gives the JSON of the schema, or is not needed.
# Seen:  in TypeScript the field is a Map<string, number>, and `marshal` writes a Map as {}: votes {"kim": 2} are gone. `unmarshal`
#        puts a plain object there, which marshals well and has no `get`, though the type says Map. `JSON.stringify` writes
#        the private names, "_seat" for "seat". In Python "game-id" and "game_id" become one field, and the class of a move
#        whose `type` is a `const` is not Python. Nothing is reported.
# Why it matters: a bot made from the published document sends moves without votes, offers or bids by item, and its compiler and
#        its tests of what it receives find nothing. Use `modelType: "interface"` and JSON.stringify.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @asyncapi/modelina@5.10.1 typescript@5.9.3
cat > make.cjs <<'JS'
const assert = require("node:assert");
const { writeFileSync } = require("node:fs");
const { PYTHON_PYDANTIC_PRESET, PythonGenerator, TS_COMMON_PRESET, TypeScriptGenerator } = require("@asyncapi/modelina");
const ts = require("typescript");

const numbers = { type: "object", additionalProperties: { type: "integer" } };
const action = { $id: "Action", type: "object", required: ["seat"], properties: { seat: { type: "integer" }, votes: numbers } };
const names = { $id: "Names", type: "object", additionalProperties: false, properties: { "game-id": { type: "string" }, game_id: { type: "string" } } };
const bid = { $id: "Bid", type: "object", additionalProperties: false, required: ["type"], properties: { type: { const: "bid" } } };
const draft = (schema) => ({ $schema: "http://json-schema.org/draft-07/schema#", ...schema });

async function main() {
  const generator = new TypeScriptGenerator({ presets: [{ preset: TS_COMMON_PRESET, options: { marshalling: true } }] });
  const [{ result }] = await generator.generate(draft(action));
  const { outputText } = ts.transpileModule(result + "\nmodule.exports = Action;", { compilerOptions: { target: "ES2022", module: "CommonJS" } });
  writeFileSync("action.cjs", outputText);
  const Action = require("./action.cjs");
  const made = new Action({ seat: 1, votes: new Map([["kim", 2]]) });
  const read = Action.unmarshal('{"seat": 1, "votes": {"kim": 2}}');
  console.log("declared:", result.match(/_votes\?: .*;/)[0], "made:", made.marshal(), "read:", read.marshal(), read.votes instanceof Map);
  console.log("JSON.stringify:", JSON.stringify(read));
  assert(result.includes("_votes?: Map<string, number>"), "it changed");
  assert.deepEqual(JSON.parse(made.marshal()), { seat: 1, votes: {} }, "it changed");
  assert.deepEqual(JSON.parse(read.marshal()), { seat: 1, votes: { kim: 2 } }, "it changed");
  assert(!(read.votes instanceof Map) && "_seat" in JSON.parse(JSON.stringify(read)), "it changed");

  const python = new PythonGenerator({ presets: [PYTHON_PYDANTIC_PRESET] });
  const [[fields], [move]] = [await python.generate(draft(names)), await python.generate(draft(bid))];
  console.log(fields.result + "\n" + move.result);
  assert.equal(fields.result.match(/Field\(/g).length, 1, "it changed");
  assert(move.result.includes("default=''bid''"), "it changed");
}

main();
JS
node make.cjs

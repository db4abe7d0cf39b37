#!/usr/bin/env bash
# tableschema 1.12.6 (npm; reads CSV files by the Table Schema that data packages have), installed 2026-11: moments and numbers.
# Guess: "2026-07-01T12:00:00Z" is noon in UTC everywhere, fractions of a second and "+02:00" may follow as in ISO 8601, and a column of
#        1, 2, 3 and 4.5 is inferred as numbers.
# Seen:  the Z is a letter: read in Berlin the moment is 10:00 in UTC, in New York 16:00. With a fraction or an offset the value is
#        refused. The format "any", and "%Y-%m-%dT%H:%M:%SZ", are read as UTC, so that one file has two clocks. The column is
#        inferred as "any", and `read` then gives texts; so is one of 1, 2 and an empty cell.
# Why it matters: the moves of an export are hours away from those that another reader gives, by the zone of the machine, and "4.5" + 1 is
#        "4.51". Set TZ=UTC where it runs, give `format: "any"`, and write the types into the package.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund tableschema@1.12.6
cat > moments.mjs <<'JS'
import tableschema from "tableschema";

const { Field, Table, infer } = tableschema;
function read(text, format = "default") {
  try {
    return new Field({ name: "at", type: "datetime", format }).castValue(text).toISOString().slice(0, 19);
  } catch {
    return "refused";
  }
}
const types = async (...values) => (await infer([["x"], ...values.map((value) => [value])])).fields[0].type;
const table = await Table.load([["x"], ["1"], ["2"], ["3"], ["4.5"]]);
await table.infer();
console.log(JSON.stringify([
  read("2026-07-01T12:00:00Z"),
  read("2026-07-01T12:00:00Z", "any"),
  read("2026-07-01T12:00:00Z", "%Y-%m-%dT%H:%M:%SZ"),
  read("2026-07-01T12:00:00.5Z"),
  read("2026-07-01T12:00:00+02:00"),
  await types("1", "2", "3"),
  await types("1", "2", "3", "4.5"),
  await types("1", "2", ""),
  (await table.read()).at(-1)[0],
]));
JS
cat > check.mjs <<'JS'
import assert from "node:assert";
import { execFileSync } from "node:child_process";

for (const [zone, hour] of [["UTC", "12"], ["Europe/Berlin", "10"], ["America/New_York", "16"]]) {
  const found = execFileSync("node", ["--no-deprecation", "moments.mjs"], { env: { ...process.env, TZ: zone }, encoding: "utf8" });
  console.log(zone, found.trim());
  const noon = "2026-07-01T12:00:00";
  assert.deepStrictEqual(JSON.parse(found),
    [noon.replace("T12", `T${hour}`), noon, noon, "refused", "refused", "integer", "any", "any", "4.5"], "it changed");
}
JS
node check.mjs

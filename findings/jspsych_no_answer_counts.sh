#!/usr/bin/env bash
# jspsych 8.3.0 (npm; experiments in a browser, and the data that they collect), installed 2026-11: trials without an answer.
# Guess: a trial whose time to answer (`rt`) is null, as it is when the time runs out, counts in none of the statistics of a column, or makes
#        all of them NaN; in CSV it is an empty cell, as where a column is missing. `filter` gives a selection that can be changed by itself.
# Seen:  `mean` leaves null out; `median`, `sd`, `variance`, `min` and `sum` take it as 0, and `count` counts it: of 400, 600 and 800 and two
#        trials without an answer the mean is 600 and the median 400, the least 0. In CSV null is the word "null", what is
#        missing is an empty cell. `addToAll` on a selection changes the trials of the whole.
# Why it matters: agents and people who let the time run out look fast in each figure but one, and a reader makes the column
#        a text because of "null". Take `subset((value) => value !== null)` first.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund jspsych@8.3.0
cat > column.cjs <<'JS'
const assert = require("node:assert");
globalThis.window ??= globalThis;
const { DataCollection } = require("jspsych");

const trials = [400, null, 600, null, 800].map((rt, trial) => ({ trial, rt, ...(trial > 2 && { vote: "no" }) }));
const data = new DataCollection(trials);
const figures = (column) => Object.fromEntries(
  ["mean", "median", "sd", "min", "max", "sum", "count"].map((name) => [name, Math.round(column[name]() * 10) / 10]));
const all = figures(data.select("rt"));
const answered = figures(data.select("rt").subset((value) => value !== null));
console.log("all", all);
console.log("answered", answered);
assert.deepStrictEqual(answered, { mean: 600, median: 600, sd: 200, min: 400, max: 800, sum: 1800, count: 3 });
assert(all.mean === 600 && all.median === 400 && all.min === 0 && all.count === 5 && all.sd > 400, "it changed");

const rows = data.csv().trim().split("\r\n");
console.log(rows);
assert.strictEqual(rows[2], '"1","null",""', "it changed");

data.filter({ vote: "no" }).addToAll({ late: true });
console.log("late in the whole:", data.select("late").values.length);
assert.strictEqual(data.select("late").values.length, 2, "it changed");
JS
node column.cjs

#!/usr/bin/env bash
# Percentiles in the browser, installed 2026-11: jstat 1.9.6 beside simple-statistics 7.12.1, d3-array 3.2.5 and mathjs 15.2.0 (npm).
# Guess: `jStat.percentile` is the usual one, between two values by their distance, as in the three others and in spreadsheets;
#        the 50th is the median.
# Seen:  between the two highest values it is the lower of them, for every percentage: the 95th and the 99th of 20 waits are the
#        second longest, and the 50th of [1, 9] is 1, while `jStat.median` says 5. Below it agrees with the others, and 100 % is
#        the highest. `jStat.quantiles` uses another definition: the 90th of five values is the highest. Nothing is reported.
# Why it matters: the percentile that a page shows of waits or prices, mostly the 95th or 99th of few games, is too low, by as much as
#        the slowest differs from the others. Use one of the other libraries.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund jstat@1.9.6 simple-statistics@7.12.1 d3-array@3.2.5 mathjs@15.2.0
cat > percentiles.mjs <<'JS'
import assert from "node:assert";
import { quantile } from "d3-array";
import jstat from "jstat";
import { quantileSeq } from "mathjs";
import * as simple from "simple-statistics";

const { jStat } = jstat;
const round = (value) => Math.round(value * 1000) / 1000;
const waits = [...Array.from({ length: 19 }, (_, index) => index + 1), 100];
for (const [values, share, expected, other] of [
  [waits, 0.5, 10.5, 10.5],
  [waits, 0.9, 18.1, 18.1],
  [waits, 0.95, 19, 23.05],
  [waits, 0.99, 19, 84.61],
  [waits, 1, 100, 100],
  [[1, 9], 0.5, 1, 5],
  [[1, 2, 9], 0.75, 2, 5.5],
  [[1, 2, 3, 4, 10], 0.9, 4, 7.6],
]) {
  const found = [jStat.percentile(values, share), ...[quantile, simple.quantile, quantileSeq].map((make) => make(values, share))].map(round);
  console.log(`${share} of ${values}: jstat ${found[0]}, others ${found.slice(1)}, jStat.quantiles ${jStat.quantiles(values, [share])[0]}`);
  assert.deepEqual(found, [expected, other, other, other], "it changed");
}
assert.equal(jStat.median([1, 9]), 5, "it changed");
assert.deepEqual(jStat.quantiles([1, 2, 3, 4, 10], [0.9]), [10], "it changed");
JS
node percentiles.mjs

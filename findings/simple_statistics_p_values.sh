#!/usr/bin/env bash
# simple-statistics 7.12.1 beside jstat 1.9.6 (npm), installed 2026-11: p-values of a comparison, in the page.
# Guess: the normal distribution is right to six digits or more, and gets closer to 1 the farther one goes; a permutation test that
#        found no such difference says at most 1 in the number of rounds, not 0.
# Seen:  `cumulativeStdNormalProbability` is a printed table: z is rounded to two digits, the result to four, and it ends at 0.999, so
#        that no two-sided p is below 0.002. With z = 5, where it is 0.0000006, it is 0.002. `probit(0.975)` is 1.9572, 1.9600
#        in jstat. `permutationTest` gives 0 for two groups of eight that do not overlap, where 1 of 12870 orders is as extreme.
# Why it matters: the strongest results of a page stay above 0.002 and fail after a correction for many tests, and others are an
#        impossible 0. Take the distribution from jstat, and count the observed order among the permutations.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund simple-statistics@7.12.1 jstat@1.9.6
cat > normal.mjs <<'JS'
import assert from "node:assert";
import jstat from "jstat";
import { cumulativeStdNormalProbability, permutationTest, probit } from "simple-statistics";

const { jStat } = jstat;
const twoSided = (cumulative, z) => Number((2 * (1 - cumulative(z))).toPrecision(3));
for (const [z, expected, right] of [
  [1.96, 0.05, 0.05],
  [1.965, 0.0488, 0.0494],
  [2.576, 0.0098, 0.01],
  [3.05, 0.0022, 0.00229],
  [4, 0.002, 0.0000633],
  [5, 0.002, 5.73e-7],
]) {
  const found = [cumulativeStdNormalProbability, (at) => jStat.normal.cdf(at, 0, 1)].map((cumulative) => twoSided(cumulative, z));
  console.log(`z = ${z}: two-sided p ${found[0]}, jstat ${found[1]}`);
  assert.deepEqual(found, [expected, right], "it changed");
}
console.log("probit(0.975):", probit(0.975), "jstat:", jStat.normal.inv(0.975, 0, 1));
assert(Math.abs(probit(0.975) - 1.95716) < 0.0001, "it changed");
const low = [1, 2, 3, 4, 5, 6, 7, 8];
const tests = Array.from({ length: 20 }, () => permutationTest(low, low.map((value) => value + 10), "two_side", 100));
console.log("20 permutation tests of 100 rounds:", ...tests);
assert(tests.includes(0), "it changed");
JS
node normal.mjs

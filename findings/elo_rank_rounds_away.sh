#!/usr/bin/env bash
# elo-rank 1.0.4 (npm; the most used package for ratings by Elo), installed 2026-11: small changes.
# Guess: who wins rises and who loses falls, by little where it was expected; one gains what the other loses, so that the sum of all
#        ratings stays.
# Seen:  `updateRating` rounds to whole points: with K of 16 a favourite who is 600 points ahead gains nothing, however often it wins,
#        and the other loses nothing; 200 wins leave both where they were, where fractions would give 66 points. A half is
#        rounded up for both, so that a game with 8.5 points at stake adds one to the sum.
# Why it matters: a league where the strong and the weak meet does not move, and with a small K, as for agents with many games, much
#        earlier: with K of 4 from a distance of 339 points on. Compute `current + k * (actual - expected)` yourself, and round what is shown.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund elo-rank@1.0.4
cat > rounds.cjs <<'JS'
const assert = require("node:assert");
const EloRank = require("elo-rank");

function won(k, ahead, games, update) {
  const elo = new EloRank(k);
  let [high, low] = [1500 + ahead, 1500];
  for (let game = 0; game < games; game++) {
    const [chance, other] = [elo.getExpected(high, low), elo.getExpected(low, high)];
    [high, low] = [update(elo, chance, 1, high), update(elo, other, 0, low)];
  }
  return [high - 1500 - ahead, low - 1500];
}
const rounded = (elo, expected, actual, current) => elo.updateRating(expected, actual, current);
const exact = (elo, expected, actual, current) => current + elo.getKFactor() * (actual - expected);
const seen = won(16, 600, 200, rounded);
const right = won(16, 600, 200, exact);
console.log("K 16, 600 ahead, 200 wins:", seen, "with fractions", right);
assert.deepStrictEqual(seen, [0, 0], "it changed");
for (const k of [32, 16, 8, 4]) {
  const still = Array.from({ length: 1000 }, (_, ahead) => ahead).find((ahead) => won(k, ahead, 1, rounded).every((gain) => gain === 0));
  console.log(`K ${k}: nothing is gained from ${still} points ahead`);
}
const equal = new EloRank(17);
const sum = [1, 0].reduce((total, actual) => total + equal.updateRating(0.5, actual, 1500), 0);
console.log("two of 1500, K 17, one wins: sum", sum);
assert.strictEqual(sum, 3001, "it changed");
JS
node rounds.cjs

#!/usr/bin/env bash
# ts-trueskill 5.1.0 (npm; ratings of games with several sides), installed 2026-11: ratings that are saved, and their uncertainty.
# Guess: a rating saved as JSON has its mean and its uncertainty, and makes the same rating again; one that is made with a mean alone has the
#        uncertainty of a newcomer, 8.33, as in Python's trueskill; functions and an environment of its own scale go together.
# Seen:  JSON and `{...rating}` have `pi` and `tau` instead, without `mu` and `sigma`. `new Rating` of it is taken without an error and is
#        NaN. `new Rating(30)` has 10, a third of the mean, and `new Rating(6)` 2, so
#        that the weak are "certain". `winProbability` without the environment counts with the scale of 25: 1200 against 1000
#        is 0.998 instead of 0.792.
# Why it matters: a board that keeps its ratings in a file shows NaN after a restart and has lost them, or, with the means alone
#        saved, moves the strong more than the weak. Save `[rating.mu, rating.sigma]`, and pass the environment to each function.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund ts-trueskill@5.1.0
cat > saved.mjs <<'JS'
import assert from "node:assert";
import { Rating, TrueSkill, winProbability } from "ts-trueskill";

const shown = (...ratings) => ratings.map(({ mu, sigma }) => `${mu.toFixed(2)} ± ${sigma.toFixed(2)}`).join(", ");
const text = JSON.stringify(new Rating(30, 5));
const again = new Rating(JSON.parse(text));
console.log(`30 ± 5 saved: ${text}, read: mu ${again.mu}, sigma ${again.sigma}`);
assert.strictEqual(text, '{"pi":0.04,"tau":1.2}', "it changed");
assert.deepStrictEqual(Object.keys({ ...again }).sort(), ["pi", "tau"], "it changed");
assert(Number.isNaN(again.mu), "it changed");
const kept = new Rating([30, 5]);
assert(kept.mu === 30 && kept.sigma === 5);

console.log("made with a mean alone:", shown(new Rating(), new Rating(30), new Rating(6)));
assert(new Rating(30).sigma === 10 && new Rating(6).sigma === 2 && Math.abs(new Rating().sigma - 25 / 3) < 1e-9, "it changed");

const thousand = new TrueSkill(1000, 1000 / 3, 1000 / 6, 10 / 3, 0.1);
const sides = [[new Rating(1200, 50)], [new Rating(1000, 50)]];
const chances = [winProbability(...sides), winProbability(...sides, thousand), thousand.winProbability(...sides)];
console.log("1200 against 1000:", chances);
assert(chances[0] > 0.99 && chances[1] < 0.8 && chances[1] === chances[2], "it changed");
JS
node saved.mjs

#!/usr/bin/env bash
# krippendorff 0.1.0 (npm; agreement between raters), installed 2026-11: which rater comes first, and ratings that are missing.
# Guess: the order of the raters plays no part, and an item counts wherever at least two rated it; a list that ends early is a rater who left
#        out the rest, as the package says. A null from JSON is missing, too, or refused.
# Seen:  items are counted up to the end of the first list alone. Three raters agree on two items, and two of them
#        differ on a third: 0.56 where the short list is last, and 1 where it is first. null is a label of its own: 0.5. 1 and
#        "1" are different labels. Written as `undefined`, at the end of a list of full length, all orders give 0.56.
# Why it matters: a juror who left early is a short list, and its place in the file decides whether the panel agrees wholly.
#        Fill all lists to one length with `undefined`, and turn null into it after JSON.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund krippendorff@0.1.0
cat > raters.cjs <<'JS'
const assert = require("node:assert");
const { alpha } = require("krippendorff");

const [full, other] = [["yes", "no", "yes"], ["yes", "no", "no"]];
const left = ["yes", "no"];
const seen = {
  "short list last": alpha([full, other, left]),
  "short list in the middle": alpha([full, left, other]),
  "short list first": alpha([left, full, other]),
  "undefined, last": alpha([full, other, [...left, undefined]]),
  "undefined, first": alpha([[...left, undefined], full, other]),
  "null from JSON": alpha(JSON.parse(JSON.stringify([full, other, [...left, undefined]]))),
  "number and text": alpha([[1, 2, 1], ["1", "2", "1"]]),
};
console.log(seen);
const right = seen["undefined, last"];
for (const name of ["short list last", "short list in the middle", "undefined, first"]) {
  assert(Math.abs(seen[name] - right) < 1e-12 && right < 0.7, name);
}
assert.strictEqual(seen["short list first"], 1, "it changed");
assert.strictEqual(seen["null from JSON"], 0.5, "it changed");
assert(seen["number and text"] <= 0, "it changed");
JS
node raters.cjs

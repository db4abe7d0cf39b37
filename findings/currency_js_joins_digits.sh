#!/usr/bin/env bash
# currency.js 2.0.4 (npm; amounts of money in a page or a bot), installed 2026-12: amounts in texts, and halves of a cent.
# Guess: a text is read where it is one amount, with its sign and the marks of money; others are 0 or, with `errorOnInvalid`, refused. What one
#        side pays is what the other gets, as rounding of halves knows no side.
# Seen:  what is not a digit, the point or a minus is left out, and the rest joined: "3 of 10" is 310, "I bid 3, not 4" 34, "1/2" 12, "5 or 6" 56,
#        "Round 2: 5.50" 25.5, "1,5" 15 and "1.000,50" 1; "minus 5" is 5. `errorOnInvalid` refuses none of them. Halves are rounded up: 1.005 is
#        1.01 and -1.005 is -1, half of 1.01 is 0.51 and half of -1.01 is -0.5.
# Why it matters: replies of models hold amounts in sentences, and each of these is a plausible bid; a transfer that is split in halves makes
#        a cent of nothing. Match the whole text with a pattern first, and book both sides from one rounded amount.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund currency.js@2.0.4
cat > amounts.mjs <<'JS'
import assert from "node:assert";
import currency from "currency.js";

assert.strictEqual(currency("$1,234.56").value, 1234.56);
assert.strictEqual(currency("(1.50)").value, -1.5);
assert.throws(() => currency(null, { errorOnInvalid: true }));
for (const [text, amount] of [
  ["3 of 10", 310],
  ["I bid 3, not 4", 34],
  ["1/2", 12],
  ["5 or 6", 56],
  ["Round 2: 5.50", 25.5],
  ["1,5", 15],
  ["1.000,50", 1],
  ["minus 5", 5],
]) {
  const found = currency(text, { errorOnInvalid: true }).value;
  console.log(`"${text}": ${found}`);
  assert.strictEqual(found, amount, "it changed");
}
const halves = [currency(1.005).value, currency(-1.005).value, currency(1.01).divide(2).value, currency(-1.01).divide(2).value];
console.log("1.005, -1.005, half of 1.01, half of -1.01:", halves);
assert.deepStrictEqual(halves, [1.01, -1, 0.51, -0.5], "it changed");
JS
node amounts.mjs

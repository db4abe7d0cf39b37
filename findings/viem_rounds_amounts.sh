#!/usr/bin/env bash
# viem 2.57.20, ethers 6.17.0 (npm): amounts written with a point, installed 2026-11.
# Guess: an amount with more digits than its unit has is refused by both, since a library does not round money
#        unasked; or what is too much is cut off.
# Seen:  ethers refuses. viem rounds, halves away from zero: "1.005" with two digits is 101, "-1.005" is -101, "0.999" is
#        100, and "-0.004" is 0. On the way back 100 and 0 are "1" and "0" in viem, "1.0" and "0.0" in ethers.
# Why it matters: a bid of 0.999 credits becomes one of 1.00 in one bot and an error in the other, and shares of a pot that
#        are parsed one by one add up to more than the pot. Count the digits before, and keep amounts in the smallest unit.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund viem@2.57.20 ethers@6.17.0
cat > amounts.mjs <<'JS'
import assert from "node:assert";
import * as ethers from "ethers";
import * as viem from "viem";

for (const [text, seen] of Object.entries({ "1.005": 101n, "1.004": 100n, "-1.005": -101n, 0.999: 100n, "-0.004": 0n })) {
  console.log(`"${text}" with two digits: viem ${viem.parseUnits(text, 2)}, ethers refuses`);
  assert.strictEqual(viem.parseUnits(text, 2), seen, "it changed");
  assert.throws(() => ethers.parseUnits(text, 2), /too many decimals/);
}
const shares = ["33.335", "33.335", "33.33"].map((text) => viem.parseUnits(text, 2));
console.log("shares of 100.00:", shares, "together", shares.reduce((sum, share) => sum + share));
assert.strictEqual(shares.reduce((sum, share) => sum + share), 10001n, "it changed");
for (const text of ["1.00", ".5", "5.", "-3", "0"]) {
  assert.strictEqual(viem.parseUnits(text, 2), ethers.parseUnits(text, 2), text);
}
for (const [amount, seen] of [[100n, ["1", "1.0"]], [0n, ["0", "0.0"]], [-5n, ["-0.05", "-0.05"]]]) {
  assert.deepStrictEqual([viem.formatUnits(amount, 2), ethers.formatUnits(amount, 2)], seen, "it changed");
}
JS
node amounts.mjs

#!/usr/bin/env bash
# num2words 0.5.14 (PyPI), to-words 5.7.0 and number-to-words 1.2.4 (npm): amounts in words, as judgments and
# contracts write them, installed 2026-12.
# Guess: 100 and 100.0 are one amount, a hundred dollars, as in the other libraries; less than a cent is rounded in one way, or refused.
# Seen:  num2words takes an integer for cents: 100 is "one dollar, zero cents" and -5 "minus zero dollars, five cents", while 100.0, "100" and
#        Decimal("100") are a hundred dollars. The text "1.005" has one cent and the float 1.005 none. to-words writes a hundred dollars for
#        each. number-to-words leaves out what is behind the point, without a word about it: 1234.5 is "one thousand, two hundred thirty-four",
#        and 0.99 "zero".
# Why it matters: amounts come out of JSON, where 100.0 is often written as 100: the words of a judgment say one dollar where its figures say a
#        hundred, for round sums alone. Pass a Decimal, and compare the words with the figures in a test of round sums.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check num2words==0.5.14
npm install --silent --no-audit --no-fund to-words@5.7.0 number-to-words@1.2.4
venv/bin/python - <<'PY'
import json
from decimal import Decimal

from num2words import num2words

for amount, words in (
    (100, "one dollar, zero cents"),
    (100.0, "one hundred dollars, zero cents"),
    ("100", "one hundred dollars, zero cents"),
    (Decimal("100"), "one hundred dollars, zero cents"),
    (-5, "minus zero dollars, five cents"),
    (-5.0, "minus five dollars, zero cents"),
    (1.005, "one dollar, zero cents"),
    ("1.005", "one dollar, one cent"),
    *((amount, None) for amount in json.loads("[1200, 1200.5]")),
):
    found = num2words(amount, to="currency", currency="USD")
    print(f"num2words {amount!r}: {found}")
    assert words is None or found == words, "it changed"
assert num2words(1200, to="currency", currency="USD").startswith("twelve dollars"), "it changed"
PY
cat > amounts.mjs <<'JS'
import assert from "node:assert";
import numbers from "number-to-words";
import { ToWords } from "to-words";

const dollars = new ToWords({ localeCode: "en-US", converterOptions: { currency: true } });
for (const [amount, words, whole] of [
  [100, "One Hundred Dollars Only", "one hundred"],
  [1234.5, "One Thousand Two Hundred Thirty Four Dollars And Fifty Cents Only", "one thousand, two hundred thirty-four"],
  [0.99, "Zero Dollars And Ninety Nine Cents Only", "zero"],
]) {
  console.log(`${amount}: to-words "${dollars.convert(amount)}", number-to-words "${numbers.toWords(amount)}"`);
  assert.strictEqual(dollars.convert(amount), words);
  assert.strictEqual(numbers.toWords(amount), whole, "it changed");
}
JS
node amounts.mjs

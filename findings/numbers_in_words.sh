#!/usr/bin/env bash
# Numbers in words, as models speak them, installed 2026-12: word2number 1.1, numwords-to-nums 1.2.0, text2num 3.1.0 (PyPI), words-to-numbers
# 1.5.1 (npm).
# Guess: a plain number is read, a mark after it plays no part, and where a text holds two numbers both stay apart or it is refused.
# Seen:  word2number, the most used, takes the words that it knows and reckons with them: "nine to three" is 12, "between ten and twenty" 30,
#        "twenty one, not thirty" 50. A word with a mark is unknown: "one hundred." is 1, "two hundred, please" 2. "minus five" is 5, "a hundred
#        and one" 100, "one million two hundred thousand" 1201200, "my point is that two agents agree" 0.2. numwords-to-nums makes 5050 of
#        "fifty-fifty", words-to-numbers 4.4 of "three point fourteen" and "my 0" of "my point". text2num refuses what is not a number alone, and
#        its `alpha2digit` keeps the words around it. Nothing else is reported.
# Why it matters: votes, offers and sums in a speech become other numbers that fit the schema, most of all at the end of a sentence. Use
#        `alpha2digit`, and ask again where it does not leave digits alone.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check word2number==1.1 numwords-to-nums==1.2.0 text2num==3.1.0
npm install --silent --no-audit --no-fund words-to-numbers@1.5.1
venv/bin/python - <<'PY'
from numwords_to_nums.numwords_to_nums import NumWordsToNum
from text_to_num import alpha2digit
from word2number.w2n import word_to_num

for text, number, kept in (
    ("two thousand and twenty-six", 2026, "2026"),
    ("nine to three", 12, "9 to 3"),
    ("between ten and twenty", 30, "between 10 and 20"),
    ("twenty one, not thirty", 50, "21, not 30"),
    ("one hundred.", 1, "100."),
    ("two hundred, please", 2, "200, please"),
    ("minus five", 5, "minus 5"),
    ("a hundred and one", 100, "a 101"),
    ("one million two hundred thousand", 1201200, "1200000"),
    ("my point is that two agents agree", 0.2, "my point is that two agents agree"),
):
    found, around = word_to_num(text), alpha2digit(text, "en")
    print(f"{text!r}: word2number {found}, text2num {around!r}")
    assert found == number, "it changed"
    assert around == kept, "it changed"
half = NumWordsToNum().numerical_words_to_numbers("fifty-fifty")
print(f"'fifty-fifty': numwords-to-nums {half!r}, text2num {alpha2digit('fifty-fifty', 'en')!r}")
assert str(half) == "5050", "it changed"
PY
cat > words.mjs <<'JS'
import assert from "node:assert";
import wordsToNumbers from "words-to-numbers";

const read = wordsToNumbers.wordsToNumbers ?? wordsToNumbers.default ?? wordsToNumbers;
for (const [text, expected] of [
  ["nine to three", "9 to 3"],
  ["three point fourteen", 4.4],
  ["two agents agree with my point", "2 agents agree with my 0"],
]) {
  const found = read(text);
  console.log(`'${text}': words-to-numbers ${JSON.stringify(found)}`);
  assert.strictEqual(typeof found === "number" ? Number(found.toFixed(9)) : found, expected, "it changed");
}
JS
node words.mjs

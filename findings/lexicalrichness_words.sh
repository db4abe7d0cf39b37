#!/usr/bin/env bash
# lexicalrichness 0.5.1 (how varied a speaker's words are), installed 2026-11: what counts as a word.
# Guess: "don't" is one word, "well-known" is one or two, and numbers are words; two answers with different numbers differ.
# Seen:  digits are taken out: "I bid 3 of 10" has three words, "3-1 and B2B" is "and" and "bb", and two bids of 3 and of 5 are the same
#        words. "don't" is "don" and "t", and each further n't repeats the "t": five contractions that differ are ten words, 0.6
#        of them new, where five words would be 1.0. "well-known" is "wellknown". Nothing is reported.
# Why it matters: agents that bid, vote by seat and contract their words look poorer than those that write them out: a measure of
#        style is one of spelling. Give words of your own with `preprocessor=None` and `tokenizer`.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check lexicalrichness==0.5.1
"$folder/venv/bin/python" -W ignore - <<'PY'
from lexicalrichness import LexicalRichness

for text, words, ratio in (
    ("I bid 3 of 10", "i bid of", 1.0),
    ("I bid 3. I bid 5.", "i bid i bid", 0.5),
    ("3-1 and B2B", "and bb", 1.0),
    ("don't won't can't isn't wasn't", "don t won t can t isn t wasn t", 0.6),
    ("well-known", "wellknown", 1.0),
):
    found = LexicalRichness(text)
    print(f"{text!r}: {found.wordlist}, ratio of types {found.ttr}")
    assert (found.wordlist, found.ttr) == (words.split(), ratio), "it changed"
own = LexicalRichness("I bid 3. I don't", preprocessor=None, tokenizer=str.split)
print("own words:", own.wordlist)
assert own.wordlist == ["I", "bid", "3.", "I", "don't"], "it changed"
PY

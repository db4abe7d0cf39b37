#!/usr/bin/env bash
# inspect-ai 0.3.285 (scores and logs evaluations), installed 2026-11: several epochs of a sample joined by a reducer.
# Guess: where a sample was run four times and the verdicts are two against two, `mode` is undefined, or it says that there is a
#        tie; an epoch without a score (NaN) is counted as missing, and the joined score shows how many there were.
# Seen:  `mode` takes the verdict of the first epoch: the same four scores in another order are "guilty" or "not guilty". NaN is
#        left out: of two epochs without a score and one of 1, `mode`, `median`, `mean` and `max` are 1, as if all three
#        were right; `at_least(2)` counts them as wrong. (`max` of words is the first one as well.)
# Why it matters: the share of guilty verdicts over many cases with even epochs depends on the order of runs, and models that
#        refuse twice and answer once look as good as those that answer three times. Use an odd number of epochs and report
#        the missing ones.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inspect-ai==0.3.285
"$folder/venv/bin/python" - <<'PY' 2>/dev/null
from inspect_ai.scorer import Score, at_least, max_score, mean_score, median_score, mode_score


def joined(reducer, *values):
    return reducer([Score(value=value) for value in values]).value


NOT = "not guilty"
orders = [("guilty", NOT, NOT, "guilty"), (NOT, "guilty", "guilty", NOT)]
for order in orders:
    print(order, "-> mode", joined(mode_score(), *order), "| max", joined(max_score(), *order))
assert [joined(mode_score(), *order) for order in orders] == ["guilty", NOT], "it changed"
assert [joined(max_score(), *order) for order in orders] == ["guilty", NOT], "it changed"
missing = float("nan")
reducers = {"mode": mode_score(), "median": median_score(), "mean": mean_score(), "max": max_score(), "at_least": at_least(2)}
seen = {name: joined(reducer, missing, missing, 1) for name, reducer in reducers.items()}
print("NaN, NaN, 1 ->", seen)
assert seen == {"mode": 1, "median": 1, "mean": 1, "max": 1, "at_least": 0}, "it changed"
PY

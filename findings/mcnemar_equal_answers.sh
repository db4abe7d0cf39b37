#!/usr/bin/env bash
# McNemar's test of two models on the same items, installed 2026-11: statsmodels 0.15.0, mlxtend 0.25.0, pingouin 0.6.1.
# Guess: two models that give the same answer to every item differ in nothing: p is 1, or undefined.
# Seen:  one table, four answers. With exact=False statsmodels gives statistic inf and p 0.0, the strongest difference that there
#        can be (mlxtend the same); without the correction both give nan; exact, p is 1.0. pingouin raises ValueError.
#        With one item on which they differ the corrected p is 1.0 in all three.
# Why it matters: in a table of many pairs or prompts the pairs that agree wholly are reported as significant, and stay so after
#        each correction for many tests. Use the exact test, or report such pairs apart.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check statsmodels==0.15.0 mlxtend==0.25.0 pingouin==0.6.1 pandas==2.3.3
"$folder/venv/bin/python" -W ignore - <<'PY'
import numpy as np
import pandas as pd
import pingouin
from mlxtend.evaluate import mcnemar as mlxtend_mcnemar
from statsmodels.stats.contingency_tables import mcnemar


def answers(first, second):
    """p of each library for the right answers (True) of two models to the same items."""
    table = np.array([[np.sum(first & second), np.sum(first & ~second)], [np.sum(~first & second), np.sum(~first & ~second)]])
    found = {}
    for corrected in (True, False):
        word = "corrected" if corrected else "uncorrected"
        found[f"statsmodels, {word}"] = mcnemar(table, exact=False, correction=corrected).pvalue
        found[f"mlxtend, {word}"] = mlxtend_mcnemar(table, corrected=corrected)[1]
    found["statsmodels, exact"] = mcnemar(table, exact=True).pvalue
    try:
        found["pingouin"] = pingouin.chi2_mcnemar(pd.DataFrame({"a": first, "b": second}).astype(int), "a", "b")[1]["p_approx"].item()
    except ValueError as error:
        found["pingouin"] = type(error).__name__
    return {name: value if isinstance(value, str) else float(value) for name, value in found.items()}


right = np.array([True] * 40 + [False] * 10)
one_other = right.copy()
one_other[0] = False
alike, nearly = answers(right, right), answers(right, one_other)
for name, value in alike.items():
    print(f"{name:25} the same answers: p {value}, one other answer: p {nearly[name]}")
for name in ("statsmodels, corrected", "mlxtend, corrected"):
    assert alike[name] == 0, "it changed"
    assert np.isnan(alike[name.replace(", ", ", un")]), "it changed"
    assert nearly[name] == 1
assert alike["statsmodels, exact"] == 1 and alike["pingouin"] == "ValueError" and nearly["pingouin"] == 1
PY

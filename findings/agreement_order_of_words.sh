#!/usr/bin/env bash
# Weighted agreement of two raters on an ordered scale in words. Installed 2026-11: scikit-learn 1.9.1, irrCAC 0.4.4,
# statsmodels 0.15.0, krippendorff 0.9.0.
# Guess: weights need an order of the labels; without one the libraries refuse words, or take that of an ordered pandas
#        Categorical.
# Seen:  krippendorff refuses. The other three sort the words by the alphabet, high < low < medium, without a warning: linear
#        kappa is 0.31 instead of 0.59, and irrCAC's quadratic alpha 0.23 instead of 0.74. An ordered Categorical changes
#        nothing. Points that are texts are sorted as texts, "10" before "2".
# Why it matters: raters who differ by one step count as if they were at opposite ends; the agreement of jurors or judges is
#        halved. Give the labels in their order (`labels`, `categories`, `value_domain`), or numbers.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scikit-learn==1.9.1 irrCAC==0.4.4 statsmodels==0.15.0 \
  krippendorff==0.9.0 pandas==2.3.3
"$folder/venv/bin/python" -W ignore - <<'PY'
import krippendorff
import numpy as np
import pandas as pd
from irrCAC.raw import CAC
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa, to_table

ORDER = ["low", "medium", "high"]
first = ["low", "low", "medium", "high", "high", "medium", "low", "high"]
second = ["low", "medium", "medium", "high", "medium", "high", "low", "high"]
words = pd.DataFrame({"first": first, "second": second})
ordered = words.apply(lambda column: pd.Series(pd.Categorical(column, ORDER, ordered=True)))
numbers = words.apply(lambda column: column.map(ORDER.index))
assert all(column.dtype.ordered for _, column in ordered.items())


def scikit(table, **order):
    return cohen_kappa_score(table["first"], table["second"], weights="linear", **order)


def irrcac(table, **order):
    return CAC(table, weights="quadratic", **order).krippendorff()["est"]["coefficient_value"]


def statsmodels(table):
    return cohens_kappa(to_table(np.asarray(table))[0], wt="linear").kappa


seen = {
    "scikit-learn": [scikit(numbers), scikit(words, labels=ORDER), scikit(words), scikit(ordered)],
    "irrCAC": [irrcac(numbers), irrcac(words, categories=ORDER), irrcac(words), irrcac(ordered)],
    "statsmodels": [statsmodels(numbers), statsmodels(words), statsmodels(ordered)],
}
for name, values in seen.items():
    print(f"{name:13}", *(round(float(value), 3) for value in values))
rounded = {name: [round(float(value), 2) for value in values] for name, values in seen.items()}
assert rounded["scikit-learn"] == [0.59, 0.59, 0.31, 0.31], "it changed"
assert rounded["irrCAC"] == [0.74, 0.74, 0.23, 0.23], "it changed"
assert rounded["statsmodels"] == [0.59, 0.31, 0.31], "it changed"
try:
    krippendorff.alpha(words.to_numpy().T.astype(str), level_of_measurement="ordinal")
    raise SystemExit("it changed")
except ValueError as error:
    print("krippendorff:", error)
points = [["2", "10", "10", "2", "1", "10"], ["2", "10", "2", "1", "1", "10"]]
as_texts = cohen_kappa_score(*points, weights="linear")
as_numbers = cohen_kappa_score(*(list(map(int, one)) for one in points), weights="linear")
print("scikit-learn, points as texts and as numbers:", as_texts, as_numbers)
assert round(as_texts, 3) == 0.4 and round(as_numbers, 3) == 0.625, "it changed"
PY

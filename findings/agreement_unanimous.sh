#!/usr/bin/env bash
# Agreement between raters where all of them gave the same label to everything. Installed 2026-11: scikit-learn 1.9.1,
# statsmodels 0.15.0, krippendorff 0.9.0, nltk 3.10.4, irrCAC 0.4.4, simpledorff 0.0.2.
# Guess: kappa and alpha are 0/0 there, and the libraries say so in one way: not a number.
# Seen:  one table of data, four answers. scikit-learn and statsmodels give nan; nltk gives 1.0 for kappa, pi and alpha;
#        krippendorff raises ValueError, but gives nan once it is told the domain of labels; irrCAC and simpledorff raise
#        ZeroDivisionError, irrCAC's Conger gives nan.
#        Beside it: the "Krippendorff alpha" for ordinal labels is 0.764 in krippendorff and 0.714 in irrCAC, whose
#        ordinal weights are others than those of Krippendorff's definition.
# Why it matters: an average over many codes, or a threshold of 0.8, is met or missed by the choice of the library. Say in
#        the report that agreement is undefined, and give the share of equal labels.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scikit-learn==1.9.1 statsmodels==0.15.0 \
  krippendorff==0.9.0 nltk==3.10.4 irrCAC==0.4.4 simpledorff==0.0.2
"$folder/venv/bin/python" -W ignore - <<'PY'
import krippendorff
import numpy as np
import pandas as pd
import simpledorff
from irrCAC.raw import CAC
from nltk.metrics.agreement import AnnotationTask
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats import inter_rater

UNITS = 8
same = ["yes"] * UNITS
rows = [(str(unit), rater, "yes") for unit in range(UNITS) for rater in ("first", "second")]
task = AnnotationTask(data=[(rater, unit, label) for unit, rater, label in rows])
raw = CAC(pd.DataFrame({"first": same, "second": same}))
frame = pd.DataFrame(rows, columns=["unit", "rater", "label"])
numbers = [[1] * UNITS] * 2


def answer(measure):
    try:
        return str(float(measure()))
    except (ValueError, ZeroDivisionError) as error:
        return type(error).__name__


def coefficient(name):
    return getattr(raw, name)()["est"]["coefficient_value"]


seen = {
    "scikit-learn, Cohen": answer(lambda: cohen_kappa_score(same, same)),
    "statsmodels, Cohen": answer(lambda: inter_rater.cohens_kappa(np.array([[UNITS, 0], [0, 0]])).kappa),
    "statsmodels, Fleiss": answer(lambda: inter_rater.fleiss_kappa(np.array([[2, 0]] * UNITS))),
    "nltk, Cohen": answer(task.kappa),
    "nltk, alpha": answer(task.alpha),
    "krippendorff": answer(lambda: krippendorff.alpha(reliability_data=numbers, level_of_measurement="nominal")),
    "krippendorff, domain": answer(
        lambda: krippendorff.alpha(reliability_data=numbers, level_of_measurement="nominal", value_domain=[1, 2])
    ),
    "irrCAC, Krippendorff": answer(lambda: coefficient("krippendorff")),
    "irrCAC, Fleiss": answer(lambda: coefficient("fleiss")),
    "irrCAC, Conger": answer(lambda: coefficient("conger")),
    "simpledorff": answer(
        lambda: simpledorff.calculate_krippendorffs_alpha_for_df(
            frame, experiment_col="unit", annotator_col="rater", class_col="label"
        )
    ),
}
for name, given in seen.items():
    print(f"{name:21}", given)
assert list(seen.values()) == ["nan"] * 3 + ["1.0"] * 2 + ["ValueError", "nan"] + ["ZeroDivisionError"] * 2 + [
    "nan", "ZeroDivisionError"
], seen

first, second = [1, 3, 2, 1, 3, 2], [1, 3, 3, 2, 3, 2]
ordinal = krippendorff.alpha(reliability_data=[first, second], level_of_measurement="ordinal")
other = CAC(pd.DataFrame({"first": first, "second": second}), weights="ordinal").krippendorff()["est"]["coefficient_value"]
print("ordinal alpha: krippendorff", round(ordinal, 3), "irrCAC", round(other, 3))
assert (round(ordinal, 3), round(other, 3)) == (0.764, 0.714)
PY

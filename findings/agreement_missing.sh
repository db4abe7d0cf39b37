#!/usr/bin/env bash
# Agreement of three raters, one of whom left out half of the items. Installed 2026-11: krippendorff 0.9.0, simpledorff 0.0.2,
# irrCAC 0.4.4, nltk 3.10.4, statsmodels 0.15.0.
# Guess: a missing rating (NaN, or no row) is left out of the pairs, as Krippendorff defines it, or refused.
# Seen:  one table, alpha 0.5 in krippendorff, simpledorff and irrCAC, 0.154 in nltk: there each NaN is a label of its own
#        that no other rating equals. Without the rows nltk's alpha is 0.5, and kappa, pi and S end with
#        "RuntimeError: generator raised StopIteration".
#        statsmodels' aggregate_raters makes NaN one more category, on which raters agree: Fleiss' kappa is 0.198 (irrCAC:
#        0.443), and of two who both left out the same items it is 1.0. Without that column fleiss_kappa refuses the table.
# Why it matters: jurors who abstain or models that refuse lower the agreement, or raise it to perfect, by the choice of a
#        library. Drop the missing ratings before, and use a measure that takes unequal numbers of raters.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check krippendorff==0.9.0 simpledorff==0.0.2 irrCAC==0.4.4 \
  nltk==3.10.4 statsmodels==0.15.0
"$folder/venv/bin/python" -W ignore - <<'PY'
import krippendorff
import numpy as np
import pandas as pd
import simpledorff
from irrCAC.raw import CAC
from nltk.metrics.agreement import AnnotationTask
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

none = np.nan
items = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, none], [0, 0, none], [1, 0, none]])
rows = pd.DataFrame([(item, rater, label) for item, labels in enumerate(items) for rater, label in enumerate(labels)],
                    columns=["item", "rater", "label"])


def task(table):
    return AnnotationTask(data=[(str(rater), str(item), label) for item, rater, label in table.itertuples(index=False)])


counts, labels = aggregate_raters(items)
seen = {
    "alpha, krippendorff": krippendorff.alpha(items.T, level_of_measurement="nominal"),
    "alpha, simpledorff": simpledorff.calculate_krippendorffs_alpha_for_df(rows, "item", "rater", "label"),
    "alpha, irrCAC": CAC(pd.DataFrame(items)).krippendorff()["est"]["coefficient_value"],
    "alpha, nltk": task(rows).alpha(),
    "alpha, nltk without the rows": task(rows.dropna()).alpha(),
    "Fleiss, irrCAC": CAC(pd.DataFrame(items)).fleiss()["est"]["coefficient_value"],
    "Fleiss, statsmodels": fleiss_kappa(counts),
}
for name, value in seen.items():
    print(f"{name:29} {value:.3f}")
rounded = {name: round(float(value), 3) for name, value in seen.items()}
right = ("krippendorff", "simpledorff", "irrCAC", "nltk without the rows")
assert all(rounded[f"alpha, {name}"] == 0.5 for name in right)
assert rounded["alpha, nltk"] == 0.154, "it changed"
assert rounded["Fleiss, irrCAC"] == 0.443 and rounded["Fleiss, statsmodels"] == 0.198 and np.isnan(labels).any(), "it changed"
for name in ("multi_kappa", "pi", "S"):
    try:
        print(name, getattr(task(rows.dropna()), name)())
        raise SystemExit("it changed")
    except RuntimeError as error:
        assert "StopIteration" in str(error)
both = fleiss_kappa(aggregate_raters(np.array([[1, 1], [none, none], [none, none]]))[0])
print("Fleiss, statsmodels, two raters who left out the same items:", both)
assert both == 1, "it changed"
try:
    fleiss_kappa(counts[:, ~np.isnan(labels)])
    raise SystemExit("it changed")
except AssertionError:
    pass
PY

#!/usr/bin/env bash
# Corrections of p-values for many tests, one of which could not be computed (NaN). Installed 2026-11: statsmodels 0.15.0,
# pingouin 0.6.1, scipy 1.17.1.
# Guess: a missing p-value is left out, or refused: it is no test.
# Seen:  pingouin leaves it out, scipy raises ValueError. statsmodels' multipletests counts it as a test for bonferroni, holm and
#        sidak, and each of the others gets larger; with fdr_bh, fdr_by, simes-hochberg and hommel every adjusted
#        value is NaN, while `reject` of fdr_bh still says True three times.
# Why it matters: one measure without data hides, or weakens, what the others found, and p-value and decision contradict each
#        other in one row. Drop the missing ones before, and say how many there were.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check statsmodels==0.15.0 pingouin==0.6.1 scipy==1.17.1 pandas==2.3.3
"$folder/venv/bin/python" -W ignore - <<'PY'
import numpy as np
import pingouin
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

p = np.array([0.01, 0.02, 0.03, np.nan, 0.2])
known = ~np.isnan(p)
for method in ("bonferroni", "holm", "sidak", "holm-sidak", "fdr_bh", "fdr_by", "simes-hochberg", "hommel"):
    reject, all_of_them = multipletests(p, method=method)[:2]
    without = multipletests(p[known], method=method)[1]
    print(f"{method:15} with the missing one {all_of_them.round(4)}, reject {reject.tolist()}; without it {without.round(4)}")
    if method in ("bonferroni", "holm", "sidak", "holm-sidak"):
        assert (all_of_them[known] >= without).all() and all_of_them[0] > without[0], "it changed"
    else:
        assert np.isnan(all_of_them).all(), "it changed"
    if method == "fdr_bh":
        assert reject.tolist() == [True, True, True, False, False], "it changed"
    other = {"bonferroni": "bonf", "holm": "holm", "sidak": "sidak", "fdr_bh": "fdr_bh", "fdr_by": "fdr_by"}.get(method)
    if other:
        assert np.allclose(np.asarray(pingouin.multicomp(p, method=other)[1])[known], without)
try:
    false_discovery_control(p)
    raise SystemExit("it changed")
except ValueError as error:
    print("scipy:", error)
assert np.allclose(false_discovery_control(p[known]), multipletests(p[known], method="fdr_bh")[1])
PY

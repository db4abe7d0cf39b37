#!/usr/bin/env bash
# mlxtend 0.25.0 (comparisons of models), installed 2026-11: `proportion_difference`, right answers of two agents.
# Guess: the p-value is small where the shares differ much, 1 where they are equal, and does not depend on which is named first; a
#        one-sided test would say so.
# Seen:  it is the chance of a smaller z. 90 of 100 against 50 of 100 has p = 1.0, 50 against 90 has 0.000000000003, two equal
#        shares have 0.5. Of two different agents one order is always above, the other below one half. Where both are always right, as where
#        both are always wrong, it is nan. z itself is right.
# Why it matters: "p < 0.05" finds the better agent when it is named second and never when it is named first, as in a table that is sorted
#        by score. Use 2 * min(p, 1 - p), or `proportions_ztest` of statsmodels.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mlxtend==0.25.0
"$folder/venv/bin/python" -W ignore - <<'PY'
import math

from mlxtend.evaluate import proportion_difference
from scipy.stats import norm


def values(first, second, games=100):
    z, p = proportion_difference(first / games, second / games, games)
    two_sided = 2 * norm.sf(abs(z))
    print(f"{first} against {second} of {games}: z {z:.3f}, p {p:.3g}; from z on two sides {two_sided:.3g}")
    return float(p), float(two_sided)


(high, right), (low, same) = values(90, 50), values(50, 90)
assert high > 1 - 1e-9 and low < 1e-9, "it changed"
assert right == same < 1e-9
for first, second in ((60, 55), (55, 60), (71, 70)):
    p, two_sided = values(first, second)
    assert (p > 0.5) == (first > second), "it changed"
    assert abs(2 * min(p, 1 - p) - two_sided) < 1e-9
assert values(50, 50)[0] == 0.5, "it changed"
assert math.isnan(values(100, 100)[0]) and math.isnan(values(0, 0)[0]), "it changed"
PY

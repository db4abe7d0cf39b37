#!/usr/bin/env bash
# dabest 2025.10.20 (estimation plots: a difference, its interval and a permutation test), installed 2026-11: small or equal groups.
# Guess: the p-value of a permutation test is the share of shuffles that are at least as far apart as what was seen, so 1 for two
#        equal groups, and never below 0.1 for three against three.
# Seen:  only shuffles that are further apart count. [1, 2, 3] against [4, 5, 6] has p = 0.0 (exact: 0.1), 1 of 6 against 5 of
#        6 has 0.003 (0.08), 0 of 8 against 0 of 8 has 0.0, and [1, 2, 2, 3] against itself 0.62. Medians and Cliff's delta
#        are tested in the same way. With many different values, few ties, it is right.
# Why it matters: results of games are wins, votes and ranks in small groups, where most shuffles tie with what was seen: chance looks
#        certain, most of all where nothing differs. Report the intervals, and take the test from scipy (`permutation_test`).
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dabest==2025.10.20
export SKIP_NUMBA_COMPILE=1 NUMBA_DISABLE_JIT=1
"$folder/venv/bin/python" -W ignore - <<'PY'
from itertools import combinations

import dabest
import numpy
import pandas


def reported(one, other, effect="mean_diff", **options):
    table = pandas.DataFrame({"one": one, "other": other}, dtype=float)
    loaded = dabest.load(table, idx=("one", "other"), resamples=200, **options)
    return float(getattr(loaded, effect).results["pvalue_permutation"].iloc[0])


def exact(one, other):
    """The shares of all divisions that are at least as far apart, and further apart."""
    values = numpy.array(one + other, dtype=float)
    seen = abs(numpy.mean(one) - numpy.mean(other))
    found = []
    for chosen in combinations(range(len(values)), len(one)):
        inside = numpy.isin(numpy.arange(len(values)), chosen)
        found.append(abs(values[inside].mean() - values[~inside].mean()))
    return float(numpy.mean(numpy.array(found) >= seen - 1e-9)), float(numpy.mean(numpy.array(found) > seen + 1e-9))


share = {"proportional": True}
for one, other, options in (
    ([1, 2, 3], [4, 5, 6], {}),
    ([1, 2, 3], [3, 4, 5], {}),
    ([1, 2, 2, 3], [1, 2, 2, 3], {}),
    ([0] * 5 + [1], [0] + [1] * 5, share),
    ([0] * 8, [0] * 8, share),
    ([1.1, 2.2, 3.7, 4.15, 5.3], [2.6, 3.9, 5.05, 6.2, 7.45], {}),
):
    found, (right, further) = reported(one, other, **options), exact(one, other)
    print(f"{one} against {other}: p {found}, exact {right:.4f}, further apart {further:.4f}")
    assert abs(found - further) < 0.03 and (found < right), "it changed"
for effect in ("median_diff", "cliffs_delta"):
    assert reported([1, 2, 3], [4, 5, 6], effect) == 0, "it changed"
PY

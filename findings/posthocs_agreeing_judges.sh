#!/usr/bin/env bash
# scikit-posthocs 0.17.1 (which of several agents differ, after Friedman's test of rankings), installed 2026-11: judges who agree.
# Guess: two judges who rank three agents alike show little, since that happens by chance once in six times; no pair
#        of agents can be far below the p-value of the whole test, 0.135.
# Seen:  `posthoc_conover_friedman` and `posthoc_quade` give p = 0.0 for all pairs, with two judges as with five, and so
#        does each correction for many tests. With one judge of five who swaps two agents it is 0.0002 and more; the tests
#        of Nemenyi, Siegel and Miller give 0.045 and more with two judges. Only numpy warns of a division by zero.
# Why it matters: panels of two or three models that agree on everything are common, and each of their differences looks
#        certain, more so than with a large panel. Use Nemenyi's or an exact test, and report p = 0 as not computed.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scikit-posthocs==0.17.1
"$folder/venv/bin/python" - <<'PY'
import warnings
from itertools import permutations

import numpy
import scikit_posthocs
from scipy.stats import friedmanchisquare

TESTS = ("conover_friedman", "quade", "nemenyi_friedman", "siegel_friedman", "miller_friedman")
WARNED = set()


def least(test, rankings, **options):
    with warnings.catch_warnings(record=True) as caught:
        found = getattr(scikit_posthocs, f"posthoc_{test}")(numpy.array(rankings, dtype=float), **options).to_numpy()
    WARNED.update(str(warning.message) for warning in caught)
    return float(found.min()), float(found[~numpy.eye(3, dtype=bool)].max())


agreed = [1, 2, 3]
by_chance = sum(list(order) == agreed for order in permutations(agreed)) / 6
for rankings in ([agreed] * 2, [agreed] * 3, [agreed] * 5, [*[agreed] * 4, [1, 3, 2]]):
    whole = friedmanchisquare(*numpy.array(rankings).T).pvalue
    found = {test: least(test, rankings) for test in TESTS}
    alike = by_chance ** (len(rankings) - 1)
    shown = {test: f"{low:.4f} to {high:.4f}" for test, (low, high) in found.items()}
    print(f"{rankings}: Friedman {whole:.4f}, {alike:.4f} that all agree by chance, pairs {shown}")
    for test in TESTS[:2]:
        assert (found[test] == (0, 0)) == (rankings.count(agreed) == len(rankings)), "it changed"
    assert all(found[test][0] > 0.001 for test in TESTS[2:]), "it changed"
for correction in ("holm", "bonferroni", "fdr_bh"):
    assert least("conover_friedman", [agreed] * 2, p_adjust=correction) == (0, 0), "it changed"
print("warnings:", WARNED)
PY

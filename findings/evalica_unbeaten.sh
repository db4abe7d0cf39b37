#!/usr/bin/env bash
# evalica 0.4.2 (ratings from pairwise results), installed 2026-11.
# Guess: in a Bradley-Terry ranking, the only entrant that won all of its games comes first, or the call is refused,
#        because its strength has no finite estimate.
# Seen:  every entrant gets the same score, 1e-06, and nothing is reported. The `newman` ranking does the same. One lost
#        game of the leader is enough for the usual order. (choix 0.4.1 refuses the same results with a ValueError.)
# Why it matters: early in a season somebody is usually unbeaten; the table then shows a tie of all.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check evalica==0.4.2 choix==0.4.1
"$folder/venv/bin/python" - <<'PY'
import choix
import evalica


def games(*rows):
    xs, ys, winners = [], [], []
    for first, second, won, lost in rows:
        xs += [first] * (won + lost)
        ys += [second] * (won + lost)
        winners += [evalica.Winner.X] * won + [evalica.Winner.Y] * lost
    return xs, ys, winners


for method in (evalica.bradley_terry, evalica.newman):
    unbeaten = method(*games(("a", "b", 9, 0), ("b", "c", 9, 1), ("a", "c", 10, 0))).scores
    beaten_once = method(*games(("a", "b", 9, 1), ("b", "c", 9, 1), ("a", "c", 10, 0))).scores
    print(method.__name__, "a unbeaten:", dict(unbeaten), "a beaten once:", dict(beaten_once))
    assert len(set(unbeaten)) == 1, "the unbeaten entrant no longer ties with all"
    assert beaten_once["a"] > beaten_once["b"] > beaten_once["c"]
try:
    choix.ilsr_pairwise(3, [(0, 1)] * 9 + [(1, 2)] * 9 + [(2, 1)] + [(0, 2)] * 10)
except ValueError as error:
    print("choix refuses:", error)
else:
    raise AssertionError("choix no longer refuses")
PY

#!/usr/bin/env bash
# evalica 0.4.2 (ratings from pairwise results), installed 2026-11.
# Guess: all of its ranking methods put the entrant that wins most first; they differ in distances alone.
# Seen:  `eigen` ranks in the opposite order: who loses most has the highest score, and `scores` lists it first. The
#        other six methods agree with one another on the same results.
# Why it matters: a board that lets its operator choose the method is upside down with one of them.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check evalica==0.4.2
"$folder/venv/bin/python" - <<'PY'
import evalica

xs, ys, winners = [], [], []
for first, second in (("a", "b"), ("b", "c"), ("a", "c")):  # each beats the next 6 to 4
    xs += [first] * 10
    ys += [second] * 10
    winners += [evalica.Winner.X] * 6 + [evalica.Winner.Y] * 4
orders = {}
for name in ("bradley_terry", "newman", "elo", "pagerank", "average_win_rate", "counting", "eigen"):
    scores = getattr(evalica, name)(xs, ys, winners).scores
    orders[name] = "".join(sorted("abc", key=lambda entrant: -scores[entrant]))
    print(f"{name:17}", orders[name], {entrant: round(float(scores[entrant]), 4) for entrant in "abc"})
assert orders.pop("eigen") == "cba", "eigen no longer ranks upside down"
assert set(orders.values()) == {"abc"}, orders
PY

#!/usr/bin/env bash
# elote 1.5.1 (ratings from pairwise results), numpy 2.4.6, installed 2026-11: the function that a LambdaArena judges a game by.
# Guess: what the function returns counts by its truth: a comparison of two scores is a win of the first one where it is
#        true, whoever computed it; 0.5, the draw of the arena's own `outcome`, is a draw or refused.
# Seen:  only the object `True` is a win. `numpy.True_`, which each comparison of numpy or pandas scores returns, 1, 1.0 and 0.5
#        are wins of the second one. Nothing is raised: the board is upside down. With `bool(…)` around the comparison
#        it is right, and with `outcome=1.0` as well.
# Why it matters: scores of agents usually come out of a table. The best agent is rated last, and a draw is a loss of the agent
#        that was named first. Return bool(…) or None, or pass `outcome`.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check elote==1.5.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PY'
import elote
import numpy

SCORES = {"strong": numpy.float64(2), "weak": numpy.float64(1)}


def first(judge):
    """Who leads after ten games of the strong agent against the weak one."""
    arena = elote.LambdaArena(judge)
    for _ in range(10):
        arena.matchup("strong", "weak")
    ratings = {row["competitor"]: row["rating"] for row in arena.leaderboard()}
    return max(ratings, key=ratings.get) if len(set(ratings.values())) > 1 else "equal"


judges = {
    "bool(comparison)": lambda a, b: bool(SCORES[a] > SCORES[b]),
    "comparison of numpy": lambda a, b: SCORES[a] > SCORES[b],
    "1": lambda a, b: 1,
    "1.0": lambda a, b: 1.0,
    "0.5": lambda a, b: 0.5,
    "None": lambda a, b: None,
}
seen = {name: first(judge) for name, judge in judges.items()}
for name, leader in seen.items():
    print(f"{name:20} -> {leader}")
assert seen == {
    "bool(comparison)": "strong", "comparison of numpy": "weak", "1": "weak", "1.0": "weak", "0.5": "weak", "None": "equal",
}, "it changed"
arena = elote.LambdaArena(lambda a, b: None)
arena.matchup("strong", "weak", outcome=1.0)
assert arena.leaderboard()[0]["competitor"] == "strong"
PY

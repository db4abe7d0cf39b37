#!/usr/bin/env bash
# choix 0.4.1 (Bradley-Terry and Plackett-Luce), installed 2026-11: the regularization `alpha`.
# Guess: alpha is a prior a player; a player's ten wins and two losses against another give the same difference whether
#        two or two hundred players are ranked, and ilsr_pairwise and opt_pairwise, the same model, shrink alike.
# Seen:  opt_pairwise does so (1.59 at alpha 0.01). ilsr_pairwise adds alpha to every pair of the table, also to those
#        that never met, so the same 10:2 is 1.60 with two players, 1.40 with fifty, 0.98 with two hundred; with alpha
#        0.1 it is 0.19. ln 5 is 1.61.
# Why it matters: the larger a league grows, the closer its scores lie, without a game played. Divide alpha by the number
#        of players, or use opt_pairwise.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check choix==0.4.1
"$folder/venv/bin/python" - <<'PY'
import choix

seen = {}
for players in (2, 50, 202):
    games = [(0, 1)] * 10 + [(1, 0)] * 2
    for other in range(2, players):
        games += [(0, other)] * 5 + [(other, 0)] * 5
    for alpha in (0.01, 0.1):
        for method in (choix.ilsr_pairwise, choix.opt_pairwise):
            scores = method(players, games, alpha=alpha)
            seen[method.__name__, alpha, players] = difference = scores[0] - scores[1]
            print(f"{method.__name__:14} alpha {alpha:<5} {players:3} players: {difference:.3f}")
for alpha in (0.01, 0.1):
    assert abs(seen["opt_pairwise", alpha, 2] - seen["opt_pairwise", alpha, 202]) < 0.1
assert seen["ilsr_pairwise", 0.01, 2] > 1.59 and seen["ilsr_pairwise", 0.01, 202] < 1.0
assert seen["ilsr_pairwise", 0.1, 202] < 0.2
PY

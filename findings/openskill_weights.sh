#!/usr/bin/env bash
# openskill 6.2.0, installed 2026-11: `rate(…, weights=…)`, the share that each player had in a game.
# Guess: a weight of 0 leaves a player's rating as it is, a weight of 0.5 moves it half as far, and equal weights change
#        nothing; between two players, what one wins the other loses, whatever the weights.
# Seen:  weights are first stretched over each team to the range from 1 to 2, so the lightest of a team moves as if no
#        weights had been given (also with 0) and the heaviest twice as far when they win; [0, 1], [1, 2] and [1, 50] are
#        the same. Where every team is one player, all weights are the same, too, and none is neutral: the winner gains
#        5.27 instead of 2.64, the loser loses 1.32 instead of 2.64. All five models do so.
# Why it matters: a player who left early is rated as if it had stayed, and in duels each weighted game adds points to the
#        league: ratings of a weighted season rise without anyone having played better.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openskill==6.2.0
"$folder/venv/bin/python" - <<'PY'
from openskill import models


def gains(model, players, weights):
    teams = [[model.rating() for _ in range(count)] for count in players]
    rated = model.rate(teams, ranks=[1, 2], weights=weights)
    return [[round(player.mu - 25, 2) for player in team] for team in rated]


for name in ("PlackettLuce", "BradleyTerryFull", "BradleyTerryPart", "ThurstoneMostellerFull", "ThurstoneMostellerPart"):
    model = getattr(models, name)()
    (winner,), (loser,) = plain = gains(model, (1, 1), None)
    assert winner == -loser
    duels = [gains(model, (1, 1), weights) for weights in ([[1], [1]], [[0.5], [0.5]], [[0], [9]])]
    print(f"{name}: a duel without weights {plain}, with 1:1, 0.5:0.5 and 0:9 {duels}")
    assert duels[0] == duels[1] == duels[2], "weights of a duel make a difference"
    assert abs(duels[0][0][0] - 2 * winner) < 0.02 and abs(duels[0][1][0] - loser / 2) < 0.02

    plain = gains(model, (2, 2), None)
    absent = [gains(model, (2, 2), [weights, [1, 1]]) for weights in ([0, 1], [1, 2], [1, 50])]
    print(f"    the winning pair without weights {plain[0]}, with 0:1, 1:2 and 1:50 {[team[0] for team in absent]}")
    assert absent[0] == absent[1] == absent[2]
    assert absent[0][0][0] == plain[0][0], "the one who was absent is rated like one who played"
    assert abs(absent[0][0][1] - 2 * plain[0][0]) < 0.02
PY

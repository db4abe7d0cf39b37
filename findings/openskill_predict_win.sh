#!/usr/bin/env bash
# openskill 6.2.0 (PyPI) and 5.0.1 (npm), installed 2026-11: the chance that each of several players wins.
# Guess: predict_win of a player 35 points above five others, all with sigma 1, is nearly 1, as it is against one.
# Seen:  1/3. The values are each player's mean chance in its duels, divided by half the number of players, so that they
#        sum to 1: nobody of n players ever gets more than 2/n (1/3 of six, 1/5 of ten). predict_rank has the same values.
# Why it matters: as odds, or as the expectation that a rating is judged by, they are wrong for every game of three seats
#        and more. Draw performances from the ratings, or use the duels alone.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openskill==6.2.0
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts openskill@5.0.1 >/dev/null
venv/bin/python - <<'PY'
import random

from openskill.models import PlackettLuce

model, draws = PlackettLuce(), random.Random(1)
for others, seen in ((1, 1.0), (2, 2 / 3), (5, 1 / 3), (9, 1 / 5)):
    players = [model.rating(mu=60, sigma=1)] + [model.rating(mu=25, sigma=1) for _ in range(others)]
    said = model.predict_win([[player] for player in players])
    ranked = model.predict_rank([[player] for player in players])
    spread = (1 + model.beta**2) ** 0.5
    wins = sum(max(draws.gauss(60, spread) - draws.gauss(25, spread) for _ in range(others)) > 0 for _ in range(2000))
    print(f"against {others}: predict_win {said[0]:.4f}, predict_rank {ranked[0][1]:.4f}; of 2,000 draws it wins {wins}")
    assert abs(said[0] - seen) < 1e-6 and abs(ranked[0][1] - seen) < 1e-6, said
    assert wins > 1990, wins
PY
node --input-type=module -e '
import { predictWin, rating } from "openskill";
const [first] = predictWin([60, 25, 25, 25, 25, 25].map((mu) => [rating({ mu, sigma: 1 })]));
console.log("npm, against 5:", first.toFixed(4));
if (Math.abs(first - 1 / 3) > 1e-3) process.exit(1);
'

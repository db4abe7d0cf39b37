#!/usr/bin/env bash
# arena-rank 0.1.1 (the ranking that LMArena publishes its board with), installed 2026-11.
# Guess: a competitor that won its only game has the widest interval of the board, since one game says little, and its
#        strength has no upper bound; or the call says that there is no estimate.
# Seen:  it has by far the narrowest: 3194, from 3194 to 3194, while two others with six games between them range over 278
#        points. (The interval comes from the residuals, and a game that is predicted for certain leaves none.) One lost
#        game of it makes a wide interval.
# Why it matters: early in a season a newcomer that won once leads by 3,000 points "beyond doubt", and the rule "its lower
#        bound is above the next one's upper bound" names it the winner. Ask for at least one loss of everybody first.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check arena-rank==0.1.1 jax==0.8.1 jaxlib==0.8.1 pandas==3.1.1
"$folder/venv/bin/python" - <<'PY'
import pandas
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset

OTHERS = [("ben", "cho", "model_a")] * 3 + [("ben", "cho", "model_b")] * 3


def board(games):
    games = PairDataset.from_pandas(pandas.DataFrame(games, columns=["model_a", "model_b", "winner"]))
    ranked = BradleyTerry(n_competitors=len(games.competitors)).compute_ratings_and_cis(games)
    columns = zip(ranked["ratings"], ranked["rating_lower"], ranked["rating_upper"], strict=True)
    return {name: [float(value) for value in row] for name, row in zip(ranked["competitors"], columns, strict=True)}


def width(row):
    return row[2] - row[1]


def show(label, seen):
    print(f"{label}:", {name: [round(value, 2) for value in row] for name, row in seen.items()})


once = board([("ana", "ben", "model_a"), *OTHERS])
show("ana won one game", once)
assert once["ana"][0] > 3000 and width(once["ana"]) < 1 and width(once["ben"]) > 200, "it changed"
lost = board([("ana", "ben", "model_a"), ("ana", "ben", "model_b"), *OTHERS])
show("ana won one and lost one", lost)
assert width(lost["ana"]) > 200
PY

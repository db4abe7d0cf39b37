#!/usr/bin/env bash
# arena-rank 0.1.1 (the ranking that LMArena publishes its board with), installed 2026-11.
# Guess: the column `winner` may name the winner, or say "model_a", "model_b" or "tie"; a word that means none of the
#        competitors is refused, or its row left out.
# Seen:  every other word is a tie: the winner's own name, "Model_A", "A", an empty text. No error and no warning. A table
#        in which winners stand by name gives every competitor 1000, with an interval from 1000 to 1000.
# Why it matters: results exported from another platform name their winners. A few such words among the right ones pull the
#        ratings together unseen. Give `outcome_map` a function that raises on what it does not know.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check arena-rank==0.1.1 jax==0.8.1 jaxlib==0.8.1 pandas==3.1.1
"$folder/venv/bin/python" - <<'PY'
import pandas
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset

WON = [("ana", "ben", "model_a")] * 8 + [("ana", "ben", "model_b")] * 4
WON += [("ben", "cho", "model_a")] * 7 + [("ben", "cho", "model_b")] * 5


def board(games, **options):
    games = PairDataset.from_pandas(pandas.DataFrame(games, columns=["model_a", "model_b", "winner"]), **options)
    ranked = BradleyTerry(n_competitors=len(games.competitors)).compute_ratings_and_cis(games)
    columns = zip(ranked["ratings"], ranked["rating_lower"], ranked["rating_upper"], strict=True)
    return {name: [round(float(value)) for value in row] for name, row in zip(ranked["competitors"], columns, strict=True)}


right = board(WON)
print("as the library spells it:", right)
assert right["ana"][0] > right["ben"][0] > right["cho"][0]
for label, word in (
    ("the winner's name", lambda a, b, won: a if won == "model_a" else b),
    ("capital letters", lambda a, b, won: won.upper()),
    ("A and B", lambda a, b, won: won[-1].upper()),
    ("nothing", lambda a, b, won: ""),
):
    seen = board([(a, b, word(a, b, won)) for a, b, won in WON])
    print(f"{label}:", seen)
    assert all(row == [1000, 1000, 1000] for row in seen.values()), "it changed"
try:
    board([("ana", "ben", "ana")], outcome_map={"model_a": 1.0, "model_b": 0.0, "tie": 0.5}.__getitem__)
except KeyError as error:
    print("with an outcome_map that knows its words:", repr(error))
else:
    raise AssertionError("it changed")
PY

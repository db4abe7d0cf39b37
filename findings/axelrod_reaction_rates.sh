#!/usr/bin/env bash
# axelrod 4.13.1 and, with torch, 4.14.0 (tournaments of the repeated prisoner's dilemma), installed 2026-11: how often a player
# cooperates after each pair of moves, in `summarise()` and `write_summary()`.
# Guess: `DD_to_C_rate` is the share of cooperation after both defected, over all matches of the tournament; a player that
#        cooperates there with chance 0.1 has about 0.1, and one that was never there has no value.
# Seen:  it is the mean over those opponents with whom the player cooperated there at least once. Against 60 Defectors in
#        matches of six turns, a player with chance 0.1 has 0.28; counted from the moves it is 0.09. With 200 turns both are 0.10.
#        A player that was never there has 0: Cooperators among themselves "never cooperate" after a defection, as Defectors do.
# Why it matters: agents with short matches, which ask a model for each move, look several times more forgiving than they
#        are, and situations that they never met look like refusals. Count the rates from the columns of `filename`.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check axelrod==4.13.1
cd "$folder"
venv/bin/python -W ignore - <<'PY'
import csv
from pathlib import Path

import axelrod


def rates(turns, name, *opponents, player):
    players = [player, *opponents]
    results = axelrod.Tournament(players, turns=turns, repetitions=1, seed=11).play(progress_bar=False, filename="moves.csv")
    row = next(row for row in results.summarise() if row.Name == str(player))
    with Path("moves.csv").open() as file:
        moves = [row for row in csv.DictReader(file) if row["Player index"] == "0" != row["Opponent index"]]
    forgiven, not_forgiven = (sum(int(row[f"DD to {action} count"]) for row in moves) for action in "CD")
    counted = forgiven / (forgiven + not_forgiven) if forgiven + not_forgiven else None
    print(f"{name}, {turns} turns: DD_to_C_rate {float(row.DD_to_C_rate):.3f}, from the moves {counted}")
    return float(row.DD_to_C_rate), counted


defectors = [axelrod.Defector() for _ in range(60)]
reported, counted = rates(6, "Random(0.1) among Defectors", *defectors, player=axelrod.Random(0.1))
assert 0.2 < reported < 0.4 and 0.05 < counted < 0.15, "it changed"
reported, counted = rates(200, "Random(0.1) among Defectors", *defectors[:10], player=axelrod.Random(0.1))
assert abs(reported - counted) < 0.02, "it changed"
assert rates(6, "Defector among Defectors", *defectors[:3], player=axelrod.Defector()) == (0, 0)
assert rates(6, "Cooperator among Cooperators", axelrod.Cooperator(), player=axelrod.Cooperator()) == (0, None), "it changed"
PY

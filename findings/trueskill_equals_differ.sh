#!/usr/bin/env bash
# trueskill 0.4.5 (ratings of games with several sides), installed 2026-11: equal ranks.
# Guess: players with the same rating who share a rank have the same rating afterwards, and the order in which a game lists its
#        sides does not matter.
# Seen:  of five new players of whom two share the first and three the second rank, the two have 28.480 and 28.487 (`expose`:
#        11.824 and 11.844), the three 22.670, 22.679 and 22.684: of equals the one listed later is ahead. With
#        the list reversed, so are they. A smaller `min_delta` changes nothing: each side is compared with its two neighbours
#        alone. Where all tie, the one in the middle gets the smallest sigma. Two sides are equal, as guessed.
# Why it matters: in a game where the minority wins, or all who survive share a rank, the seat decides who leads a board of
#        equals, and the same results from another export give other ratings. Shuffle equals with a fixed seed, or use
#        a model that compares all pairs.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check trueskill==0.4.5
"$folder/venv/bin/python" - <<'PY'
import trueskill


def rated(ranks, **how):
    sides = trueskill.rate([(trueskill.Rating(),)] * len(ranks), ranks=ranks, **how)
    return [side[0] for side in sides]


def means(ratings):
    return [round(rating.mu, 3) for rating in ratings]


game = rated([0, 0, 1, 1, 1])
turned = rated([1, 1, 1, 0, 0])
print("ranks 0 0 1 1 1 ->", means(game), [round(trueskill.expose(rating), 3) for rating in game])
print("ranks 1 1 1 0 0 ->", means(turned))
assert means(game) == [28.48, 28.487, 22.67, 22.679, 22.684], "it changed"
assert means(turned) == [22.67, 22.679, 22.684, 28.48, 28.487], "it changed"
assert means(rated([0, 0, 1, 1, 1], min_delta=1e-12)) == means(game), "it changed"
draw = [round(rating.sigma, 3) for rating in rated([0, 0, 0, 0, 0])]
print("five who tie, sigma ->", draw)
assert draw == [5.014, 5.007, 5.005, 5.007, 5.014], "it changed"
first, second = rated([0, 0])
assert first == second
PY

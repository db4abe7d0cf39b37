#!/usr/bin/env bash
# apportionment 1.0 (shares out seats by votes), installed 2026-11: largest remainders where two remainders are equal.
# Guess: after the whole quotas the seats that are left go to the largest remainders, and equal ones share what is left after the larger:
#        votes 1, 1, 3 and three seats have quotas 0.6, 0.6, 1.8, which makes 2 for the third and a lot between the others.
# Seen:  it is 1, 1, 1: who is listed first takes all that equal the last remainder that gets a seat, before the
#        larger ones are looked at. With 3, 1, 1 the answer is 2, 1, 0. This is so with floats as with `fractions=True`; with
#        `tiesallowed=False` it is refused as a tie. Where no two remainders are equal all is right.
# Why it matters: groups and classes of agents are small and their counts often equal. Whose 60% of the votes is 1 of 3 seats or 2 of 3
#        depends on the order of a list. Ask for `tiesallowed=False`, and sort by votes, largest remainder first, before you draw.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apportionment==1.0
"$folder/venv/bin/python" - <<'PY'
from fractions import Fraction
from itertools import permutations, product

from apportionment.methods import TiesException, compute


def robbed(votes, seats, **options):
    """Whether a party goes without a seat that one with a smaller remainder gets."""
    given = compute("largest_remainder", list(votes), seats, **options)
    quotas = [Fraction(count * seats, sum(votes)) for count in votes]
    rests = [(quota % 1, seats_of_party - quota // 1) for quota, seats_of_party in zip(quotas, given)]
    return any(more > less and got < had for more, got in rests for less, had in rests)


for votes in sorted(set(permutations((1, 1, 3)))):
    print(f"votes {votes}, three seats: {compute('largest_remainder', list(votes), 3, fractions=True)}")
assert compute("largest_remainder", [1, 1, 3], 3) == compute("largest_remainder", [1, 1, 3], 3, fractions=True) == [1, 1, 1], "it changed"
assert compute("largest_remainder", [3, 1, 1], 3) == [2, 1, 0], "it changed"
try:
    compute("largest_remainder", [1, 1, 3], 3, tiesallowed=False)
    raise SystemExit("it changed")
except TiesException as error:
    print("tiesallowed=False:", error)

cases = [(votes, seats) for votes in product(range(1, 13), repeat=3) for seats in range(2, 8)]
wrong = [case for case in cases if robbed(*case, fractions=True)]
for votes, seats in wrong:
    rests = [Fraction(count * seats, sum(votes)) % 1 for count in votes]
    assert len(set(rests)) < 3
print(f"a larger remainder gets none: {len(wrong)} of {len(cases)} cases of three parties, all with two equal remainders")
assert len(wrong) == 129, "it changed"
PY

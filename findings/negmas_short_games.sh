#!/usr/bin/env bash
# negmas 0.16.0 (negotiations between agents), installed 2026-11: its standard negotiators in games of few rounds.
# Guess: a negotiator that concedes with time comes down to its reserved value at the deadline: where every deal is better than none
#        for both, two of them agree in the last round at the latest, however many rounds there are.
# Seen:  over ten shares of a pie, each worth more than no deal, two AspirationNegotiators (or Boulware) agree from 7 rounds on and
#        never with fewer; with 6 they end with the offers 4 and 5, one apart. Two Linear ones need 2 rounds, two Conceders 1. With
#        a reserved value of 2 of 9 for both, Boulware fails with 10 rounds too. Two NaiveTitForTat fail with 50. The relative time
#        that they concede by is below 1 in the last round. `timedout` is all that is reported.
# Why it matters: model agents play three to ten rounds, and look better at finding deals than baselines that could not find one.
#        Give the baselines many rounds, or report their share of deals beside.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check negmas==0.16.0
cd "$folder"
HOME="$folder" venv/bin/python -W ignore - <<'PY'
import logging

from negmas import make_issue, make_os
from negmas.preferences import MappingUtilityFunction
from negmas.sao import (
    AspirationNegotiator,
    BoulwareTBNegotiator,
    ConcederTBNegotiator,
    LinearTBNegotiator,
    NaiveTitForTatNegotiator,
    SAOMechanism,
)

logging.disable(logging.CRITICAL)
SHARES = 10


def play(negotiator, rounds, reserved=0.0):
    issue = make_issue(SHARES, "share")
    game = SAOMechanism(issues=[issue], n_steps=rounds)
    for name, value in (("first", lambda share: SHARES - 1 - share), ("second", lambda share: share)):
        values = {(share,): float(value(share)) for share in range(SHARES)}
        preferences = MappingUtilityFunction(values, outcome_space=make_os([issue]), reserved_value=reserved)
        game.add(negotiator(name=name), preferences=preferences)
    state = game.run()
    return state.agreement, [offer for _, (offer,) in game.trace]


ROUNDS = (1, 2, 3, 6, 7, 10, 20, 50)
for negotiator, reserved, least in (
    (AspirationNegotiator, 0.0, 7),
    (BoulwareTBNegotiator, 0.0, 7),
    (LinearTBNegotiator, 0.0, 2),
    (ConcederTBNegotiator, 0.0, 1),
    (BoulwareTBNegotiator, 2.0, 20),
    (NaiveTitForTatNegotiator, 0.0, 51),
):
    agreed = [rounds for rounds in ROUNDS if play(negotiator, rounds, reserved)[0]]
    print(f"{negotiator.__name__}, reserved value {reserved}: agree with {agreed} of {ROUNDS} rounds")
    assert agreed == [rounds for rounds in ROUNDS if rounds >= least], "it changed"
agreement, offers = play(AspirationNegotiator, 6)
print("offers in six rounds:", offers)
assert agreement is None and sorted(offers[-2:]) == [4, 5], "it changed"
PY

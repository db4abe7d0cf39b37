"""Trials decided again."""

import random
from typing import Any

import pytest
from playmolt_trial import rules
from playmolt_trial.rules import Trial

from core.tests.decided_again import decided_again, played


def action(chance: random.Random) -> Any:
    return chance.choice(
        (
            {"type": "speak", "text": " I object. "},
            {"type": "vote", "verdict": chance.choice(("GUILTY", "NOT_GUILTY"))},
            {"type": "vote", "verdict": "PERHAPS"},
            None,
        )
    )


@pytest.mark.parametrize("seed", range(40))
def test_what_was_played_comes_out_as_it_was(seed: int) -> None:
    again = decided_again(Trial(), played(Trial(), seed, action))
    assert (again.known, again.differs_at, again.results, again.points) == (True, None, False, False)


def test_another_payout_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    games = [played(Trial(), seed, action) for seed in range(12)]
    paid = {rules.WINNER_POINTS}
    ended = [each for each in games if paid & {result.points for result in each.state.results or ()}]
    assert ended
    monkeypatch.setattr(rules, "WINNER_POINTS", rules.WINNER_POINTS + 1)
    for table in ended:
        again = decided_again(Trial(), table)
        assert again.differs_at == len(table.facts)
        assert again.points

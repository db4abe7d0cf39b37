"""Trials decided again."""

import random
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt_trial.rules import WINNER_POINTS, Trial

from core.tests.decided_again import decided_again, played, redecided


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


def test_another_payout_is_found() -> None:
    games = [played(Trial(), seed, action) for seed in range(12)]
    paid = {WINNER_POINTS}
    ended = [each for each in games if paid & {result.points for result in each.state.results or ()}]
    assert ended
    for table in ended:
        *facts, last = table.facts
        results = tuple(
            replace(result, points=result.points + (result.points == WINNER_POINTS)) for result in last.event.results
        )
        again = redecided(Trial(), [*facts, replace(last, event=replace(last.event, results=results))])
        assert again.differs_at == len(table.facts)
        assert again.points

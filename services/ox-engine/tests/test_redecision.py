"""O/X games decided again."""

import random
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt_ox.rules import Ox
from playmolt_ox.state import State
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.ox import GameEnded, RoundCounted
from typing_extensions import override

from core.tests.decided_again import RecordedTable, decided_again, played


def action(chance: random.Random) -> Any:
    return chance.choice(
        (
            {"type": "first_choice", "choice": chance.choice("OX"), "comment": "So."},
            {"type": "switch", "use_switch": chance.random() < 0.3, "comment": ""},
            {"type": "first_choice", "choice": "Z", "comment": "Never."},
            [],
        )
    )


@pytest.mark.parametrize("seed", range(40))
def test_what_was_played_comes_out_as_it_was(seed: int) -> None:
    table = played(Ox(), seed, action)
    again = decided_again(Ox(), table)
    assert (again.known, again.differs_at, again.results, again.points) == (True, None, False, False)


class PaysMore(Ox):
    """Rules that pay the winner of a game one point more."""

    rules_version = 2

    @override
    def next_event(self, state: State) -> Event | None:
        event = super().next_event(state)
        if not isinstance(event, GameEnded):
            return event
        first, *others = event.results
        return replace(event, results=(replace(first, points=first.points + 1), *others))


class RewardsEveryRound(Ox):
    """Rules under which a round that nobody won pays the first seat."""

    @override
    def next_event(self, state: State) -> Event | None:
        event = super().next_event(state)
        if isinstance(event, RoundCounted) and not event.winners:
            return replace(event, winners=(state.seats[-1].id,), points_awarded=100)
        return event


class NeedsLongComments(Ox):
    """Rules that take no action whatever."""

    @override
    def submit(self, state: State, seat: Any, action: Any) -> Any:
        return super().submit(state, seat, None)


def whole_game(rounds: int = 5) -> RecordedTable:
    table = RecordedTable(Ox(), "7")
    table.seated()
    for _ in range(rounds):
        for agent in table.agents:
            table.act(agent, {"type": "first_choice", "choice": "O", "comment": "So."})
        for agent in table.agents:
            table.act(agent, {"type": "switch", "use_switch": False, "comment": ""})
    return table


def test_another_payout_changes_points_and_nothing_else() -> None:
    table = whole_game()
    again = decided_again(PaysMore(), table)
    assert (again.differs_at, again.results, again.points) == (len(table.facts), False, True)


def test_a_round_that_is_won_otherwise_changes_who_wins_the_game() -> None:
    table = whole_game()
    again = decided_again(RewardsEveryRound(), table)
    [first, *_] = [fact.version for fact in table.facts if isinstance(fact.event, RoundCounted)]
    assert (again.differs_at, again.results, again.points) == (first, True, True)


def test_a_command_that_is_no_longer_taken_is_a_difference_and_ends_nothing() -> None:
    again = decided_again(NeedsLongComments(), whole_game())
    assert (again.known, again.results, again.points) == (True, True, True)


def test_a_game_that_still_runs_differs_in_events_alone() -> None:
    again = decided_again(RewardsEveryRound(), whole_game(rounds=2))
    assert again.differs_at is not None
    assert (again.results, again.points) == (False, False)


def test_other_content_is_no_other_rule() -> None:
    class OtherContent(Ox):
        def __init__(self) -> None:
            super().__init__()
            self._content = replace(self._content, questions=tuple(reversed(self._content.questions)))
            self.content_version = "another"

    assert decided_again(OtherContent(), whole_game()).differs_at is None


def test_an_event_that_no_command_leads_to_is_a_difference() -> None:
    table = whole_game(rounds=1)
    place = next(n for n, fact in enumerate(table.facts) if isinstance(fact.event, RoundCounted))
    table.facts[place] = replace(table.facts[place], command_id="forged")
    assert decided_again(Ox(), table).differs_at in (place, place + 1)

"""Workers beside the decider: house bots of a table, what a closing message means, and the seats of a tournament."""

import pytest
from playmolt_core.game.engine_module import engines
from playmolt_core.game.seats.rules import SeatedGame
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.registry import games
from playmolt_schemas.stored.tournament import Outcome
from playmolt_schemas.stored.values import Fault
from playmolt_tournament.effects import TableToSeat
from playmolt_tournament.workers.results import Closing, outcome_of
from playmolt_tournament.workers.tables import command_of, house_numbers

TABLES = ((1, 2, 0, 0), (3, 4, 5, 0), (6, 7, 8, 9))


def place(round_: int = 1, table: int = 1, attempt: int = 1) -> TableToSeat:
    return TableToSeat(round_, table, attempt, (), ())


def test_tables_of_a_round_share_no_house_bot() -> None:
    numbers = [house_numbers(TABLES, place(table=table), arena=False) for table in (1, 2, 3)]
    assert numbers == [[1, 2], [3], []]
    assert [house_numbers(TABLES, place(round_=2, table=table), arena=False) for table in (1, 2, 3)] == numbers


def test_a_game_that_is_played_again_and_rounds_of_an_arena_have_other_house_bots() -> None:
    for arena in (False, True):
        first, again = (set(house_numbers(TABLES, place(attempt=attempt), arena=arena)) for attempt in (1, 2))
        assert not first & again
    rounds = [set(house_numbers(TABLES, place(round_=number), arena=True)) for number in (1, 2, 3)]
    assert len(set.union(*rounds)) == 6


def test_a_tables_game_follows_from_its_place() -> None:
    names = {command_of(cup, place(*where)) for cup in "ab" for where in ((1, 1), (1, 2), (2, 1), (1, 1, 2))}
    assert len(names) == 8
    assert command_of("a", place()) == command_of("a", place())
    assert all(len(name) == 32 for name in names)


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        (Closing("game_end"), "ended"),
        (Closing("game_end", faults=[Fault(agent_id="a", kind="platform", what="outage")]), "ended"),
        (Closing("game_aborted", "abandoned"), "abandoned"),
        (Closing("game_aborted", "abandoned", [Fault(agent_id="a", kind="bot", what="deadline")]), "abandoned"),
        (Closing("game_aborted", "abandoned", [Fault(agent_id="a", kind="platform", what="outage")]), "void"),
        (Closing("game_aborted", "stuck", [Fault(agent_id="a", kind="operator", what="ended")]), "void"),
        (Closing("game_aborted", "abandoned", [Fault(agent_id="a", kind="operator", what="ended")]), "void"),
    ],
)
def test_a_game_without_results_counts_only_if_its_agents_abandoned_it(message: Closing, outcome: Outcome) -> None:
    assert outcome_of(message) == outcome


@pytest.mark.parametrize("game", GAME_TYPES)
def test_the_seats_and_roles_of_a_manifest_are_those_of_the_rules(game: str) -> None:
    manifest = games()[game]
    rules = engines()[manifest.service].deciders[game].load()()
    assert isinstance(rules, SeatedGame)
    assert (manifest.seats, manifest.roles) == (rules.needed, rules.roles)

"""A stored tournament decided again: pairings follow from seed and log, and big steps leave an event loop free."""

import time
from collections.abc import Callable
from functools import partial

import pytest
from msgspec.structs import replace
from playmolt_core.game.decider import Act
from playmolt_schemas.stored.tournament import RoundPaired, TournamentCreated
from playmolt_tournament import commands, effects
from playmolt_tournament.pairing import paired
from playmolt_tournament.views import view
from tournament_driver import RULES, TRIAL_ROLES, Driver, agent, folded, same

from core.tests.decided_again import redecided

LOOP_SECONDS = 0.02
"""The most processor time that a step of an event loop may take."""


@pytest.mark.parametrize("terms", [{"format": "swiss"}, {"format": "round_robin"}])
def test_what_was_played_is_decided_the_same(tournament: Driver, terms: dict[str, object]) -> None:
    tournament.created(seats=6, roles=TRIAL_ROLES, rounds=3, **terms).joined(*range(1, 13)).started().played()
    tournament.when(commands.LeaveTournament(agent_id=agent(3))).to_the_end()
    again = redecided(RULES, tournament.facts)
    assert (again.known, again.differs_at) == (True, None)
    assert same(folded(tournament.log), tournament.state)


@pytest.mark.parametrize(
    "terms", [{"format": "swiss", "rounds": 2}, {"format": "round_robin", "rounds": 2},
              {"format": "arena", "duration_minutes": 3}],
)  # fmt: skip
def test_after_a_crash_at_any_event_the_same_work_is_owed(tournament: Driver, terms: dict[str, object]) -> None:
    """A replica folds the events so far: it owes what the one before owed, and a repeated answer changes nothing."""
    tournament.created(**terms).joined(*range(1, 12)).started().pair().seat_all()
    tournament.when(commands.LeaveTournament(agent_id=agent(5)))
    tournament.when(commands.ScoreGame(game_id=tournament.running()[0], outcome="void")).to_the_end()
    for count, fact in enumerate(tournament.facts):
        state = folded(tournament.log[:count])
        assert same(state, fact.before)
        for effect in RULES.effects(state):
            if effect.kind == effects.SEAT:
                wanted = effect.payload
                assert isinstance(wanted, effects.TableToSeat)
                table = state.table(wanted.round, wanted.table)
                assert table is not None
                assert [each and each.number for each in wanted.entrants] == [seat or None for seat in table.seats]
    for fact in tournament.facts:
        if isinstance(fact.event, RoundPaired):
            again = commands.PairRound(round=fact.event.round, basis=fact.before.basis, tables=fact.event.tables)
            assert tournament.when(again).events == []


def test_tables_that_do_not_follow_from_the_seed_are_found(tournament: Driver) -> None:
    tournament.created(rounds=2).joined(*range(1, 12)).started()
    tables = [list(table) for table in paired(tournament.state)]
    tables[0][0], tables[1][0] = tables[1][0], tables[0][0]
    forged = commands.PairRound(round=1, basis=tournament.state.basis, tables=tuple(map(tuple, tables)))
    tournament.when(forged).accepted().seat_all()
    version = next(n for n, (event, _) in enumerate(tournament.log, 1) if isinstance(event, RoundPaired))
    tournament.to_the_end()
    assert redecided(RULES, tournament.facts).differs_at == version


def test_another_seed_would_have_paired_otherwise(tournament: Driver) -> None:
    tournament.created(rounds=1).joined(*range(1, 24)).started()
    (first, at), *others = tournament.log
    assert isinstance(first, TournamentCreated)
    log = [(replace(first, seed="8"), at), *others]
    assert paired(folded(log)) != paired(tournament.state)


def test_an_event_of_older_rules_keeps_its_version(tournament: Driver) -> None:
    tournament.created().joined(1).started()
    first = tournament.log[0][0]
    assert isinstance(first, TournamentCreated)
    older = replace(first, rules_version=0)
    assert RULES.pinned(first, older) == older


def test_an_action_of_a_game_does_not_fit(tournament: Driver) -> None:
    decision = tournament.created().joined(1).when(Act(agent_id=agent(1), action={})).decision
    assert decision == RULES.foreign


def least(step: Callable[[], object]) -> float:
    """Processor time of a step, which changes nothing. A long one is looked at again: a host that takes the machine
    away counts as processor time."""
    taken = float("inf")
    for _ in range(5):
        begun = time.process_time()
        step()
        taken = min(taken, time.process_time() - begun)
        if taken < LOOP_SECONDS:
            break
    return taken


def test_no_step_of_500_entrants_in_nine_rounds_blocks_an_event_loop(tournament: Driver) -> None:
    """Decisions with their folds, effects and views. Pairing is computed in a thread."""
    slowest: dict[str, float] = {}

    def timed(name: str, step: Callable[[], object]) -> None:
        slowest[name] = max(slowest.get(name, 0), least(step))

    when = tournament.when

    def measured(command: object) -> Driver:
        decide = partial(RULES.decide, tournament.state, command, tournament.now)  # type: ignore[arg-type]
        timed(type(command).__name__, decide)
        when(command)  # type: ignore[arg-type]
        timed("effects", partial(RULES.effects, tournament.state))
        return tournament

    tournament.when = measured  # type: ignore[method-assign]
    tournament.created(rounds=9, max_entrants=500).joined(*range(1, 501))
    for _ in range(9):
        tournament.played()
    assert tournament.state.phase == "ended"
    assert tournament.state.repeats == 0
    assert {name: seconds for name, seconds in slowest.items() if seconds > LOOP_SECONDS} == {}
    timed("view", partial(view, tournament.state))
    assert slowest["view"] < LOOP_SECONDS


def test_tables_are_seated_a_few_at_a_time(tournament: Driver) -> None:
    tournament.created(rounds=1).joined(*range(1, 501)).pair()
    waiting = tournament.due(effects.SEAT)
    assert len(waiting) == 32
    tournament.seat(waiting[0])
    assert len(tournament.due(effects.SEAT)) == 32
    tournament.seat_all()
    assert len(tournament.running()) == 100

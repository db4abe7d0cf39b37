"""The rules of a tournament, as given, when, then."""

from datetime import timedelta

import pytest
from msgspec import UNSET
from playmolt_core.game.decider import Accepted, DeadlinePassed, EndGame
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.stored.tournament import BoardRow, Score
from playmolt_tournament import commands, effects
from playmolt_tournament.listing import row_of
from playmolt_tournament.standings import standings
from playmolt_tournament.views import view
from tournament_driver import START, TRIAL_ROLES, Driver, agent

SOON = rfc3339(START + timedelta(hours=1))
LATE = rfc3339(START + timedelta(hours=2))
PAST = rfc3339(START - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"format": "knockout"}, "format"),
        ({"name": " "}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"min_entrants": 0}, "min_entrants"),
        ({"min_entrants": 1}, "min_entrants"),
        ({"min_entrants": 9, "max_entrants": 8}, "min_entrants"),
        ({"max_entrants": None}, "max_entrants"),
        ({"max_entrants": 1}, "max_entrants"),
        ({"max_entrants": "many"}, "max_entrants"),
        ({"rounds": 0}, "rounds"),
        ({"per_owner": 9}, "per_owner"),
        ({"per_owner": 0}, "per_owner"),
        ({"deadline_seconds": -1}, "deadline_seconds"),
        ({"starts_at": PAST}, "starts_at"),
        ({"starts_at": "tomorrow"}, "starts_at"),
        ({"starts_at": "2026-03-02T12:00:00"}, "starts_at"),
        ({"starts_at": "9999-03-02T12:00:00Z"}, "starts_at"),
        ({"ends_at": LATE}, "ends_at"),
        ({"duration_minutes": 5}, "duration_minutes"),
        ({"format": "round_robin", "ends_at": LATE}, "ends_at"),
        ({"format": "arena"}, "duration_minutes"),
        ({"format": "arena", "duration_minutes": 5, "ends_at": LATE}, "duration_minutes"),
        ({"format": "arena", "duration_minutes": 5, "rounds": 3}, "rounds"),
        ({"format": "arena", "starts_at": LATE, "ends_at": SOON}, "ends_at"),
        ({"format": "arena", "starts_at": SOON, "ends_at": "2026-03-01T13:00:01Z"}, "ends_at"),
        ({"format": "season"}, "ends_at"),
        ({"format": "season", "ends_at": PAST}, "ends_at"),
        ({"format": "season", "ends_at": LATE, "rounds": 3}, "rounds"),
        ({"format": "season", "ends_at": LATE, "max_entrants": 3}, "max_entrants"),
        ({"format": "season", "ends_at": LATE, "rated": False}, "rated"),
        ({"format": "season", "ends_at": LATE, "per_owner": 2}, "per_owner"),
        ({"prize": 3}, "prize"),
    ],
)  # fmt: skip
def test_terms_that_do_not_fit_are_refused_with_their_field(
    tournament: Driver, terms: dict[str, object], field: str
) -> None:
    tournament.created(**terms).refused(Code.INVALID_REQUEST)
    assert field in [fault.field for fault in tournament.decision.errors]  # type: ignore[union-attr]
    assert tournament.state.version == 0


def test_a_game_that_one_agent_plays_alone_has_no_tournaments(tournament: Driver) -> None:
    tournament.created(seats=1).refused(Code.INVALID_REQUEST)


@pytest.mark.parametrize(
    "starts_at", ["2026-03-01t01:00:00z", "2026-03-01T01:00:00.0000009Z", "2026-02-28t20:00:00-05:00"]
)
def test_a_start_is_every_time_that_rfc_3339_allows(tournament: Driver, starts_at: str) -> None:
    tournament.created(starts_at=starts_at).accepted()
    assert view(tournament.state).starts_at == "2026-03-01T01:00:00.000000Z"


def test_a_new_tournament_is_open(tournament: Driver) -> None:
    tournament.created(starts_at="2026-03-01T02:00:00+01:00", by="owner-1").accepted()
    shown = view(tournament.state)
    assert (shown.state, shown.starts_at, shown.round) == ("open", "2026-03-01T01:00:00.000000Z", 0)
    assert shown.created_by is not None
    assert shown.created_by.id == "owner-1"
    tournament.created().refused(Code.ALREADY_STARTED)


def test_each_change_that_a_reader_sees_has_its_time(tournament: Driver) -> None:
    def changed() -> str | None:
        return view(tournament.state).changed_at

    tournament.created(starts_at=SOON, rounds=1)
    for seconds, command in enumerate(
        (
            commands.ChangeTournament(terms={"name": "another"}),
            commands.JoinTournament(agent_id=agent(1), name="one"),
            commands.JoinTournament(agent_id=agent(2), name="two"),
            commands.JoinTournament(agent_id=agent(3), name="three"),
            commands.LeaveTournament(agent_id=agent(2)),
            commands.StartTournament(),
        )
    ):
        assert changed() == rfc3339(START + timedelta(seconds=seconds))
        tournament.later(1).when(command).accepted()
    tournament.later(1).pair().seat_all()
    assert changed() == rfc3339(START + timedelta(seconds=6)), "a list shows nothing of tables"
    (game,) = tournament.later(1).running()
    tournament.score(game)
    assert changed() == view(tournament.state).ended_at == rfc3339(START + timedelta(seconds=8))


def test_an_unknown_tournament_is_not_found(tournament: Driver) -> None:
    for command in (
        commands.JoinTournament(agent_id="a", name="a"), commands.ChangeTournament(terms={}),
        commands.StartTournament(), EndGame(reason="x"),
    ):  # fmt: skip
        tournament.when(command).refused(Code.NOT_FOUND)


class TestJoining:
    def test_once(self, tournament: Driver) -> None:
        tournament.created().joined(1).accepted()
        tournament.joined(1).refused(Code.ALREADY_JOINED)

    def test_as_many_as_there_are_places(self, tournament: Driver) -> None:
        tournament.created(max_entrants=2, starts_at=SOON).joined(1, 2).accepted()
        tournament.joined(3).refused(Code.TOURNAMENT_FULL)
        tournament.when(commands.LeaveTournament(agent_id=agent(1))).accepted()
        tournament.joined(3).accepted()
        assert [entrant.number for entrant in tournament.state.present] == [2, 3]

    def test_again_with_the_same_number(self, tournament: Driver) -> None:
        tournament.created().joined(1, 2).when(commands.LeaveTournament(agent_id=agent(1))).accepted()
        tournament.when(commands.LeaveTournament(agent_id=agent(1))).accepted()
        assert tournament.events == []
        tournament.joined(1).accepted()
        assert [entrant.number for entrant in tournament.state.present] == [1, 2]

    def test_one_agent_of_an_owner(self, tournament: Driver) -> None:
        tournament.created().joined(1, owner="owner-1").joined(2, owner="owner-2").accepted()
        tournament.joined(3, owner="owner-1").refused(Code.ONE_OWNER)
        tournament.when(commands.LeaveTournament(agent_id=agent(1))).joined(3, owner="owner-1").accepted()

    def test_as_many_of_an_owner_as_the_terms_say(self, tournament: Driver) -> None:
        tournament.created(per_owner=2).joined(1, 2, owner="owner-1").accepted()
        tournament.joined(3, owner="owner-1").refused(Code.ONE_OWNER)

    def test_agents_without_an_owner_are_not_counted(self, tournament: Driver) -> None:
        tournament.created().joined(*range(1, 9)).accepted()

    def test_not_after_the_start(self, tournament: Driver) -> None:
        tournament.created().joined(1, 2).started().joined(3).refused(Code.ALREADY_STARTED)

    def test_an_arena_until_its_end(self, tournament: Driver) -> None:
        tournament.created(format="arena", duration_minutes=10).joined(1, 2).started().later(599).joined(3).accepted()
        tournament.later(1).joined(4).refused(Code.TOURNAMENT_OVER)

    def test_not_after_the_end(self, tournament: Driver) -> None:
        tournament.created().joined(1).when(commands.CancelTournament()).accepted()
        tournament.joined(2).refused(Code.TOURNAMENT_OVER)
        tournament.when(commands.LeaveTournament(agent_id=agent(1))).refused(Code.TOURNAMENT_OVER)

    def test_an_owner_cannot_play_an_arena_with_one_agent_after_the_other(self, tournament: Driver) -> None:
        tournament.created(format="arena", duration_minutes=10).joined(1, owner="owner-1").joined(2).started().pair()
        tournament.when(commands.LeaveTournament(agent_id=agent(1))).joined(3, owner="owner-1").refused(Code.ONE_OWNER)
        tournament.joined(1, owner="owner-1").accepted()

    def test_joining_and_leaving_again_and_again_has_a_limit(self, tournament: Driver) -> None:
        tournament.created(max_entrants=2, starts_at=SOON)
        for number in range(1, 9):
            tournament.joined(number).accepted().when(commands.LeaveTournament(agent_id=agent(number))).accepted()
        tournament.joined(9).refused(Code.TOURNAMENT_FULL)
        tournament.joined(8).accepted()

    def test_strangers_have_nothing_to_leave_or_pause(self, tournament: Driver) -> None:
        tournament.created(format="arena", duration_minutes=10)
        for command in (commands.LeaveTournament, commands.PauseEntrant, commands.ResumeEntrant):
            tournament.when(command(agent_id="who")).refused(Code.NOT_A_PARTICIPANT)


class TestStarting:
    def test_when_it_is_full(self, tournament: Driver) -> None:
        tournament.created(max_entrants=3).joined(1, 2)
        assert tournament.state.phase == "open"
        tournament.joined(3)
        assert tournament.events == ["entrant_joined", "tournament_started"]

    def test_not_when_it_is_full_before_its_time(self, tournament: Driver) -> None:
        tournament.created(max_entrants=2, starts_at=SOON).joined(1, 2)
        assert tournament.state.phase == "open"
        (effect,) = tournament.rules.effects(tournament.state)
        assert (effect.kind, rfc3339(effect.due)) == ("deadline", SOON)
        tournament.later(3600).when(DeadlinePassed(effect_id=effect.id))
        assert tournament.events == ["tournament_started"]
        tournament.when(DeadlinePassed(effect_id=effect.id)).accepted()
        assert tournament.events == []

    def test_too_few(self, tournament: Driver) -> None:
        tournament.created(min_entrants=3).joined(1, 2).started()
        assert tournament.events == ["tournament_ended"]
        assert (tournament.state.phase, tournament.state.reason) == ("aborted", "too_few_entrants")
        assert not tournament.rules.effects(tournament.state)

    def test_without_entrants(self, tournament: Driver) -> None:
        assert tournament.created().started().state.reason == "too_few_entrants"

    def test_by_its_owner_or_the_operator(self, tournament: Driver) -> None:
        tournament.created(by="owner-1").joined(1, 2)
        for command in (commands.StartTournament, commands.CancelTournament):
            tournament.when(command(by="owner-2")).refused(Code.OPERATOR_ONLY)
        tournament.when(commands.ChangeTournament(by="owner-2", terms={})).refused(Code.OPERATOR_ONLY)
        tournament.when(commands.StartTournament(by="owner-1")).accepted()
        for command in (commands.StartTournament(by="owner-1"), commands.CancelTournament()):
            tournament.when(command).refused(Code.ALREADY_STARTED)
        tournament.when(commands.ChangeTournament(terms={"name": "B"})).refused(Code.ALREADY_STARTED)

    @pytest.mark.parametrize(
        ("kind", "entrants", "rounds"),
        [("swiss", 25, 3), ("swiss", 100, 7), ("swiss", 2, 1), ("round_robin", 4, 5), ("round_robin", 25, 6)],
    )
    def test_rounds_follow_from_the_entrants(self, tournament: Driver, kind: str, entrants: int, rounds: int) -> None:
        tournament.created(format=kind).joined(*range(1, entrants + 1)).started()
        assert tournament.state.rounds_planned == rounds

    @pytest.mark.parametrize(("terms", "before", "after"), [({"rounds": 7}, 7, 7), ({}, None, 1)])
    def test_the_list_announces_the_rounds_that_the_state_does(
        self, tournament: Driver, terms: dict[str, int], before: int | None, after: int
    ) -> None:
        def announced() -> list[int | None]:
            row = row_of(tournament.state, rfc3339(START))
            return [row.rounds_planned, view(tournament.state).rounds_planned]

        tournament.created(**terms).joined(1, 2)
        assert announced() == [before, before]
        tournament.started()
        assert announced() == [after, after]


class TestChanging:
    def test_terms_change_before_the_start(self, tournament: Driver) -> None:
        tournament.created(starts_at=SOON, rounds=3)
        tournament.when(commands.ChangeTournament(terms={"name": "B", "rounds": None, "starts_at": LATE})).accepted()
        terms = tournament.state.terms
        assert (terms.name, terms.rounds, terms.starts_at) == ("B", UNSET, LATE)
        tournament.when(commands.ChangeTournament(terms={"name": "B"})).accepted()
        assert tournament.events == []

    @pytest.mark.parametrize("terms", [{"format": "arena"}, {"game_type": "trial"}, {"max_entrants": 1}, {"rounds": 0}])
    def test_what_cannot_change(self, tournament: Driver, terms: dict[str, object]) -> None:
        tournament.created().joined(1, 2).when(commands.ChangeTournament(terms=terms)).refused(Code.INVALID_REQUEST)

    def test_it_starts_if_it_is_full_now(self, tournament: Driver) -> None:
        tournament.created().joined(1, 2).when(commands.ChangeTournament(terms={"max_entrants": 2}))
        assert tournament.events == ["tournament_changed", "tournament_started"]

    def test_cancelling(self, tournament: Driver) -> None:
        tournament.created(by="owner-1").when(commands.CancelTournament(by="owner-1")).accepted()
        assert (tournament.state.phase, tournament.state.reason) == ("aborted", "cancelled")


class TestPlaying:
    def test_a_round_closes_with_its_last_game(self, tournament: Driver) -> None:
        tournament.created(rounds=2).joined(*range(1, 8)).started().pair().seat_all()
        first, second = tournament.running()
        tournament.score(first)
        assert tournament.events == ["game_scored"]
        tournament.score(second)
        assert tournament.events == ["game_scored", "round_closed"]
        assert tournament.due(effects.PAIR)

    def test_the_last_round_ends_it(self, tournament: Driver) -> None:
        tournament.created(rounds=1).joined(*range(1, 8)).started().played()
        assert tournament.events == ["game_scored", "round_closed", "tournament_ended"]
        assert tournament.state.phase == "ended"
        assert standings(tournament.state) == tournament.state.standings

    def test_house_bots_fill_the_tables(self, tournament: Driver) -> None:
        tournament.created(rounds=1).joined(*range(1, 8)).started().pair().seat_all()
        shown = view(tournament.state).rounds[0].games
        assert [len(game.seats) for game in shown] == [5, 5]
        assert sorted(sum(seat.id.startswith("house") for seat in game.seats) for game in shown) == [1, 2]
        assert {game.phase for game in shown} == {"playing"}

    def test_seats_have_roles(self, tournament: Driver) -> None:
        tournament.created(seats=6, roles=TRIAL_ROLES, rounds=1).joined(*range(1, 6)).started().pair().seat_all()
        (game,) = view(tournament.state).rounds[0].games
        assert tuple(seat.role for seat in game.seats) == TRIAL_ROLES

    def test_results_of_house_bots_and_strangers_count_for_nothing(self, tournament: Driver) -> None:
        tournament.created(rounds=2).joined(1, 2).started().pair().seat_all()
        (game_id,) = tournament.running()
        scores = (Score(number=1, points=100, won=True, rank=1), Score(number=9, points=900, won=True, rank=1))
        tournament.when(commands.ScoreGame(game_id=game_id, outcome="ended", scores=scores)).accepted()
        assert [(row.number, row.points, row.games, row.buchholz) for row in standings(tournament.state)] == [
            (1, 100, 1, 0), (2, 0, 1, 100),
        ]  # fmt: skip

    def test_a_repeated_report_changes_nothing(self, tournament: Driver) -> None:
        tournament.created(rounds=2).joined(*range(1, 8)).started().pair()
        pairing = commands.PairRound(
            round=1, basis=tournament.state.basis, tables=tuple(t.seats for t in tournament.state.rounds[0].tables)
        )
        tournament.when(pairing).accepted()
        assert tournament.events == []
        tournament.seat_all()
        for game_id in tournament.running():
            table = tournament.table(game_id)
            number, position = tournament.state.games[game_id]
            again = commands.SeatTable(round=number, table=position, attempt=1, game_id="ox-other", house=table.house)
            tournament.when(again).accepted()
            assert tournament.events == []
            tournament.score(game_id)
            tournament.when(commands.ScoreGame(game_id=game_id, outcome="ended")).accepted()
            assert tournament.events == []
            tournament.when(commands.ScoreGame(game_id=game_id, outcome="void")).accepted()
            assert tournament.events == []

    def test_tables_that_omit_an_entrant_are_refused(self, tournament: Driver) -> None:
        tournament.created(rounds=1).joined(*range(1, 8)).started()
        basis = tournament.state.basis
        for tables in (
            ((1, 2, 3, 4, 0), (5, 6, 0, 0, 0)), ((1, 2, 3, 4, 0), (5, 6, 6, 0, 0)), ((1, 2, 3, 4, 5), (6, 7, 0, 0, 0)),
            ((1, 2, 3, 4, 0), (5, 6, 8, 0, 0)), ((1, 2, 3, 4), (5, 6, 7)), (),
        ):  # fmt: skip
            tournament.when(commands.PairRound(round=1, basis=basis, tables=tables)).refused(Code.INVALID_REQUEST)
        tournament.when(commands.PairRound(round=1, basis=basis, tables=((7, 2, 3, 4, 0), (5, 6, 1, 0, 0)))).accepted()
        assert tournament.events == ["round_paired"]

    def test_a_pairing_from_before_a_withdrawal_is_not_taken(self, tournament: Driver) -> None:
        tournament.created(rounds=1).joined(*range(1, 8)).started()
        (before,) = tournament.due(effects.PAIR)
        stale = commands.PairRound(round=1, basis=tournament.state.basis, tables=((1, 2, 3, 4, 0), (5, 6, 7, 0, 0)))
        tournament.when(commands.LeaveTournament(agent_id=agent(7))).when(stale).accepted()
        assert tournament.events == []
        (now,) = tournament.due(effects.PAIR)
        assert now.id != before.id
        tournament.pair()
        assert sorted(number for table in tournament.state.rounds[0].tables for number in table.numbers) == [
            *range(1, 7)
        ]

    def test_a_game_that_the_platform_ended_is_played_again_once(self, tournament: Driver) -> None:
        tournament.created(rounds=1).joined(*range(1, 6)).started().pair().seat_all()
        (first,) = tournament.running()
        tournament.when(commands.ScoreGame(game_id=first, outcome="void"))
        assert tournament.events == ["game_voided"]
        tournament.when(commands.LeaveTournament(agent_id=agent(2))).seat_all()
        (second,) = tournament.running()
        assert second != first
        tournament.when(commands.ScoreGame(game_id=first, outcome="ended")).accepted()
        assert tournament.events == []
        tournament.when(commands.ScoreGame(game_id=second, outcome="void"))
        assert tournament.events == ["game_scored", "round_closed", "tournament_ended"]
        assert [(row.points, row.games, row.rank) for row in tournament.state.standings] == [(0, 0, 1)] * 4
        (game,) = view(tournament.state).rounds[0].games
        assert game.phase == "aborted"

    def test_an_entrant_that_left_does_not_play_again(self, tournament: Driver) -> None:
        tournament.created(rounds=1).joined(*range(1, 6)).started().pair().seat_all()
        tournament.when(commands.LeaveTournament(agent_id=agent(2)))
        (first,) = tournament.running()
        tournament.when(commands.ScoreGame(game_id=first, outcome="void")).seat_all()
        assert sorted(tournament.table(tournament.running()[0]).numbers) == [1, 3, 4, 5]

    def test_an_abandoned_game_counts_without_points(self, tournament: Driver) -> None:
        tournament.created(rounds=1).joined(*range(1, 6)).started().pair().seat_all()
        (game_id,) = tournament.running()
        tournament.when(commands.ScoreGame(game_id=game_id, outcome="abandoned"))
        assert tournament.events == ["game_scored", "round_closed", "tournament_ended"]
        assert {(row.points, row.wins, row.games) for row in tournament.state.standings} == {(0, 0, 0)}

    def test_an_entrant_that_leaves_keeps_its_results_and_its_present_game(self, tournament: Driver) -> None:
        tournament.created(rounds=3).joined(*range(1, 8)).started().pair().seat_all()
        tournament.when(commands.LeaveTournament(agent_id=agent(4))).accepted()
        for game_id in tournament.running():
            tournament.score(game_id)
        assert next(row for row in standings(tournament.state) if row.number == 4).games == 1
        tournament.to_the_end()
        assert all(4 not in table.numbers for each in tournament.state.rounds[1:] for table in each.tables)
        assert next(row for row in tournament.state.standings if row.number == 4).games == 1

    def test_it_ends_when_all_have_left(self, tournament: Driver) -> None:
        tournament.created(rounds=3).joined(1, 2).started().pair().seat_all()
        for number in (1, 2):
            tournament.when(commands.LeaveTournament(agent_id=agent(number)))
        (game_id,) = tournament.running()
        tournament.score(game_id)
        assert tournament.events == ["game_scored", "round_closed", "tournament_ended"]
        assert tournament.state.phase == "ended"

    def test_the_operator_ends_it_with_the_standings_as_they_are(self, tournament: Driver) -> None:
        tournament.created(rounds=3).joined(*range(1, 8)).started().played().pair().seat_all()
        running, before = tournament.running(), standings(tournament.state)
        tournament.when(EndGame(reason=" ")).refused(Code.INVALID_REQUEST)
        tournament.when(EndGame(reason="The power goes out.")).accepted()
        assert (tournament.state.phase, tournament.state.reason) == ("aborted", "The power goes out.")
        assert tournament.state.standings == before
        shown = view(tournament.state).rounds
        assert [each.state for each in shown] == ["closed", "closed"]
        assert [game.phase for each in shown for game in each.games] == ["end", "end", "aborted", "aborted"]
        tournament.when(commands.ScoreGame(game_id=running[0], outcome="ended")).accepted()
        assert tournament.events == []
        tournament.when(EndGame(reason="Again.")).refused(Code.TOURNAMENT_OVER)
        assert not tournament.rules.effects(tournament.state)


class TestStandings:
    def test_equals_share_a_rank(self, tournament: Driver) -> None:
        tournament.created(rounds=1, format="round_robin").joined(*range(1, 5)).started().pair().seat_all()
        (game_id,) = tournament.running()
        table = tournament.table(game_id)
        points = {0: (100, True), 1: (60, False), 2: (60, False), 3: (20, False)}
        scores = tuple(
            Score(number=number, points=points[place][0], won=points[place][1], rank=place + 1)
            for place, number in enumerate(number for number in table.seats if number)
        )
        tournament.when(commands.ScoreGame(game_id=game_id, outcome="ended", scores=scores))
        assert [row.rank for row in tournament.state.standings] == [1, 2, 2, 4]

    def test_wins_come_before_buchholz(self, tournament: Driver) -> None:
        tournament.created(rounds=1).joined(*range(1, 3)).started().pair().seat_all()
        (game_id,) = tournament.running()
        scores = (Score(number=1, points=50, won=False, rank=1), Score(number=2, points=50, won=True, rank=1))
        tournament.when(commands.ScoreGame(game_id=game_id, outcome="ended", scores=scores))
        assert [(row.number, row.rank) for row in tournament.state.standings] == [(2, 1), (1, 2)]


class TestArena:
    def test_all_who_wait_are_paired_and_freed(self, tournament: Driver) -> None:
        tournament.created(format="arena", duration_minutes=10).joined(*range(1, 8)).started().pair().seat_all()
        assert [len(table.numbers) for table in tournament.state.rounds[0].tables] == [4, 3]
        first, second = tournament.running()
        tournament.later(60).score(first)
        free = tournament.state.free
        assert sorted(free) == sorted(tournament.state.rounds[0].tables[0].numbers)
        assert not tournament.due(effects.PAIR)
        tournament.later(20).pair()
        assert sorted(number for table in tournament.state.rounds[1].tables for number in table.numbers) == sorted(free)
        tournament.score(second)
        assert tournament.events == ["game_scored", "round_closed"]

    def test_without_a_running_game_the_pairing_is_due_at_once(self, tournament: Driver) -> None:
        tournament.created(format="arena", duration_minutes=10).joined(1, 2).started()
        assert tournament.due(effects.PAIR)

    def test_a_pause(self, tournament: Driver) -> None:
        tournament.created(format="arena", duration_minutes=10).joined(1, 2, 3).started()
        tournament.when(commands.PauseEntrant(agent_id=agent(2))).when(commands.PauseEntrant(agent_id=agent(2)))
        assert tournament.events == []
        tournament.pair()
        assert sorted(tournament.state.rounds[0].tables[0].numbers) == [1, 3]
        tournament.joined(2).accepted()
        assert tournament.events == ["entrant_resumed"]
        assert tournament.state.free == (2,)
        tournament.when(commands.ResumeEntrant(agent_id=agent(2))).accepted()
        assert tournament.events == []

    def test_who_pauses_before_the_start_counts_as_an_entrant(self, tournament: Driver) -> None:
        tournament.created(format="arena", duration_minutes=10, min_entrants=3, max_entrants=3).joined(1, 2)
        tournament.when(commands.PauseEntrant(agent_id=agent(1))).joined(3)
        assert tournament.events == ["entrant_joined", "tournament_started"]
        tournament.pair()
        assert sorted(tournament.state.rounds[0].tables[0].numbers) == [2, 3]

    def test_only_an_arena_pauses(self, tournament: Driver) -> None:
        tournament.created().joined(1).when(commands.PauseEntrant(agent_id=agent(1))).refused(Code.INVALID_REQUEST)

    def test_no_game_begins_after_its_end_and_those_that_run_count(self, tournament: Driver) -> None:
        tournament.created(format="arena", duration_minutes=10).joined(*range(1, 8)).started().pair().seat_all()
        first, second = tournament.running()
        (end,) = [each for each in tournament.rules.effects(tournament.state) if each.kind == "deadline"]
        tournament.later(600).when(DeadlinePassed(effect_id=end.id))
        assert tournament.events == ["arena_closed"]
        tournament.score(first)
        assert not tournament.due(effects.PAIR)
        tournament.when(commands.ScoreGame(game_id=second, outcome="void"))
        assert tournament.events == ["game_scored", "round_closed", "tournament_ended"]
        assert sum(row.games for row in tournament.state.standings) == 4

    @pytest.mark.parametrize("again", [False, True], ids=["at first", "again"])
    @pytest.mark.parametrize("closed_first", [False, True])
    def test_a_table_without_a_game_at_its_end_is_dropped(
        self, tournament: Driver, again: bool, closed_first: bool
    ) -> None:
        tournament.created(format="arena", duration_minutes=10).joined(*range(1, 8)).started().pair()
        first, second = tournament.due(effects.SEAT)
        tournament.seat(first)
        if again:
            tournament.seat(second)
            tournament.when(commands.ScoreGame(game_id="ox-1-2-1", outcome="void")).accepted()
        drop = commands.DropTable(round=1, table=2, attempt=1 + again)
        assert tournament.when(drop).accepted().events == [], "its time is not over"
        (end,) = [each for each in tournament.rules.effects(tournament.state) if each.kind == effects.DEADLINE]
        tournament.later(600)
        steps = [drop, DeadlinePassed(effect_id=end.id)]
        for command in reversed(steps) if closed_first else steps:
            tournament.when(command).accepted()
        assert [event.type for event, _ in tournament.log[-2:]] == sorted(
            ["arena_closed", "table_dropped"], reverse=not closed_first
        )
        assert tournament.when(drop).accepted().events == []
        assert not tournament.due(effects.SEAT)
        shown = view(tournament.state).rounds[0].games[1]
        assert (shown.game_id, shown.phase) == (None, "aborted")
        tournament.score("ox-1-1-1")
        assert tournament.events == ["game_scored", "round_closed", "tournament_ended"]
        assert sum(row.games for row in tournament.state.standings) == 4
        assert not any(entrant.playing for entrant in tournament.state.entrants)

    def test_one_that_was_never_started_ends_in_time(self, tournament: Driver) -> None:
        tournament.created(format="arena", ends_at=SOON).joined(1)
        (end,) = tournament.rules.effects(tournament.state)
        assert rfc3339(end.due) == SOON
        tournament.later(3600).joined(2).refused(Code.TOURNAMENT_OVER)
        tournament.when(DeadlinePassed(effect_id=end.id))
        assert tournament.events == ["tournament_ended"]
        assert (tournament.state.phase, tournament.state.reason) == ("aborted", "not_started")

    def test_a_pairing_that_arrives_after_its_end_is_not_taken(self, tournament: Driver) -> None:
        tournament.created(format="arena", duration_minutes=10).joined(1, 2).started().later(600).pair()
        assert tournament.events == []

    def test_an_empty_one_ends_in_time(self, tournament: Driver) -> None:
        tournament.created(format="arena", ends_at=SOON).joined(1, 2).started()
        for number in (1, 2):
            tournament.when(commands.LeaveTournament(agent_id=agent(number))).accepted()
        assert not tournament.due(effects.PAIR)
        tournament.to_the_end()
        assert (tournament.state.phase, rfc3339(tournament.now)) == ("ended", SOON)


class TestSeason:
    def test_its_final_board_is_an_event(self, tournament: Driver) -> None:
        tournament.created(format="season", ends_at=SOON).accepted()
        assert tournament.events == ["tournament_created", "tournament_started"]
        tournament.joined(1).refused(Code.INVALID_REQUEST)
        (close,) = tournament.rules.effects(tournament.state)
        assert (close.kind, rfc3339(close.due)) == (effects.CLOSE_SEASON, SOON)
        rows = tuple(
            BoardRow(rank=0, agent_id=f"a{n}", name="A", handle="a", owner_id=None, points=p, wins=w, games=1)
            for n, (p, w) in enumerate([(10, 0), (30, 1), (30, 1), (30, 2)])
        )
        tournament.when(commands.CloseSeason(board=rows))
        assert tournament.events == ["tournament_ended"]
        assert [(row.rank, row.id) for row in view(tournament.state).standings] == [
            (1, "a3"), (2, "a1"), (2, "a2"), (4, "a0"),
        ]  # fmt: skip
        tournament.when(commands.CloseSeason(board=())).accepted()
        assert tournament.events == []

    def test_the_operators_end_has_the_board_as_it_is(self, tournament: Driver) -> None:
        row = BoardRow(rank=0, agent_id="a1", name="A", handle="a", owner_id=None, points=30, wins=1, games=1)
        tournament.created(format="season", ends_at=SOON).accepted()
        tournament.when(commands.CloseSeason(board=(row,), reason=" ")).refused(Code.INVALID_REQUEST)
        tournament.when(commands.CloseSeason(board=(row,), reason="no more")).accepted()
        shown = view(tournament.state)
        assert (shown.state, shown.reason) == ("aborted", "no more")
        assert [(row.rank, row.id, row.points) for row in shown.standings] == [(1, "a1", 30)]
        tournament.when(commands.CloseSeason(board=(), reason="again")).refused(Code.TOURNAMENT_OVER)

    def test_it_begins_at_its_time(self, tournament: Driver) -> None:
        tournament.created(format="season", starts_at=SOON, ends_at=LATE)
        assert tournament.state.phase == "open"
        (start,) = tournament.rules.effects(tournament.state)
        tournament.later(3600).when(DeadlinePassed(effect_id=start.id))
        assert tournament.events == ["tournament_started"]

    def test_a_command_for_other_formats_changes_nothing(self, tournament: Driver) -> None:
        tournament.created(format="season", ends_at=SOON)
        tournament.when(commands.PairRound(round=1, basis=tournament.state.basis, tables=()))
        assert tournament.decision == Accepted()

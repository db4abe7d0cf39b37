"""Whatever is done to a tournament, in any order: it reaches its end, rounds are whole, and the log explains all."""

from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from playmolt_core.game.decider import Accepted, Command, DeadlinePassed, EndGame, Viewer
from playmolt_schemas.stored.tournament import Score
from playmolt_schemas.stored.values import Identity
from playmolt_tournament import commands, effects
from playmolt_tournament.pairing import paired
from playmolt_tournament.pairing.tables import sizes
from playmolt_tournament.standings import standings
from playmolt_tournament.state import Round
from tournament_driver import RULES, TRIAL_ROLES, Driver, agent, folded, same

from core.tests.decided_again import redecided

AGENTS = st.integers(1, 14)
FORMATS = st.sampled_from(["swiss", "round_robin", "arena"])


class Tournaments(RuleBasedStateMachine):
    """Agents come and go, workers answer in any order, twice or after a crash, and games end in every way."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver()
        self.done: list[Command] = []
        self.seen = 0

    def when(self, command: Command) -> None:
        self.driver.when(command)
        self.done.append(command)

    @initialize(
        kind=FORMATS, roles=st.booleans(), rounds=st.integers(1, 4), seed=st.integers(0, 99), timed=st.booleans()
    )
    def create(self, kind: str, roles: bool, rounds: int, seed: int, timed: bool) -> None:
        arena = {"duration_minutes": 2} if kind == "arena" else {"rounds": rounds}
        starts = {"starts_at": "2026-03-01T00:01:00Z"} if timed else {}
        seats = (6, TRIAL_ROLES) if roles else (5, ())
        self.driver.created(*seats, seed=str(seed), format=kind, max_entrants=12, **arena, **starts).accepted()

    @rule(numbers=st.lists(AGENTS, max_size=9), owner=st.sampled_from(["", "", "", "owner-1"]))
    def join(self, numbers: list[int], owner: str) -> None:
        for number in numbers:
            name = agent(number)
            identity = Identity(handle=name, kind="bot", owner_id=owner or msgspec.UNSET)
            self.when(commands.JoinTournament(agent_id=name, name=name, identity=identity))

    @rule(
        number=AGENTS, kind=st.sampled_from([commands.LeaveTournament, commands.PauseEntrant, commands.ResumeEntrant])
    )
    def change_entrant(self, number: int, kind: Any) -> None:
        self.when(kind(agent_id=agent(number)))

    @rule()
    def start(self) -> None:
        self.when(commands.StartTournament())

    @rule(seconds=st.integers(1, 90))
    def wait(self, seconds: int) -> None:
        self.driver.now += timedelta(seconds=seconds)
        for effect in self.driver.due("deadline"):
            self.when(DeadlinePassed(effect_id=effect.id))

    @precondition(lambda self: self.driver.due(effects.PAIR))
    @rule()
    def pair(self) -> None:
        state = self.driver.state
        self.when(commands.PairRound(round=len(state.rounds) + 1, basis=state.basis, tables=paired(state)))
        assert self.driver.events[0] == "round_paired"

    @precondition(lambda self: self.driver.due(effects.SEAT))
    @rule(pick=st.integers(0, 99))
    def seat(self, pick: int) -> None:
        waiting = self.driver.due(effects.SEAT)
        self.driver.seat(waiting[pick % len(waiting)])

    @precondition(lambda self: self.driver.running())
    @rule(pick=st.integers(0, 99), outcome=st.sampled_from(["ended", "ended", "ended", "abandoned", "void"]))
    def score(self, pick: int, outcome: Any) -> None:
        running = self.driver.running()
        game_id = running[pick % len(running)]
        order = [number for number in self.driver.table(game_id).seats if number]
        order = order[pick % len(order) :] + order[: pick % len(order)]
        scores = tuple(
            Score(number=number, points=200 // (place + 1), won=place == 0, rank=place + 1)
            for place, number in enumerate(order)
        )
        self.when(commands.ScoreGame(game_id=game_id, outcome=outcome, scores=scores))
        self.driver.accepted()

    @precondition(lambda self: self.done)
    @rule(pick=st.integers(0, 999))
    def repeat(self, pick: int) -> None:
        """A worker that was lost before its answer arrived sends what was sent before."""
        command = self.done[pick % len(self.done)]
        if isinstance(command, commands.PairRound | commands.ScoreGame | DeadlinePassed):
            before = self.driver.state
            self.driver.when(command)
            assert self.driver.state == before

    @rule(cut=st.integers(0, 999))
    def crash(self, cut: int) -> None:
        """What another replica folds from a prefix decides the same: it owes the same effects and pairs the same."""
        log = self.driver.log
        state = folded(log[: cut % (len(log) + 1)])
        if cut % (len(log) + 1) == len(log):
            assert same(state, self.driver.state)
            assert [each.id for each in RULES.effects(state)] == [each.id for each in RULES.effects(self.driver.state)]
            if self.driver.due(effects.PAIR):
                assert paired(state) == paired(self.driver.state)

    @invariant()
    def rounds_are_whole(self) -> None:
        state = self.driver.state
        for each in state.rounds[self.seen :]:
            self.whole(each)
        self.seen = len(state.rounds)
        assert all(entrant.playing >= 0 for entrant in state.entrants)
        open_tables = [table for each in state.rounds for table in each.tables if table.outcome is None]
        if not state.over:
            for entrant in state.entrants:
                assert entrant.playing == sum(entrant.number in table.seats for table in open_tables)
            assert len(state.games) + len(state.unseated) == len(open_tables)

    def whole(self, each: Round) -> None:
        """A round as it was paired, which the driver checks right after: nobody twice, nobody left out."""
        state = self.driver.state
        numbers = [number for table in each.tables for number in table.numbers]
        assert len(numbers) == len(set(numbers))
        if state.format != "arena" and not each.closed:
            assert numbers
        counts = sorted((len(table.numbers) for table in each.tables), reverse=True)
        if all(table.attempt == 1 for table in each.tables):
            assert counts == list(sizes(len(numbers), state.seats))

    @invariant()
    def standings_follow_from_results(self) -> None:
        rows = standings(self.driver.state)
        assert [row.rank for row in rows] == sorted(row.rank for row in rows)
        msgspec.json.encode(RULES.view(self.driver.state, Viewer()))

    def teardown(self) -> None:
        driver = self.driver
        if not driver.log:
            return
        if driver.state.phase == "open":
            driver.when(commands.StartTournament())
        if not driver.state.over:
            driver.to_the_end()
        assert driver.state.over
        assert same(folded(driver.log), driver.state)
        assert isinstance(driver.when(EndGame(reason="x")).decision, Accepted) is False
        again = redecided(RULES, driver.facts)
        assert (again.known, again.differs_at) == (True, None)


Tournaments.TestCase.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
TestTournaments = Tournaments.TestCase

"""Drives a tournament as its workers do, with only the decider."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from playmolt_core.game.decider import Accepted, Command, DeadlinePassed, Decision, Effect, Refused, Viewer, read_event
from playmolt_core.game.fold import state_hash
from playmolt_core.game.redecision import Fact
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import Code
from playmolt_schemas.limits import RECORD_BYTES
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.tournament import Score
from playmolt_schemas.stored.values import Identity
from playmolt_tournament import commands, effects
from playmolt_tournament.pairing import paired
from playmolt_tournament.rules import Tournament
from playmolt_tournament.state import State, Table

RULES: Final = Tournament()
START: Final = datetime(2026, 3, 1, tzinfo=UTC)
TRIAL_ROLES: Final = ("PROSECUTOR", "DEFENSE", "JUDGE", "JUROR", "JUROR", "JUROR")


def agent(number: int) -> str:
    return f"agent-{number:04}"


class Driver:
    """Decides commands, folds their events, and keeps the log with the command of each event."""

    def __init__(self, rules: Tournament = RULES) -> None:
        self.rules = rules
        self.now = START
        self.state = rules.initial("tournament-1")
        self.log: list[tuple[Event, datetime]] = []
        self.facts: list[Fact] = []
        self.decision: Decision = Accepted()
        self._games = 0

    def when(self, command: Command) -> "Driver":
        self.decision = self.rules.decide(self.state, command, self.now)
        if isinstance(self.decision, Refused):
            assert self.decision.detail
            return self
        command_id = str(len(self.log))
        for event in self.decision.events:
            data = canonical_json(event)
            assert len(data) <= RECORD_BYTES
            assert read_event(self.rules, event.type, event.schema_version, data) == event
            before, self.state = self.state, self.rules.evolve(self.state, event, self.now)
            self.log.append((event, self.now))
            self.facts.append(Fact(before, event, len(self.log), self.now, command_id))
            canonical_json(self.rules.public(event, Viewer()))
        if self.decision.states:
            assert self.decision.states[-1] == self.state
        return self

    def refused(self, code: Code) -> "Driver":
        assert isinstance(self.decision, Refused), self.decision
        assert self.decision.code is code, self.decision
        return self

    def accepted(self) -> "Driver":
        assert isinstance(self.decision, Accepted), self.decision
        return self

    @property
    def events(self) -> list[str]:
        """The types of the events that the last command caused."""
        return [event.type for event in self.decision.events]

    def created(
        self, seats: int = 5, roles: tuple[str, ...] = (), by: str = "", seed: str = "7", **terms: object
    ) -> "Driver":
        named = {"name": "Cup", "game_type": "ox", "format": "swiss", "min_entrants": 2, "max_entrants": 500}
        if terms.get("format") == "season":
            del named["min_entrants"], named["max_entrants"]
        return self.when(
            commands.CreateTournament(terms={**named, **terms}, seats=seats, roles=roles, by=by, seed=seed)
        )

    def joined(self, *numbers: int, owner: str = "") -> "Driver":
        for number in numbers:
            name = agent(number)
            identity = Identity(handle=name, kind="bot", version="1", model=None, owner_id=owner or msgspec.UNSET)
            self.when(commands.JoinTournament(agent_id=name, name=name, identity=identity))
        return self

    def started(self) -> "Driver":
        return self.when(commands.StartTournament()).accepted()

    def later(self, seconds: float) -> "Driver":
        self.now += timedelta(seconds=seconds)
        return self

    def due(self, kind: str) -> list[Effect[effects.Payload]]:
        return [each for each in self.rules.effects(self.state) if each.kind == kind and each.due <= self.now]

    def pair(self) -> "Driver":
        """Do the work of the worker of pairings."""
        (effect,) = self.due(effects.PAIR)
        payload = effect.payload
        assert isinstance(payload, effects.RoundToPair)
        return self.when(
            commands.PairRound(round=payload.round, basis=payload.basis, tables=paired(self.state))
        ).accepted()

    def seat_all(self) -> "Driver":
        """Do the work of the worker of tables, for every waiting table."""
        while waiting := self.due(effects.SEAT):
            for effect in waiting:
                self.seat(effect)
        return self

    def seat(self, effect: Effect[effects.Payload]) -> None:
        table = effect.payload
        assert isinstance(table, effects.TableToSeat)
        empty = [place for place, entrant in enumerate(table.entrants) if entrant is None]
        game_id = f"ox-{table.round}-{table.table}-{table.attempt}"
        self.when(
            commands.SeatTable(
                round=table.round, table=table.table, attempt=table.attempt, game_id=game_id,
                house=tuple(f"house-{place}" for place in empty),
            )
        ).accepted()  # fmt: skip

    def running(self) -> list[str]:
        return sorted(self.state.games)

    def score(self, game_id: str, points: Callable[[int], int] = lambda place: 100 - 20 * place) -> "Driver":
        table = self.table(game_id)
        scores = tuple(
            Score(number=number, points=points(place), won=place == 0, rank=place + 1)
            for place, number in enumerate(table.seats)
            if number
        )
        return self.when(commands.ScoreGame(game_id=game_id, outcome="ended", scores=scores)).accepted()

    def table(self, game_id: str) -> Table:
        number, position = self.state.games[game_id]
        return self.state.rounds[number - 1].tables[position - 1]

    def played(self) -> "Driver":
        """Play one round from its pairing to its last result."""
        self.pair().seat_all()
        for game_id in self.running():
            self.score(game_id)
        return self

    def to_the_end(self) -> "Driver":
        """Play to the end of the tournament. Games take a minute, so that an arena ends."""
        while not self.state.over:
            for effect in self.due("deadline"):
                self.when(DeadlinePassed(effect_id=effect.id)).accepted()
            if self.due(effects.PAIR):
                self.pair().later(60)
            self.seat_all()
            for game_id in self.running():
                self.score(game_id)
            if not self.state.over and not self.due(effects.PAIR):
                coming = [
                    effect for effect in self.rules.effects(self.state) if effect.kind in ("deadline", "pair_round")
                ]
                first = min(coming, key=lambda effect: effect.due)
                self.now = max(self.now, first.due)
                if first.kind == "deadline":
                    self.when(DeadlinePassed(effect_id=first.id)).accepted()
        return self


def folded(log: Iterable[tuple[Event, datetime]]) -> State:
    state = RULES.initial("tournament-1")
    for event, at in log:
        state = RULES.evolve(state, event, at)
    return state


def same(one: State, other: State) -> bool:
    return state_hash(one) == state_hash(other) and msgspec.structs.asdict(one) == msgspec.structs.asdict(other)

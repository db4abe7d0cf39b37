"""Plays a tournament on the decider alone, with random results."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from msgspec import UNSET
from playmolt_core.game.decider import Command, DeadlinePassed, Refused
from playmolt_schemas.stored.tournament import Format, Score, StandingsRow, Table, Terms, TournamentCreated
from playmolt_schemas.stored.values import Identity

from playmolt_tournament import commands
from playmolt_tournament.effects import DEADLINE, PAIR
from playmolt_tournament.pairing import paired
from playmolt_tournament.pairing.assignment import Numbers
from playmolt_tournament.rules import Tournament
from playmolt_tournament.standings import meetings, standings
from playmolt_tournament.state import State

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class SimulatedRound(msgspec.Struct, frozen=True, omit_defaults=True):
    """How long a round's pairing took, and the entrants of each table. House bots are left out."""

    pairing_ms: float
    tables: tuple[tuple[str, ...], ...]
    roles: tuple[tuple[str, ...], ...] = ()
    """The role of each of these entrants, in a game with roles."""


class SimulatedStandingsRow(msgspec.Struct, frozen=True):
    """A row of the standings; entrant n has the id `entrant-n`."""

    rank: int
    id: str
    points: int
    wins: int
    buchholz: int
    games: int


class Simulation(msgspec.Struct, frozen=True):
    """A tournament to its end. `meetings` are those of a round robin."""

    rounds: tuple[SimulatedRound, ...]
    repeats: int
    meetings: dict[str, int] | None
    standings: tuple[SimulatedStandingsRow, ...]


def simulate(
    format_: Format,
    game_type: str,
    seats: int,
    roles: Sequence[str],
    entrants: int,
    rounds: int,
    seed: str,
    clock: Callable[[], float],
) -> Simulation:
    """`clock` returns milliseconds. An arena ends after its `rounds`; any number of entrants may take part."""
    rules, at = Tournament(), _START
    # The bounds of a real tournament do not apply, so the first event is not decided.
    terms = Terms(
        name="Simulation",
        game_type=game_type,
        format=format_,
        min_entrants=1,
        max_entrants=entrants,
        rounds=UNSET if format_ == "arena" else rounds,
        duration_minutes=60 if format_ == "arena" else UNSET,
    )
    created = TournamentCreated(
        terms=terms,
        seats=seats,
        roles=tuple(roles),
        created_by=None,
        seed=seed,
        rules_version=rules.rules_version,
        content_version="",
    )
    state = rules.evolve(rules.initial("tournament-simulation"), created, at)

    def do(command: Command) -> None:
        nonlocal state
        decision = rules.decide(state, command, at)
        if isinstance(decision, Refused):
            raise RuntimeError(decision.detail)  # noqa: TRY004 -- a bug, whatever its type
        state = decision.states[-1] if decision.states else state

    for number in range(1, entrants + 1):
        name = f"entrant-{number}"
        do(commands.JoinTournament(agent_id=name, name=name, identity=Identity(handle=name, kind="bot")))
    numbers = Numbers(seed, "results")
    played: list[SimulatedRound] = []
    while not state.over:
        at += timedelta(minutes=1)
        effects = {effect.kind: effect for effect in rules.effects(state)}
        if PAIR in effects and len(played) < rounds:
            begun = clock()
            tables = paired(state)
            played.append(_round(clock() - begun, tables, roles))
            do(commands.PairRound(round=len(played), basis=state.basis, tables=tables))
            _play(lambda: state, do, numbers)
        else:
            do(DeadlinePassed(effect_id=effects[DEADLINE].id))
    met = meetings(state) if format_ == "round_robin" else None
    return Simulation(
        tuple(played),
        state.repeats,
        {"min": met.min, "max": met.max} if met else None,
        tuple(map(_row, standings(state))),
    )


def _round(milliseconds: float, tables: Sequence[Table], roles: Sequence[str]) -> SimulatedRound:
    return SimulatedRound(
        round(milliseconds, 3),
        tuple(tuple(f"entrant-{number}" for number in table if number) for table in tables),
        tuple(tuple(role for number, role in zip(table, roles, strict=True) if number) for table in tables)
        if roles
        else (),
    )


def _row(row: StandingsRow) -> SimulatedStandingsRow:
    return SimulatedStandingsRow(row.rank, f"entrant-{row.number}", row.points, row.wins, row.buchholz, row.games)


def _play(now: Callable[[], State], do: Callable[[Command], None], numbers: Numbers) -> None:
    """Seat and score all tables of the newest round: a place each, worth 100 points less than the one before."""
    newest = len(now().rounds)
    for position in range(1, len(now().rounds[-1].tables) + 1):
        table = now().rounds[newest - 1].tables[position - 1]
        game_id = f"game-{newest}-{position}"
        house = tuple(f"house-{place}" for place, number in enumerate(table.seats) if not number)
        do(commands.SeatTable(round=newest, table=position, attempt=1, game_id=game_id, house=house))
        places = list(range(1, len(table.seats) + 1))
        numbers.shuffle(places)
        scores = tuple(
            Score(number=number, points=100 * (len(places) - place), won=place == 1, rank=place)
            for number, place in zip(table.seats, places, strict=True)
            if number
        )
        do(commands.ScoreGame(game_id=game_id, outcome="ended", scores=scores))

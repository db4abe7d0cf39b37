"""Results and ratings of agents, derived from the log: a result a seat, a rating row an agent and version.

A ladder has ratings of its own: `ladder_of` a game type and a pace. Where a role wins more often than another, the rate
of its wins is kept for each content version, over the ladders of the game type.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final

import asyncpg
import msgspec
from playmolt_schemas.rating import (
    FIRST_MU,
    FIRST_SIGMA,
    PROVISIONAL_GAMES,
    role_rate,
    tenths_of_rating,
    tenths_of_uncertainty,
)

from playmolt_core.db.pool import Connection, queries

_SQL = queries("ratings")


class RatingRow(msgspec.Struct, frozen=True, gc=False):
    """The rating of one version of an agent after its rated games on a ladder."""

    mu: float
    sigma: float
    games: int = 0
    points: int = 0

    @property
    def rating(self) -> float:
        return tenths_of_rating(self.mu) / 10

    @property
    def uncertainty(self) -> float:
        return tenths_of_uncertainty(self.sigma) / 10

    @property
    def provisional(self) -> bool:
        return self.games < PROVISIONAL_GAMES

    @property
    def merit(self) -> int:
        """The sort key: the rating less three times the uncertainty, both as shown, in tenths."""
        return tenths_of_rating(self.mu) - 3 * tenths_of_uncertainty(self.sigma)


def next_version(before: RatingRow | None) -> RatingRow:
    """The initial rating of a new version, given that of the previous version."""
    return RatingRow(before.mu if before else FIRST_MU, FIRST_SIGMA)


class Place(msgspec.Struct, frozen=True, gc=False, order=True):
    """A place in the order in which games are rated."""

    ended_at: datetime
    game_id: str


class SeatResult(msgspec.Struct, frozen=True, gc=False):
    """The result of a seat. `rated`: the game is rated; `competes`: it rates this seat."""

    game_id: str
    agent_id: str
    ladder: str
    ended_at: datetime
    seat: int
    rank: int | None
    points: int
    rated: bool
    competes: bool
    version: str


class RoleResult(msgspec.Struct, frozen=True, gc=False):
    """Whether the measured role won, in a game of a content version."""

    content: str
    won: bool


class RatedSeat(msgspec.Struct, frozen=True, gc=False):
    """A rated seat."""

    agent_id: str
    version: str
    rank: int
    points: int


class RatedGame(msgspec.Struct, frozen=True, gc=False):
    """A rated game with its rated seats, in the order of its results."""

    place: Place
    ladder: str
    seats: tuple[RatedSeat, ...]
    role: RoleResult | None = None


class Step(msgspec.Struct, frozen=True, gc=False):
    """A rating after a game."""

    place: Place
    ladder: str
    agent_id: str
    version: str
    line: RatingRow


class RoleCount(msgspec.Struct, frozen=True, gc=False):
    """How often a role played with a content version, and won."""

    games: int = 0
    wins: int = 0

    @property
    def rate(self) -> float:
        """The expected share of wins in the next game."""
        return role_rate(self.wins, self.games)


class RoleStep(msgspec.Struct, frozen=True, gc=False):
    """The counts of a content version after a game."""

    place: Place
    role: RoleResult
    count: RoleCount


class RoleRate(msgspec.Struct, frozen=True, gc=False):
    """The present counts of a content version."""

    content: str
    count: RoleCount


_UNRATED: Final = (None,) * len(RatingRow.__struct_fields__)


async def store_results(connection: Connection, results: Sequence[SeatResult], steps: Sequence[Step] = ()) -> None:
    """Store results, and with them those of `steps` that belong to one: a later update would copy the row."""
    if not results:
        return
    lines = {(step.place.game_id, step.agent_id): msgspec.structs.astuple(step.line) for step in steps}
    rows = [
        msgspec.structs.astuple(result) + lines.get((result.game_id, result.agent_id), _UNRATED) for result in results
    ]
    await connection.execute(_SQL["store_results"], *map(list, zip(*rows, strict=True)))


async def rated_ladders(connection: Connection) -> Sequence[str]:
    return [ladder for (ladder,) in await connection.fetch(_SQL["rated_ladders"])]


async def rated_games(connection: Connection, ladders: Sequence[str], after: Place, limit: int) -> Sequence[RatedGame]:
    """The next `limit` rated games of some ladders after a place, in order."""
    rows = await connection.fetch(_SQL["rated_seats"], ladders, after.ended_at, after.game_id, limit)
    games = []
    for (at, game_id, ladder, content, won), seats in groupby(rows, key=lambda row: tuple(row[:5])):
        role = None if content is None else RoleResult(content, won)
        rated = tuple(RatedSeat(*seat[5:]) for seat in map(tuple, seats))
        games.append(RatedGame(Place(at, game_id), ladder, rated, role))
    return games


async def steps_before(
    connection: Connection, ladders: Sequence[str], agents: Sequence[str], place: Place
) -> Sequence[Step]:
    """For each rating of the agents, the newest step before a place."""
    return _steps(await connection.fetch(_SQL["steps_before"], ladders, agents, place.ended_at, place.game_id))


async def role_counts_before(
    connection: Connection, game_type: str, contents: Sequence[str], place: Place
) -> Mapping[str, RoleCount]:
    """The counts of some content versions before a place; one without games is omitted."""
    rows = await connection.fetch(_SQL["role_counts_before"], game_type, contents, place.ended_at, place.game_id)
    return {content: RoleCount(*counts) for content, *counts in rows}


async def store_steps(connection: Connection, steps: Sequence[Step]) -> None:
    """Store steps in the results they belong to."""
    if steps:
        rows = [(step.place.game_id, step.agent_id, *msgspec.structs.astuple(step.line)) for step in steps]
        await connection.execute(_SQL["store_steps"], *map(list, zip(*rows, strict=True)))


async def store_lines(connection: Connection, steps: Sequence[Step]) -> None:
    """Store the ratings of agents and versions: the newest of the steps, which are in the order of games."""
    if not steps:
        return
    newest = {(step.ladder, step.agent_id, step.version): step for step in steps}
    lines = [
        (*key, *msgspec.structs.astuple(step.line), step.place.ended_at, step.place.game_id)
        for key, step in sorted(newest.items())
    ]
    await connection.execute(_SQL["store_lines"], *map(list, zip(*lines, strict=True)))


async def store_role_steps(connection: Connection, game_type: str, steps: Sequence[RoleStep]) -> None:
    """Store the counts after games, and the newest of each content version; the steps are in the order of games."""
    if not steps:
        return
    await _store_role_games(connection, steps)
    newest = {step.role.content: step for step in steps}
    rates = [
        (game_type, content, step.count.games, step.count.wins, step.place.ended_at, step.place.game_id)
        for content, step in sorted(newest.items())
    ]
    await connection.execute(_SQL["store_role_rates"], *map(list, zip(*rates, strict=True)))


async def _store_role_games(connection: Connection, steps: Sequence[RoleStep]) -> None:
    if not steps:
        return
    rows = [
        (step.place.game_id, step.role.content, step.place.ended_at, step.role.won, step.count.games, step.count.wins)
        for step in steps
    ]
    await connection.execute(_SQL["store_role_games"], *map(list, zip(*rows, strict=True)))


async def stored_results(connection: Connection, games: Sequence[str] | None) -> Sequence[SeatResult]:
    """The results of some games; None: all results."""
    return [SeatResult(*row) for row in await connection.fetch(_SQL["stored_results"], games)]


async def total_results(connection: Connection) -> int:
    return int(await connection.fetchval(_SQL["total_results"]))


async def stored_steps(connection: Connection, games: Sequence[str]) -> Sequence[Step]:
    """The existing steps of some games."""
    return _steps(await connection.fetch(_SQL["stored_steps"], games))


async def stored_lines(connection: Connection) -> Mapping[tuple[str, str, str], Step]:
    """Each stored rating by ladder, agent and version."""
    steps = _steps(await connection.fetch(_SQL["stored_lines"]))
    return {(step.ladder, step.agent_id, step.version): step for step in steps}


async def stored_role_steps(connection: Connection, games: Sequence[str] | None) -> Sequence[RoleStep]:
    """The counts after some games; None: after all games."""
    return [
        RoleStep(Place(at, game_id), RoleResult(content, won), RoleCount(*counts))
        for at, game_id, content, won, *counts in await connection.fetch(_SQL["stored_role_games"], games)
    ]


async def stored_role_rates(connection: Connection) -> Mapping[tuple[str, str], tuple[Place, RoleCount]]:
    """The newest counts by game type and content version, and the place of the game that they include last."""
    return {
        (game_type, content): (Place(at, game_id), RoleCount(*counts))
        for at, game_id, game_type, content, *counts in await connection.fetch(_SQL["stored_role_rates"])
    }


def _steps(rows: Iterable[asyncpg.Record]) -> Sequence[Step]:
    return [
        Step(Place(at, game), ladder, agent, version, RatingRow(*line))
        for at, game, ladder, agent, version, *line in rows
    ]

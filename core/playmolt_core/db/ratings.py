"""Results and ratings of agents, derived from the log: a result a seat, a rating row an agent and version.

A ladder has ratings of its own: `ladder_of` a game type and a pace.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from playmolt_core.db.pool import Connection, queries

_SQL = queries("ratings")
FIRST_MU: Final = 25.0
FIRST_SIGMA: Final = 25.0 / 3.0
PROVISIONAL_GAMES: Final = 20
"""Rated games below which a rating is provisional."""


class RatingRow(msgspec.Struct, frozen=True, gc=False):
    """The rating of one version of an agent after its rated games on a ladder."""

    mu: float
    sigma: float
    games: int = 0
    points: int = 0

    @property
    def rating(self) -> float:
        return round(1500 + 60 * (self.mu - 25), 1)

    @property
    def uncertainty(self) -> float:
        return round(60 * self.sigma, 1)

    @property
    def provisional(self) -> bool:
        return self.games < PROVISIONAL_GAMES

    @property
    def merit(self) -> int:
        """The sort key: the rating less three times the uncertainty, both as shown, in tenths."""
        return round(10 * self.rating) - 3 * round(10 * self.uncertainty)


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


class RatedSeat(msgspec.Struct, frozen=True, gc=False):
    """A rated seat, in the order of games."""

    place: Place
    agent_id: str
    version: str
    rank: int
    points: int


class Step(msgspec.Struct, frozen=True, gc=False):
    """A rating after a game."""

    place: Place
    agent_id: str
    version: str
    line: RatingRow


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


async def rated_seats(connection: Connection, ladder: str, after: Place, limit: int) -> Sequence[RatedSeat]:
    """The rated seats of the next `limit` games after a place, in the order of games."""
    rows = await connection.fetch(_SQL["rated_seats"], ladder, after.ended_at, after.game_id, limit)
    return [RatedSeat(Place(at, game), *seat) for at, game, *seat in rows]


async def steps_before(connection: Connection, ladder: str, agents: Sequence[str], place: Place) -> Sequence[Step]:
    """For each rating of the agents, the newest step before a place."""
    rows = await connection.fetch(_SQL["steps_before"], ladder, agents, place.ended_at, place.game_id)
    return [Step(Place(at, game), agent, version, RatingRow(*line)) for at, game, agent, version, *line in rows]


async def store_steps(connection: Connection, steps: Sequence[Step]) -> None:
    """Store steps in the results they belong to."""
    if steps:
        rows = [(step.place.game_id, step.agent_id, *msgspec.structs.astuple(step.line)) for step in steps]
        await connection.execute(_SQL["store_steps"], *map(list, zip(*rows, strict=True)))


async def store_lines(connection: Connection, ladder: str, steps: Sequence[Step]) -> None:
    """Store the ratings of agents and versions: the newest of the steps, which are in the order of games."""
    if not steps:
        return
    newest = {(step.agent_id, step.version): step for step in steps}
    lines = [
        (agent, version, *msgspec.structs.astuple(step.line), step.line.merit, step.place.ended_at, step.place.game_id)
        for (agent, version), step in sorted(newest.items())
    ]
    await connection.execute(_SQL["store_lines"], ladder, *map(list, zip(*lines, strict=True)))


async def stored_results(connection: Connection, games: Sequence[str] | None) -> Sequence[SeatResult]:
    """The results of some games; None: all results."""
    return [SeatResult(*row) for row in await connection.fetch(_SQL["stored_results"], games)]


async def total_results(connection: Connection) -> int:
    return int(await connection.fetchval(_SQL["total_results"]))


async def stored_steps(connection: Connection, games: Sequence[str]) -> Sequence[Step]:
    """The existing steps of some games."""
    rows = await connection.fetch(_SQL["stored_steps"], games)
    return [Step(Place(at, game), agent, version, RatingRow(*line)) for at, game, agent, version, *line in rows]


async def stored_lines(connection: Connection) -> Mapping[tuple[str, str, str], Step | None]:
    """Each stored rating by ladder, agent and version; None if its stored merit does not follow from it."""
    lines: dict[tuple[str, str, str], Step | None] = {}
    for ladder, at, game, agent, version, merit, *of in await connection.fetch(_SQL["stored_lines"]):
        line = RatingRow(*of)
        step = Step(Place(at, game), agent, version, line)
        lines[ladder, agent, version] = step if merit == line.merit else None
    return lines

"""Points and finished games, derived from the log; they can be rebuilt from it at any time."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from playmolt_schemas.identity import Kind

from playmolt_core.db.cursors import BadCursor, read_cursor, write_cursor
from playmolt_core.db.pool import Connection, Pool
from playmolt_core.db.queries import queries

_SQL = queries("projections")
ALL_TYPES = ""


class Score(msgspec.Struct, frozen=True):
    """What finished games add to an agent's account in one game type."""

    agent_id: str
    game_type: str
    points: int
    games: int


class Ranked(msgspec.Struct, frozen=True):
    """A line of the leaderboard. Equal points share a rank, and the next rank counts them all (1, 2, 2, 4)."""

    rank: int
    id: str
    name: str
    points: int
    games: int
    handle: str = ""
    kind: Kind = "bot"
    model: str | None = None
    version: str | None = None


class Points(msgspec.Struct, frozen=True):
    """An agent's points, in all and by game type, and its finished games by type."""

    points: int
    points_by_type: Mapping[str, int]
    games: Mapping[str, int]


class _Place(msgspec.Struct):
    game_type: str
    points: Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
    id: str


class PgProjections:
    """Projections in Postgres. Every method raises LogUnavailable when the database is away."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def leaderboard(
        self, game: str | None, limit: int, cursor: str | None = None
    ) -> tuple[Sequence[Ranked], str | None]:
        """A page of the agents with finished games in a type (None: in any) and the cursor of the next page.

        Most points first, equal points by id. Raises BadCursor, also for a cursor of another type's leaderboard.
        """
        game_type = game or ALL_TYPES
        if cursor is None:
            rows = await self._pool.fetch(_SQL["leaders"], game_type, limit + 1)
        else:
            place = read_cursor(cursor, _Place)
            if place.game_type != game_type:
                raise BadCursor("the cursor belongs to the leaderboard of another gameType: start without a cursor")
            rows = await self._pool.fetch(_SQL["followers"], game_type, limit + 1, place.points, place.id)
        page = [Ranked(*row) for row in rows[:limit]]
        more = len(rows) > limit > 0
        return page, write_cursor(_Place(game_type, page[-1].points, page[-1].id)) if more else None

    async def points_of(self, agent_id: str) -> Points:
        """An agent's points; nothing of an agent that finished no game."""
        scores = {row[0]: (row[1], row[2]) for row in await self._pool.fetch(_SQL["points_of"], agent_id)}
        total, _ = scores.pop(ALL_TYPES, (0, 0))
        return Points(
            points=total,
            points_by_type={kind: points for kind, (points, _) in scores.items()},
            games={kind: games for kind, (_, games) in scores.items()},
        )

    async def position(self) -> int:
        return int(await self._pool.value(_SQL["position"]))

    async def advance(self, scores: Sequence[Score], seen: int, position: int) -> bool:
        """Add scores and move from `seen` to `position`, both or neither; False when another projector was there."""
        async with self._pool.transaction() as connection:
            if await connection.fetchval(_SQL["lock_position"]) != seen:
                return False
            await add_scores(connection, scores)
            await connection.execute(_SQL["move"], position)
        return True


async def clear(connection: Connection) -> None:
    """Forget everything, inside a transaction that fills it again; other projectors wait."""
    await connection.fetchval(_SQL["lock_position"])
    await connection.execute(_SQL["clear"])
    await connection.execute(_SQL["move"], 0)


async def add_scores(connection: Connection, scores: Sequence[Score]) -> None:
    if scores:
        rows = [(score.agent_id, score.game_type, score.points, score.games) for score in scores]
        await connection.execute(_SQL["add"], *map(list, zip(*rows, strict=True)))


async def move(connection: Connection, position: int) -> None:
    await connection.execute(_SQL["move"], position)

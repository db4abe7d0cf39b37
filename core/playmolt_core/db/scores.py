"""Scores over all rated game types, computed by a job from the results of games and stored for leaderboards."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final

import msgspec
from playmolt_schemas.identity import BoardKind, ScoreBoard
from playmolt_schemas.stored.values import Kind

from playmolt_core.db.cursors import BadCursor, read_cursor, write_cursor
from playmolt_core.db.pool import Connection, Pool, queries

_SQL = queries("scores")
_SEATS: Final = 20_000
"""Seats read at a time."""


class PlacedSeat(msgspec.Struct, frozen=True, gc=False):
    """A competing seat of a rated game."""

    game_id: str
    seat: int
    agent_id: str
    rank: int


class FittedScore(msgspec.Struct, frozen=True):
    """The score of an agent, or of all agents of a model, whose alias is then also its id."""

    id: str
    model: str
    """Empty for an agent."""
    score: float
    low: float
    high: float
    games: int
    types: Sequence[str]


class StoredFit(msgspec.Struct, frozen=True):
    """The stored scores of a leaderboard, best first, equals by id; see `ScorePage` for the rest."""

    as_of: datetime
    unconnected: int
    digest: bytes
    """Of what it was computed from."""
    scores: Sequence[FittedScore]


class RankedScore(msgspec.Struct, frozen=True):
    """A row of a leaderboard by score. Equal scores share a rank."""

    rank: int
    id: str
    name: str
    handle: str
    kind: Kind
    model: str | None
    score: float
    low: float
    high: float
    games: int
    types: Sequence[str]


class ScorePage(msgspec.Struct, frozen=True):
    """Rows of a leaderboard by score, when it was computed (None: not yet), and how many players with enough games it
    leaves out because no game connects them to the others."""

    rows: Sequence[RankedScore]
    cursor: str | None
    as_of: datetime | None
    unconnected: int


class _Place(msgspec.Struct):
    board: ScoreBoard
    kind: BoardKind
    score: Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
    id: str
    player: str


class PgScores:
    """Scores in Postgres. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def page(self, board: ScoreBoard, kind: BoardKind, limit: int, cursor: str | None = None) -> ScorePage:
        """A page of a leaderboard, best first, equals by id. Raises BadCursor, also for a cursor of another one."""
        after = None if cursor is None else read_cursor(cursor, _Place)
        if after is not None and (after.board, after.kind) != (board, kind):
            raise BadCursor("belongs to another leaderboard; start without a cursor")
        last = (None, None, None) if after is None else (after.score, after.id, after.player)
        async with self._pool.connection() as connection:
            fits = await connection.fetch(_SQL["fit"], board)
            found = await connection.fetch(_SQL["page"], board, kind, limit + 1, *last)
        rows = [(RankedScore(*row), _Place(board, kind, row[6], row[1], player)) for *row, player in found]
        more = len(rows) > limit > 0
        as_of, unconnected, _ = fits[0] if fits else (None, 0, b"")
        return ScorePage(
            [row for row, _ in rows[:limit]], write_cursor(rows[limit - 1][1]) if more else None, as_of, unconnected
        )

    async def seats(self) -> AsyncIterator[Sequence[PlacedSeat]]:
        """The competing seats of all rated games by game and seat, in chunks."""
        game, seat = "", -1
        while rows := await self._pool.fetch(_SQL["rated_seats"], game, seat, _SEATS):
            yield [PlacedSeat(*row) for row in rows]
            game, seat = rows[-1][0], rows[-1][1]

    async def models(self) -> Mapping[str, str]:
        """The model of each agent that has one."""
        rows = await self._pool.fetch(_SQL["models"])
        return {row["agent"]: row["model"] for row in rows}

    async def confirm(self, board: ScoreBoard, digest: bytes) -> bool:
        """Set the time of the scores to now, if they were computed from input with this digest."""
        async with self._pool.transaction() as connection:
            return str(await connection.execute(_SQL["confirm_fit"], board, digest)) == "UPDATE 1"

    async def stored(self, board: ScoreBoard) -> StoredFit | None:
        """All scores of a leaderboard without names, which the job may not read; None before the first time."""
        async with self._pool.connection() as connection:
            fits = await connection.fetch(_SQL["fit"], board)
            rows = await connection.fetch(_SQL["stored"], board)
        if not fits:
            return None
        as_of, unconnected, digest = fits[0]
        return StoredFit(as_of, unconnected, bytes(digest), [FittedScore(*row) for row in rows])

    async def store(self, board: ScoreBoard, digest: bytes, scores: Sequence[FittedScore], unconnected: int) -> None:
        """Replace the scores of a leaderboard. Readers see the old ones until this has ended."""
        async with self._pool.transaction() as connection:
            await connection.execute(_SQL["note_fit"], board, digest, unconnected)
            await connection.execute(_SQL["clear_scores"], board)
            await _insert(connection, board, scores)


async def _insert(connection: Connection, board: ScoreBoard, scores: Sequence[FittedScore]) -> None:
    if scores:
        rows = [(*msgspec.structs.astuple(score)[:-1], ",".join(score.types)) for score in scores]
        await connection.execute(_SQL["store_scores"], board, *map(list, zip(*rows, strict=True)))

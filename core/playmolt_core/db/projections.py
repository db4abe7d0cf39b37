"""Points, finished games and ratings, derived from the log and rebuilt from it at any time; and counts of games."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Final

import asyncpg
import msgspec
from playmolt_schemas.identity import BoardKind, Ranking, ScoreBoard, Versions
from playmolt_schemas.rating import PROVISIONAL_GAMES, active_since, last_midnight
from playmolt_schemas.shards import Places
from playmolt_schemas.stored.values import Kind

from playmolt_core.db.cursors import BadCursor, read_cursor, write_cursor
from playmolt_core.db.pool import Connection, Pool, queries
from playmolt_core.db.ratings import RatingRow, RoleCount, RoleRate, next_version
from playmolt_core.db.scores import PgScores, ScorePage

_SQL = queries("projections")
_RATINGS = queries("ratings")
ALL_TYPES = ""
RULES: Final = 2
"""The version of the rules that derive the projections. Projections of another version are rebuilt."""
_RECENT_GAMES: Final = 20
_CONTENT_VERSIONS: Final = 100
_BEFORE_ALL: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = date(2000, 1, 1)
_CLEAR_SECONDS: Final = 600.0


class Score(msgspec.Struct, frozen=True):
    """The points and finished games to add to an agent's score in one game type."""

    agent_id: str
    game_type: str
    points: int
    games: int


class Board(msgspec.Struct, frozen=True):
    """A leaderboard: of one game type or (by points) of all types, for a kind of agents, by rating of some versions.

    By rating, `game_type` is the name of a ladder.
    """

    game_type: str = ALL_TYPES
    by: Ranking = "points"
    kind: BoardKind = "all"
    versions: Versions = "best"
    active: bool = True
    """Only ratings with a recent rated game."""


class Ranked(msgspec.Struct, frozen=True):
    """A row of a leaderboard. Equal rows share a rank, and the next rank counts them all (1, 2, 2, 4)."""

    rank: int
    id: str
    name: str
    handle: str
    kind: Kind
    model: str | None
    version: str | None
    points: int
    games: int
    line: RatingRow | None = None
    """Its rating, on a leaderboard by rating."""


class Points(msgspec.Struct, frozen=True):
    """An agent's points, in total and by game type, and its finished games by type."""

    points: int
    points_by_type: Mapping[str, int]
    games: Mapping[str, int]


class Rating(msgspec.Struct, frozen=True):
    """The rating of an agent's current version in one game type."""

    line: RatingRow
    version: str | None


class AgentRecord(msgspec.Struct, frozen=True):
    """An agent's finished games by type, and its ratings by ladder."""

    games: Mapping[str, int]
    ratings: Mapping[str, Rating]


class RecentGame(msgspec.Struct, frozen=True):
    """A finished game of an agent."""

    game_id: str
    game_type: str
    ended_at: datetime
    rank: int | None
    points: int
    rated: bool


class FinishedPage(msgspec.Struct, frozen=True, gc=False):
    """A finished game, which has a page, and when it ended."""

    game_id: str
    ended_at: datetime


class _BoardPlace(msgspec.Struct):
    board: Board
    value: Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
    id: str
    version: str = ""
    day: date | None = None
    """By rating: the day of the first page. All pages are of one day, since the order changes at midnight."""


class PgProjections:
    """Projections in Postgres. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._pool = pool
        self._now = now

    async def leaderboard(
        self, board: Board, limit: int, cursor: str | None = None
    ) -> tuple[Sequence[Ranked], str | None]:
        """A page of a leaderboard and the cursor of the next page.

        Best first, equals by id. Raises BadCursor, also for a cursor of another leaderboard.
        """
        place = None if cursor is None else read_cursor(cursor, _BoardPlace)
        if place is not None and place.board != board:
            raise BadCursor("belongs to another leaderboard; start without a cursor")
        day = last_midnight(self._now()).date()
        if place is not None and place.day is not None and not _FIRST_DAY <= place.day <= day + timedelta(days=1):
            raise BadCursor("is invalid; use next_cursor of the previous page, unchanged")
        rows = await (self._rated if board.by == "rating" else self._scored)(board, limit + 1, place)
        more = len(rows) > limit > 0
        return [line for line, _ in rows[:limit]], write_cursor(rows[limit - 1][1]) if more else None

    async def _scored(self, board: Board, limit: int, place: _BoardPlace | None) -> list[tuple[Ranked, _BoardPlace]]:
        wanted = (board.game_type, board.kind, limit)
        if place is None:
            rows = await self._pool.fetch(_SQL["leaders"], *wanted)
        else:
            rows = await self._pool.fetch(_SQL["followers"], *wanted, place.value, place.id)
        lines = [Ranked(*row) for row in rows]
        return [(line, _BoardPlace(board, line.points, line.id)) for line in lines]

    async def _rated(self, board: Board, limit: int, place: _BoardPlace | None) -> list[tuple[Ranked, _BoardPlace]]:
        """Uncertainty is that of the last midnight: it grows while an agent rests."""
        day = last_midnight(self._now()).date() if place is None or place.day is None else place.day
        midnight = datetime.combine(day, time(), UTC)
        since = active_since(midnight) if board.active else _BEFORE_ALL
        after = (None, None, None) if place is None else (place.value, place.id, place.version)
        rows = await self._pool.fetch(
            _SQL["rated_board"],
            board.game_type, board.kind, board.versions, midnight, since, *after, limit, PROVISIONAL_GAMES,
        )  # fmt: skip
        found = []
        for rank, agent_id, name, handle, kind, model, version, points, games, mu, sigma in rows:
            line = RatingRow(mu, sigma, games)
            ranked = Ranked(rank, agent_id, name, handle, kind, model, version or None, points, games, line)
            found.append((ranked, _BoardPlace(board, line.merit, agent_id, version, day)))
        return found

    async def scores(self, board: ScoreBoard, kind: BoardKind, limit: int, cursor: str | None = None) -> ScorePage:
        """As `leaderboard`, by a score over all rated game types."""
        return await PgScores(self._pool).page(board, kind, limit, cursor)

    async def points_of(self, agent_id: str) -> Points:
        """An agent's points; zero for an agent without finished games."""
        scores = {row[0]: (row[1], row[2]) for row in await self._pool.fetch(_SQL["points_of"], agent_id)}
        total, _ = scores.pop(ALL_TYPES, (0, 0))
        return Points(
            points=total,
            points_by_type={kind: points for kind, (points, _) in scores.items()},
            games={kind: games for kind, (_, games) in scores.items()},
        )

    async def ratings_of(self, agent_id: str, version: str | None) -> Mapping[str, Rating]:
        """The ratings of a version of an agent, by ladders on which the agent was rated.

        Uncertainty is that of the last midnight.
        """
        rows = await self._pool.fetch(_SQL["lines_of"], [agent_id], last_midnight(self._now()))
        return _ratings(rows, version)

    async def of_agents(self, versions: Mapping[str, str | None]) -> Mapping[str, AgentRecord]:
        """The finished games and ratings of several agents under their versions, in two queries."""
        agents = list(versions)
        games: dict[str, dict[str, int]] = {agent: {} for agent in agents}
        for agent, game_type, count in await self._pool.fetch(_SQL["games_of"], agents):
            games[agent][game_type] = count
        rows = await self._pool.fetch(_SQL["lines_of"], agents, last_midnight(self._now()))
        lines = {agent: list(of_agent) for agent, of_agent in groupby(rows, key=itemgetter("agent_id"))}
        return {
            agent: AgentRecord(games[agent], _ratings(lines.get(agent, ()), version))
            for agent, version in versions.items()
        }

    async def recent(self, agent_id: str) -> Sequence[RecentGame]:
        """An agent's last finished games, newest first."""
        return [
            RecentGame(game_id, game_id.partition("-")[0], *row)
            for game_id, *row in await self._pool.fetch(_SQL["recent"], agent_id, _RECENT_GAMES)
        ]

    async def role_rates(self, game_type: str) -> Sequence[RoleRate]:
        """How often the measured role of a game type wins, by content version; the newest played first, at most 100."""
        rows = await self._pool.fetch(_RATINGS["role_rates"], game_type, _CONTENT_VERSIONS)
        return [RoleRate(content, RoleCount(*counts)) for content, *counts in rows]

    async def newest_finished(self, limit: int) -> Sequence[FinishedPage]:
        """The newest finished games, private ones included, without those that are archived."""
        return [FinishedPage(*row) for row in await self._pool.fetch(_SQL["finished"], limit)]

    async def places(self) -> Places | None:
        """The position of each shard that the projections include; None if they must be rebuilt."""
        async with self._pool.connection() as connection:
            return await held(connection)

    async def advance(
        self, seen: int, position: int, apply: Callable[[Connection], Awaitable[None]], shard: int = 0
    ) -> bool:
        """Apply changes and move a shard from `seen` to `position`, both or neither; False if another projector did."""
        async with self._pool.transaction() as connection:
            held_to = _places(await connection.fetch(_SQL["lock_progress"]))
            if held_to is None or held_to[shard] != seen:
                return False
            await apply(connection)
            await move(connection, position, shard)
        return True


def _ratings(rows: Iterable[asyncpg.Record], version: str | None) -> dict[str, Rating]:
    """The ratings of a version by ladder, from the lines of one agent, the one rated last first."""
    ratings: dict[str, Rating] = {}
    for _, ladder, of, *line in rows:
        if of == (version or ""):
            ratings[ladder] = Rating(RatingRow(*line), version)
        elif ladder not in ratings:
            ratings[ladder] = Rating(next_version(RatingRow(*line)), version)
    return ratings


def _places(rows: Iterable[Iterable[int]]) -> Places | None:
    found = list(rows)
    return tuple([position for position, _ in found]) if all(rules == RULES for _, rules in found) else None


async def clear(connection: Connection) -> None:
    """Delete all projections, inside a transaction that fills them again; other projectors wait."""
    await connection.execute(_SQL["allow_long"])
    await connection.fetch(_SQL["lock_progress"])
    for table in ("score", "result", "rating", "role_game", "role_rate"):
        await connection.execute(_SQL[f"clear_{table}"], timeout=_CLEAR_SECONDS)


async def add_scores(connection: Connection, scores: Sequence[Score]) -> None:
    if scores:
        rows = [(score.agent_id, score.game_type, score.points, score.games) for score in scores]
        await connection.execute(_SQL["add"], *map(list, zip(*rows, strict=True)))


async def move(connection: Connection, position: int, shard: int = 0) -> None:
    await connection.execute(_SQL["move"], position, RULES, shard)


async def held(connection: Connection) -> Places | None:
    """The position of each shard that the projections include; None if other rules made them."""
    return _places(await connection.fetch(_SQL["progress"]))


async def stored_scores(connection: Connection) -> Mapping[tuple[str, str], tuple[int, int]]:
    """Points and games by agent and game type."""
    rows = await connection.fetch(_SQL["scores"])
    return {(agent, game_type): (points, games) for agent, game_type, points, games in rows}


class PgGameCounts:
    """Counts of games in Postgres, for metrics. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def phases(self) -> dict[tuple[str, str], int]:
        """(game type, phase) → unfinished games and sessions."""
        return {(game, phase): count for game, phase, count in await self._pool.fetch(_SQL["phases"])}

    async def pending(self) -> dict[str, int]:
        """Game type → games and sessions with an effect due now, by the database's clock."""
        return {row["game"]: row["count"] for row in await self._pool.fetch(_SQL["pending"])}

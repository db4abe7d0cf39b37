"""How many games stand where: what an operator's graphs show."""

from playmolt_core.db.pool import Pool
from playmolt_core.db.queries import queries

_SQL = queries("game_counts")


class PgGameCounts:
    """Counts over all games in Postgres. Every method raises LogUnavailable when the database is away."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def phases(self) -> dict[tuple[str, str], int]:
        """(game type, phase) -> games and sessions that are not over."""
        return {(game, phase): count for game, phase, count in await self._pool.fetch(_SQL["phases"])}

    async def pending(self) -> dict[str, int]:
        """Game type -> games and sessions that an effect is due of now, by the database's clock."""
        return {row["game"]: row["count"] for row in await self._pool.fetch(_SQL["pending"])}

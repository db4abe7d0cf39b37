"""Outages over all engines of a game type, on the database's clock."""

from datetime import datetime

from playmolt_core.db.pool import Pool, queries
from playmolt_core.effects.outages import SILENCE_SECONDS

_SQL = queries("outages")


class PgOutages:
    """`Outages` in Postgres."""

    def __init__(self, pool: Pool, silence: float = SILENCE_SECONDS) -> None:
        self._pool = pool
        self._silence = silence

    async def beat(self, game: str) -> None:
        await self._pool.value(_SQL["beat"], game, self._silence)

    async def lost(self, game: str, since: datetime) -> float | None:
        found = await self._pool.value(_SQL["lost"], game, since, self._silence)
        return None if found is None else float(found)

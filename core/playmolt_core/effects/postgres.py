"""Leases and outages across all replicas, on the database's clock."""

from datetime import datetime

from playmolt_core.db.pool import Pool, queries
from playmolt_core.effects.leases import Lease
from playmolt_core.effects.outages import SILENCE_SECONDS

_LEASES = queries("leases")


class PgLeases:
    """`Leases` in Postgres. All methods raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def take(self, effect_id: str, holder: str, seconds: float) -> Lease | None:
        attempt = await self._pool.value(_LEASES["take"], effect_id, holder, float(seconds))
        return None if attempt is None else Lease(effect_id, holder, int(attempt))

    async def extend(self, lease: Lease, seconds: float) -> bool:
        return bool(
            await self._pool.value(_LEASES["extend"], lease.effect_id, lease.holder, lease.attempt, float(seconds))
        )

    async def release(self, lease: Lease, *, lost: bool) -> bool:
        return bool(await self._pool.value(_LEASES["release"], lease.effect_id, lease.holder, lease.attempt, lost))


_OUTAGES = queries("outages")


class PgOutages:
    """`Outages` in Postgres."""

    def __init__(self, pool: Pool, silence: float = SILENCE_SECONDS) -> None:
        self._pool = pool
        self._silence = silence

    async def beat(self, game: str) -> None:
        await self._pool.poll(_OUTAGES["beat"], game, self._silence)

    async def lost(self, game: str, since: datetime) -> float | None:
        found = await self._pool.value(_OUTAGES["lost"], game, since, self._silence)
        return None if found is None else float(found)

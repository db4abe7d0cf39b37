"""Leases on effects over all replicas, on the database's clock."""

from playmolt_core.db.pool import Pool, queries
from playmolt_core.effects.leases import Lease

_SQL = queries("leases")


class PgLeases:
    """`Leases` in Postgres. Every method raises LogUnavailable when the database is away."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def take(self, effect_id: str, holder: str, seconds: float) -> Lease | None:
        attempt = await self._pool.value(_SQL["take"], effect_id, holder, float(seconds))
        return None if attempt is None else Lease(effect_id, holder, int(attempt))

    async def extend(self, lease: Lease, seconds: float) -> bool:
        return bool(
            await self._pool.value(_SQL["extend"], lease.effect_id, lease.holder, lease.attempt, float(seconds))
        )

    async def release(self, lease: Lease, *, lost: bool) -> bool:
        return bool(await self._pool.value(_SQL["release"], lease.effect_id, lease.holder, lease.attempt, lost))

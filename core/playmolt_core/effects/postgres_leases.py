"""Leases on effects over all replicas, on the database's clock."""

from playmolt_core.db.pool import Pool
from playmolt_core.db.queries import queries
from playmolt_core.effects.leases import Lease

_SQL = queries("leases")


class PgLeases:
    """`llm.leases.Leases` in Postgres. Every method raises LogUnavailable when the database is away."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def take(self, effect_id: str, holder: str, seconds: float) -> Lease | None:
        """Take an effect for `seconds`; None while anybody holds it."""
        attempt = await self._pool.value(_SQL["take"], effect_id, holder, float(seconds))
        return None if attempt is None else Lease(effect_id, holder, int(attempt))

    async def extend(self, lease: Lease, seconds: float) -> bool:
        """Hold on for `seconds` from now; False when the lease has ended."""
        return bool(
            await self._pool.value(_SQL["extend"], lease.effect_id, lease.holder, lease.attempt, float(seconds))
        )

    async def release(self, lease: Lease, *, lost: bool) -> bool:
        """Give an effect back: forgotten, or free for the next attempt; False when somebody else has it."""
        return bool(await self._pool.value(_SQL["release"], lease.effect_id, lease.holder, lease.attempt, lost))

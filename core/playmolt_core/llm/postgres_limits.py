"""Limits of models over all replicas, on the database's clock."""

import uuid

from playmolt_core.db.pool import Pool
from playmolt_core.db.queries import queries
from playmolt_core.llm.limits import LEASE_SECONDS, WINDOW_SECONDS, Admission, Allowance

_SQL = queries("model_limits")


class PgModelLimits:
    """`llm.limits.ModelLimits` in Postgres. Every method raises LogUnavailable when the database is away."""

    def __init__(
        self, pool: Pool, *, window_seconds: float = WINDOW_SECONDS, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        self.lease_seconds = lease_seconds
        self._pool = pool
        self._window = window_seconds

    async def admit(self, alias: str, allowance: Allowance, tokens: int) -> Admission | float:
        """Admit a call that is expected to take `tokens`, or give the seconds after which to ask again."""
        admission = Admission(str(uuid.uuid4()), alias)
        wait = await self._pool.value(
            _SQL["admit"],
            uuid.UUID(admission.id),
            alias,
            self._window,
            self.lease_seconds,
            allowance.concurrent,
            allowance.requests_per_minute,
            allowance.tokens_per_minute,
            tokens,
        )
        return float(wait) if wait else admission

    async def extend(self, admission: Admission) -> bool:
        """Hold the slot for another lease; False when it was lost already."""
        return bool(await self._pool.value(_SQL["hold"], uuid.UUID(admission.id), self.lease_seconds))

    async def release(self, admission: Admission, tokens: int | None) -> None:
        """Give the slot back; `tokens` is what the call took."""
        await self._pool.value(_SQL["give_back"], uuid.UUID(admission.id), tokens)

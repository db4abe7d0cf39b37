"""Limits of models across all replicas, on the database's clock."""

import uuid

from typing_extensions import override

from playmolt_core.db.pool import Pool, queries
from playmolt_core.llm.limits import (
    FIRST_HOLD_SECONDS,
    LEASE_SECONDS,
    MOST_HOLD_SECONDS,
    STRETCH,
    WINDOW_SECONDS,
    Admission,
    Allowance,
    CapacitySignal,
    ModelLimits,
)

_SQL = queries("model_limits")


class PgModelLimits(ModelLimits):
    """Counts in Postgres, on the database's clock."""

    def __init__(
        self, pool: Pool, *, window_seconds: float = WINDOW_SECONDS, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        self.lease_seconds = lease_seconds
        self._pool = pool
        self._window = window_seconds

    @override
    async def admit(self, alias: str, allowance: Allowance, tokens: int) -> Admission | float:
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
            allowance.provider or None,
        )
        return float(wait) if wait else admission

    @override
    async def extend(self, admission: Admission) -> bool:
        return bool(await self._pool.value(_SQL["hold"], uuid.UUID(admission.id), self.lease_seconds))

    @override
    async def release(self, admission: Admission, tokens: int | None, signal: CapacitySignal | None = None) -> None:
        await self._pool.value(
            _SQL["give_back"],
            uuid.UUID(admission.id),
            tokens,
            None if signal is None else signal.refused,
            None if signal is None else signal.wait,
            STRETCH,
            FIRST_HOLD_SECONDS,
            MOST_HOLD_SECONDS,
        )

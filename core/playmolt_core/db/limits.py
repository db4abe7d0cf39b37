"""Token buckets and places for sessions, shared by all gateways, on the database's clock."""

from datetime import date
from decimal import Decimal
from typing import Literal, cast

import msgspec
from playmolt_schemas.limits import SESSION_DAYS

from playmolt_core.db.pool import Pool, queries

_SQL = queries("limits")

SessionLimit = Literal["running", "day"]
"""Which places an owner's sessions have taken: those of sessions that run, or those of the day."""


class DayUsage(msgspec.Struct, frozen=True):
    """What was spent on a day, in all and by the key that spent most; what is on its way at its worst case."""

    tokens: int
    money: Decimal
    key_tokens: int
    key_money: Decimal
    key_sessions: int


class PgLimits:
    """Limits in Postgres. Every method raises LogUnavailable when the database is away."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def take(self, key: str, capacity: int, seconds: float, cost: int = 1) -> float:
        """Take tokens from a bucket that holds `capacity` and fills within `seconds`.

        Gives 0 when they were there, else the seconds until they will be (and takes none). A cost above the capacity
        is a bug and raises asyncpg's InvalidParameterValueError.
        """
        return float(await self._pool.value(_SQL["take"], key, float(capacity), float(seconds), float(cost)))

    async def open_session(self, owner: str, game: str, session: str, most: int, day_most: int) -> SessionLimit | None:
        """Keep a place for a session, until it stands in the log, a minute at most; or say which places are taken.

        `most` are not over at once, `day_most` opened in a day (UTC; 0: any number). One that is there has a place.
        """
        full = await self._pool.value(_SQL["open_session"], owner, game, session, most, SESSION_DAYS, day_most)
        return cast("SessionLimit", full) if full else None

    async def day_spent(self, day: date) -> DayUsage:
        """What is spent of a day."""
        (spent,) = await self._pool.fetch(_SQL["day_spent"], day)
        return DayUsage(*spent)

    async def give_session_up(self, session: str) -> None:
        """Keep no place any more for a session that was not opened."""
        await self._pool.fetch(_SQL["give_session_up"], session)

    async def sweep(self) -> int:
        """Forget the buckets that are full; gives how many."""
        return int(await self._pool.value(_SQL["sweep"]))

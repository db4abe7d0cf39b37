"""Token buckets and session limits, shared by all gateways, on the database's clock."""

from datetime import date
from decimal import Decimal
from typing import Literal, cast

import msgspec
from playmolt_schemas.limits import SESSION_DAYS

from playmolt_core.db.pool import Pool, queries

_SQL = queries("limits")

SessionLimit = Literal["running", "day"]
"""The limit that an owner has reached: running sessions, or sessions opened in a day."""


class DayUsage(msgspec.Struct, frozen=True):
    """What was spent on a day, in total and by the key that spent most; calls in flight count at their worst case."""

    tokens: int
    money: Decimal
    key_tokens: int
    key_money: Decimal
    key_sessions: int


class PgLimits:
    """Limits in Postgres. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def take(self, key: str, capacity: int, seconds: float, cost: int = 1) -> float:
        """Take tokens from a bucket that holds `capacity` and fills within `seconds`.

        Returns 0 if they were available, otherwise the seconds until they will be (and takes none). A bucket of
        another size is another bucket, so that a changed limit applies to everyone at once. A cost above the capacity
        is a bug and raises asyncpg's InvalidParameterValueError.
        """
        sized = f"{key} {capacity}/{seconds:g}"
        return float(await self._pool.value(_SQL["take"], sized, float(capacity), float(seconds), float(cost)))

    async def wait(self, key: str, capacity: int, seconds: float) -> float:
        """The seconds until a bucket has a token; takes none."""
        return float(
            await self._pool.value(_SQL["wait"], f"{key} {capacity}/{seconds:g}", float(capacity), float(seconds))
        )

    async def guess(self, key: str, most: int, seconds: float) -> float:
        """Count a try to guess a secret. Returns 0, or the seconds for which no more are let in.

        `most` tries within `seconds` begin a lock of as long. For as long again after it, all tries are let in, so that
        those who guess on cannot lock out the one who knows the secret.
        """
        return float(await self._pool.value(_SQL["guess"], key, most, seconds))

    async def forgive(self, key: str) -> None:
        """Forget the tries of one who knew the secret."""
        await self._pool.value(_SQL["forgive"], key)

    async def open_session(self, owner: str, game: str, session: str, most: int, day_most: int) -> SessionLimit | None:
        """Reserve a place for a session until it is in the log (at most a minute), or return the limit that is reached.

        `most`: unfinished sessions at once. `day_most`: sessions opened in a day (UTC; 0: unlimited). A session that
        exists already has its place.
        """
        full = await self._pool.value(_SQL["open_session"], owner, game, session, most, SESSION_DAYS, day_most)
        return cast("SessionLimit", full) if full else None

    async def day_spent(self, day: date) -> DayUsage:
        """What was spent on a day."""
        (spent,) = await self._pool.fetch(_SQL["day_spent"], day)
        return DayUsage(*spent)

    async def give_session_up(self, session: str) -> None:
        """Release the place of a session that was not opened."""
        await self._pool.fetch(_SQL["give_session_up"], session)

    async def sweep(self) -> int:
        """Delete the buckets that are full and return their number."""
        return int(await self._pool.value(_SQL["sweep"]))

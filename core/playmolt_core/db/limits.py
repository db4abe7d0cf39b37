"""Token buckets and places for sessions, shared by all gateways, on the database's clock."""

from playmolt_schemas.limits import SESSION_DAYS

from playmolt_core.db.pool import Pool
from playmolt_core.db.queries import queries

_SQL = queries("limits")


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

    async def open_session(self, owner: str, game: str, session: str, most: int) -> bool:
        """Whether an owner may open a session beside its others that are not over; True for one that it has.

        A place is kept until the session stands in the log, a minute at most.
        """
        return bool(await self._pool.value(_SQL["open_session"], owner, game, session, most, SESSION_DAYS))

    async def give_session_up(self, session: str) -> None:
        """Keep no place any more for a session that was not opened."""
        await self._pool.fetch(_SQL["give_session_up"], session)

    async def sweep(self) -> int:
        """Forget the buckets that are full; gives how many."""
        return int(await self._pool.value(_SQL["sweep"]))

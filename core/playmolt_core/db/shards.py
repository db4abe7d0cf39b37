"""How many shards a log has: fixed when it is made, and told by the database (api.md, Shards)."""

from playmolt_core.db.pool import Connection, Pool
from playmolt_core.db.queries import queries
from playmolt_core.settings import OtherShards

_COUNT = queries("log")["shards"]


async def shards_of(pool: Pool, wanted: int | None = None) -> int:
    """How many shards the log has. Raises OtherShards where another number is `wanted`, and LogUnavailable."""
    async with pool.connection() as connection:
        return await counted_shards(connection, wanted)


async def counted_shards(connection: Connection, wanted: int | None) -> int:
    """As `shards_of`, on a connection of one's own."""
    present = int(await connection.fetchval(_COUNT))
    if wanted not in (None, present):
        raise OtherShards(wanted, present)
    return present

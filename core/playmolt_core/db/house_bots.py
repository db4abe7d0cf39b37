"""The house bots of the platform, for the gateway.

They have no key until the house process takes over their seats in a game of a tournament, each time with new ones.
"""

from collections.abc import Mapping, Sequence

import msgspec

from playmolt_core.db.pool import Pool, queries

_SQL = queries("tables")


class HouseTable(msgspec.Struct, frozen=True):
    """A game of a tournament in which house bots have seats."""

    game_id: str
    agent_ids: Sequence[str]


class PgHouseBots:
    """The house bots of the platform and their seats, for the gateway. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(self, agent_id: str, name: str) -> str:
        """Create a house bot without a key, and return its handle. Idempotent."""
        async with self._pool.transaction() as connection:
            await connection.execute(_SQL["create_house_bot"], agent_id, name)
            await connection.execute(_SQL["note_house_bot"], agent_id)
            return str(await connection.fetchval(_SQL["handle"], agent_id))

    async def tables(self, most: int) -> Sequence[HouseTable]:
        """The games with house bots whose end these have not been informed of, oldest first."""
        return [HouseTable(*row) for row in await self._pool.poll(_SQL["house_tables"], most)]

    async def take_over(self, hash_of_key: Mapping[str, str]) -> None:
        """Replace the keys of house bots. Hashes are hex SHA-256."""
        async with self._pool.transaction() as connection:
            for agent_id, key_hash in sorted(hash_of_key.items()):
                await connection.execute(_SQL["give_key"], agent_id, bytes.fromhex(key_hash))

    async def seats(self, game_id: str) -> Mapping[str, str]:
        """Agent id → name of the house bots in a game."""
        rows = await self._pool.fetch(_SQL["house_seats"], game_id)
        return {str(agent_id): str(name) for agent_id, name in rows}

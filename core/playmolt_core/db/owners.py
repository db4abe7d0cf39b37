"""Owners of agents: their names, keys and recovery codes. Claims of agents: `playmolt_core.log.ownership`."""

from collections.abc import Mapping, Sequence

import msgspec
from playmolt_schemas.identity import search_key

from playmolt_core.db.accounts import Owner
from playmolt_core.db.pool import Pool, queries

_SQL = queries("owners")


class OwnerAccount(Owner, frozen=True, kw_only=True):
    """An owner with its contact, which only the owner and the operator see."""

    contact: str | None


class OwnedAgent(msgspec.Struct, frozen=True):
    """An agent in the list of its owner."""

    id: str
    handle: str
    name: str
    version: str | None


class Recovered(msgspec.Struct, frozen=True):
    """`void` is the hash of the replaced key, None if there was none."""

    void: str | None
    codes_left: int


class PgOwners:
    """Owners in Postgres. Hashes are hex SHA-256. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(self, owner: OwnerAccount, key_hash: str, code_hashes: Sequence[str]) -> None:
        """Store a new owner with its key and its recovery codes."""
        async with self._pool.transaction() as connection:
            await connection.execute(_SQL["create_owner"], owner.id, owner.name, search_key(owner.name), owner.contact)
            await connection.execute(_SQL["create_key"], owner.id, bytes.fromhex(key_hash))
            await connection.execute(_SQL["create_codes"], owner.id, _bytes(code_hashes))

    async def owner(self, owner_id: str) -> OwnerAccount | None:
        row = await self._pool.row(_SQL["owner"], owner_id)
        return OwnerAccount(row["id"], row["name"], contact=row["contact"]) if row else None

    async def names(self, owner_ids: Sequence[str]) -> Mapping[str, str]:
        """The names of owners by their ids; erased owners are left out."""
        return {row["id"]: row["name"] for row in await self._pool.fetch(_SQL["names"], owner_ids)}

    async def contacts(self, agent_ids: Sequence[str]) -> Mapping[str, OwnerAccount]:
        """The owners of agents by the agents' ids, for the operator."""
        rows = await self._pool.fetch(_SQL["contacts"], agent_ids)
        return {agent: OwnerAccount(owner, name, contact=contact) for agent, owner, name, contact in rows}

    async def agents(self, owner_id: str) -> Sequence[OwnedAgent]:
        """The agents of an owner, oldest first."""
        return [OwnedAgent(*row) for row in await self._pool.fetch(_SQL["agents"], owner_id)]

    async def replace_codes(self, owner_id: str, code_hashes: Sequence[str]) -> bool:
        """Make all recovery codes of an owner void and store new ones; False if the owner does not exist."""
        async with self._pool.transaction() as connection:
            if not await connection.fetchval(_SQL["lock"], owner_id):
                return False
            await connection.execute(_SQL["void_codes"], owner_id)
            await connection.execute(_SQL["create_codes"], owner_id, _bytes(code_hashes))
            return True

    async def recover(self, owner_id: str, code_hash: str, new_hash: str) -> Recovered | None:
        """Use a recovery code: replace the owner's key and end its browser sessions. None for a wrong pair."""
        async with self._pool.transaction() as connection:
            pair = owner_id, bytes.fromhex(code_hash)
            if not await connection.fetchval(_SQL["lock_recovered"], *pair):
                return None
            if not await connection.fetchval(_SQL["use_code"], *pair):
                return None  # another recovery used it meanwhile
            old = await connection.fetchval(_SQL["key"], owner_id)
            await connection.execute(_SQL["set_key"], owner_id, bytes.fromhex(new_hash))
            await connection.execute(_SQL["end_browser_sessions"], owner_id)
            left = await connection.fetchval(_SQL["codes_left"], owner_id)
            return Recovered(bytes(old).hex() if old else None, int(left))

    async def replace_agent_key(self, owner_id: str, agent_id: str, new_hash: str) -> str | None:
        """Replace the key of an owner's agent and return the old hash; None if it is not this owner's agent."""
        old = await self._pool.value(_SQL["replace_agent_key"], owner_id, agent_id, bytes.fromhex(new_hash))
        return bytes(old).hex() if old else None

    async def erase(self, owner_id: str) -> str | None:
        """Erase an owner and all that identifies it; returns the hash of its void key, "" without one. None, and
        nothing is erased, while it has agents."""
        async with self._pool.transaction() as connection:
            if await connection.fetchval(_SQL["lock"], owner_id):
                if await connection.fetchval(_SQL["has_agents"], owner_id):
                    return None
                key = await connection.fetchval(_SQL["key"], owner_id)
                await connection.execute(_SQL["erase"], owner_id)
                return bytes(key).hex() if key else ""
            return ""


class PgAddresses:
    """Answers for engines, which may not read accounts."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def one_address(self, agent_ids: Sequence[str]) -> bool:
        """Whether two of these agents count as registered from one address. Raises LogUnavailable."""
        return bool(await self._pool.value(_SQL["one_address"], agent_ids))


def _bytes(hashes: Sequence[str]) -> list[bytes]:
    return [bytes.fromhex(one) for one in hashes]

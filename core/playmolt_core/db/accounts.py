"""Agents and the hashes of their keys: the gateway's own schema."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec

from playmolt_core.db.cursors import read_cursor, write_cursor
from playmolt_core.db.pool import Pool
from playmolt_core.db.queries import queries

_SQL = queries("accounts")


class Agent(msgspec.Struct, frozen=True):
    """A registered agent."""

    id: str
    name: str


class _Place(msgspec.Struct):
    created_at: Annotated[datetime, msgspec.Meta(tz=True)]
    id: str


class PgAccounts:
    """Accounts in Postgres. Key hashes are hex SHA-256. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create_agent(self, agent_id: str, name: str, key_hash: str) -> None:
        """Store a new agent and its key, both or neither."""
        await self._pool.value(_SQL["create_agent"], agent_id, name, bytes.fromhex(key_hash))

    async def rotate_key(self, agent_id: str, new_hash: str) -> list[str]:
        """Replace an agent's key; gives the hashes that were valid until now (none: there is no such agent)."""
        async with self._pool.transaction() as connection:
            old = await connection.fetchval(_SQL["lock_key"], agent_id)
            if old is None:
                return []
            await connection.execute(_SQL["replace_key"], agent_id, bytes.fromhex(new_hash))
        return [bytes(old).hex()]

    async def owners(self, key_hashes: Sequence[str]) -> dict[str, Agent]:
        """Give the owner of each key; those without one are missing."""
        rows = await self._pool.fetch(_SQL["owners"], [bytes.fromhex(key_hash) for key_hash in key_hashes])
        return {bytes(key_hash).hex(): Agent(agent_id, name) for key_hash, agent_id, name in rows}

    async def agent(self, agent_id: str) -> Agent | None:
        """Give an agent."""
        row = await self._pool.row(_SQL["agent"], agent_id)
        return Agent(*row) if row else None

    async def agents(self, limit: int, cursor: str | None = None) -> tuple[Sequence[Agent], str | None]:
        """Give a page of the agents, newest first, and the cursor of the next; raises BadCursor."""
        if cursor is None:
            rows = await self._pool.fetch(_SQL["newest_agents"], limit + 1)
        else:
            place = read_cursor(cursor, _Place)
            rows = await self._pool.fetch(_SQL["older_agents"], limit + 1, place.created_at, place.id)
        page = [Agent(agent_id, name) for agent_id, name, _ in rows[:limit]]
        more = len(rows) > limit > 0
        return page, write_cursor(_Place(rows[limit - 1][2], rows[limit - 1][0])) if more else None

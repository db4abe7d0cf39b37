"""Agents and the hashes of their keys: the gateway's own schema."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from playmolt_core.db.cursors import BadCursor, read_cursor, write_cursor
from playmolt_core.db.pool import Pool
from playmolt_core.db.queries import queries

_SQL = queries("accounts")
_STORABLE = (datetime(2000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC))
"""Between these a time can be moved to any time zone; one beyond them is no time of registration."""


class Agent(msgspec.Struct, frozen=True):
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

    async def rotate_key(self, agent_id: str, old_hash: str, new_hash: str) -> bool:
        """Replace an agent's key; False when the old one is no longer valid, and then nothing is changed."""
        return bool(
            await self._pool.value(_SQL["replace_key"], agent_id, bytes.fromhex(old_hash), bytes.fromhex(new_hash))
        )

    async def claim_join(self, agent_id: str, command_id: str, fingerprint: str) -> bool:
        """Bind a join's command id to its body for good; False when it is bound to another body.

        Each game type has a lobby of its own, so no log can tell that a key has joined a game of another type.
        """
        async with self._pool.connection() as connection:
            await connection.execute(_SQL["claim_join"], agent_id, command_id, fingerprint)
            return bool(await connection.fetchval(_SQL["claimed_join"], agent_id, command_id) == fingerprint)

    async def owners(self, key_hashes: Sequence[str]) -> dict[str, Agent]:
        """The owner of each key; those without one are missing."""
        rows = await self._pool.fetch(_SQL["owners"], [bytes.fromhex(key_hash) for key_hash in key_hashes])
        return {bytes(key_hash).hex(): Agent(agent_id, name) for key_hash, agent_id, name in rows}

    async def agent(self, agent_id: str) -> Agent | None:
        row = await self._pool.row(_SQL["agent"], agent_id)
        return Agent(*row) if row else None

    async def agents(self, limit: int, cursor: str | None = None) -> tuple[Sequence[Agent], str | None]:
        """A page of the agents, newest first, and the cursor of the next; raises BadCursor."""
        if cursor is None:
            rows = await self._pool.fetch(_SQL["newest_agents"], limit + 1)
        else:
            place = read_cursor(cursor, _Place)
            if not _STORABLE[0] < place.created_at < _STORABLE[1]:
                raise BadCursor("this is no cursor: use next_cursor of the page before, unchanged")
            rows = await self._pool.fetch(_SQL["older_agents"], limit + 1, place.created_at, place.id)
        page = [Agent(agent_id, name) for agent_id, name, _ in rows[:limit]]
        more = len(rows) > limit > 0
        return page, write_cursor(_Place(rows[limit - 1][2], rows[limit - 1][0])) if more else None

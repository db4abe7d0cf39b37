"""Claims of agents by owners: decided, and appended to the log in one transaction with the account."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, Literal

import asyncpg
import msgspec
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.limits import OWNED_AGENTS
from playmolt_schemas.records import ZERO_HASH, Metadata

from playmolt_core.db.accounts import NewAgent, insert_agent
from playmolt_core.db.pool import Connection, Pool, queries
from playmolt_core.game.decider import Refused
from playmolt_core.game.fold import state_hash
from playmolt_core.game.ownership import CLAIMED, NOT_OWNED, Claim, Ownership, OwnershipRules, Release, stream_of
from playmolt_core.log.chain import chain_record, record_text
from playmolt_core.log.verify import Break

_SQL = queries("ownership")
_RULES: Final = OwnershipRules()


class ClaimedAgent(msgspec.Struct, frozen=True):
    """An agent after its claim, and the hash of its key, whose caller has changed; "" if a repeat changed nothing."""

    id: str
    handle: str
    name: str
    key_hash: str = ""


ClaimFault = Literal["unknown_key", "house_bot", "mismatch", "too_many"]
"""Why a claim is not decided. `mismatch`: its command id belongs to another body."""


class OwnershipConflict(ConnectionError):
    """The stream changed although its agent was locked, as after a restored backup. Nothing was changed."""


class PgOwnership:
    """Every method may raise LogUnavailable, and OwnershipConflict."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create_agent(
        self, agent_id: str, new: NewAgent, key_hash: str, owner_id: str, command_id: str
    ) -> str | None:
        """Store a new agent of an owner and return its handle; None if the owner may have no more agents."""
        async with self._pool.transaction() as connection:
            if not await _has_room(connection, owner_id):
                return None
            handle = await insert_agent(connection, agent_id, new, key_hash, None)
            await _append(connection, Claim(agent_id=agent_id, owner_id=owner_id), "", command_id)
            return handle

    async def claim(
        self, owner_id: str, key_hash: str, command_id: str, fingerprint: str
    ) -> ClaimedAgent | ClaimFault | Refused:
        """Claim the agent with this key. A repeated command changes nothing and has the same result."""
        async with self._pool.transaction() as connection:
            if fingerprint:
                await connection.execute(_SQL["bind"], owner_id, command_id, fingerprint)
                bound = await connection.fetchrow(_SQL["bound"], owner_id, command_id)
                if bound is None or bound[0] != fingerprint:
                    return "mismatch"
                if bound[1] is not None:
                    return ClaimedAgent(*await connection.fetchrow(_SQL["agent"], bound[1]) or ())
            row = await connection.fetchrow(_SQL["agent_of_key"], bytes.fromhex(key_hash))
            if row is None:
                return "unknown_key"
            found = await self._claimed(connection, owner_id, row, command_id)
            if found is None and fingerprint:
                await connection.execute(_SQL["end"], owner_id, command_id, row["id"])
            return found or ClaimedAgent(row["id"], row["handle"], row["name"], key_hash)

    @staticmethod
    async def _claimed(
        connection: Connection, owner_id: str, agent: asyncpg.Record, command_id: str
    ) -> ClaimFault | Refused | None:
        if agent["kind"] == "house":
            return "house_bot"
        if agent["owner_id"]:
            return CLAIMED
        if not await _has_room(connection, owner_id):
            return "too_many"
        return await _append(connection, Claim(agent_id=agent["id"], owner_id=owner_id), "", command_id)

    async def release(self, owner_id: str, agent_id: str, command_id: str) -> str | Refused:
        """Let an agent go; returns the hash of its key."""
        async with self._pool.transaction() as connection:
            key = await connection.fetchval(_SQL["owned_key"], owner_id, agent_id)
            if key is None:
                return NOT_OWNED
            released = Release(agent_id=agent_id, owner_id=owner_id)
            return await _append(connection, released, owner_id, command_id) or bytes(key).hex()

    async def agents(self, owner_id: str) -> Sequence[str]:
        """The ids of an owner's agents."""
        return [agent_id for (agent_id,) in await self._pool.fetch(_SQL["agents"], owner_id)]


async def ownership_breaks(pool: Pool) -> list[Break]:
    """Compare the owner of each agent with the stream of its owners. Raises LogUnavailable."""
    return [
        Break(stream, version, f"the owner of {agent_id} is stored as {stored}, but the log says {logged}")
        for agent_id, stored, logged, stream, version in await pool.fetch(_SQL["different"])
    ]


async def rebuild_owners(pool: Pool) -> int:
    """Set the owners of agents as the log says; returns how many were wrong. Raises LogUnavailable."""
    return int(await pool.value(_SQL["rebuild"]))


async def _has_room(connection: Connection, owner_id: str) -> bool:
    """Whether an owner exists and may have another agent; locks the owner until the transaction ends."""
    if not await connection.fetchval(_SQL["lock_owner"], owner_id):
        return False
    return int(await connection.fetchval(_SQL["count"], owner_id)) < OWNED_AGENTS


async def _append(connection: Connection, command: Claim | Release, owner_id: str, command_id: str) -> Refused | None:
    """Decide a command about an agent that the transaction has locked, append its event and set the agent's owner."""
    end = await connection.fetchrow(_SQL["last"], command.agent_id)
    version, followed = (end[0], bytes(end[1]).hex()) if end else (0, ZERO_HASH)
    at = datetime.now(UTC)
    decision = _RULES.decide(Ownership(version=version, owner_id=owner_id), command, at)
    if isinstance(decision, Refused):
        return decision
    (event,), (state,) = decision.events, decision.states
    record = chain_record(
        stream=stream_of(command.agent_id),
        version=version + 1,
        prev_hash=followed,
        at=at,
        event_type=event.type,
        schema_version=event.schema_version,
        data=canonical_json(event),
        metadata=Metadata(
            command_id=command_id,
            correlation=command_id,
            causation=command_id,
            actor=command.owner_id,
            state_hash=state_hash(state),
        ),
        closes=False,
    )
    if not await connection.fetchval(
        _SQL["append"], command.agent_id, state.owner_id or None, bytes.fromhex(followed), record_text(record)
    ):
        raise OwnershipConflict(f"the owners of {command.agent_id} changed")
    return None

"""Owners of agents: keys, recovery codes, and changes of ownership while they are being written to the log."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import asyncpg
import msgspec
from playmolt_schemas.identity import search_key
from playmolt_schemas.limits import OWNED_AGENTS

from playmolt_core.db.accounts import NewAgent, Owner, insert_agent
from playmolt_core.db.pool import Connection, Pool, queries

_SQL = queries("owners")
_AT_ONCE: Final = 100
"""Changes that `pending` returns at most."""


class OwnerAccount(Owner, frozen=True, kw_only=True):
    """An owner with its contact, which only the owner and the operator see."""

    contact: str | None


class OwnedAgent(msgspec.Struct, frozen=True):
    """An agent in the list of its owner."""

    id: str
    handle: str
    name: str
    version: str | None


class OwnershipChange(msgspec.Struct, frozen=True):
    """An owner claims an agent, or lets it go. It is stored until the log and the account agree on it."""

    agent_id: str
    owner_id: str
    claims: bool
    command_id: str
    """32 hex digits: the id of the command in the log."""


class ClaimedAgent(msgspec.Struct, frozen=True):
    """What the answer to a claim says about the agent."""

    id: str
    handle: str
    name: str


ClaimFault = Literal["unknown_key", "house_bot", "claimed", "mismatch", "too_many"]
"""Why a claim cannot begin. `mismatch`: its command id belongs to another body."""


class BegunClaim(msgspec.Struct, frozen=True):
    """A claim of `agent`. Without a change it is done; a change of another command has to be finished first."""

    agent: ClaimedAgent
    change: OwnershipChange | None


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
            if not await connection.fetchval(_SQL["use_code"], owner_id, bytes.fromhex(code_hash)):
                return None
            old = await connection.fetchval(_SQL["key"], owner_id)
            await connection.execute(_SQL["set_key"], owner_id, bytes.fromhex(new_hash))
            await connection.execute(_SQL["end_browser_sessions"], owner_id)
            left = await connection.fetchval(_SQL["codes_left"], owner_id)
            return Recovered(bytes(old).hex() if old else None, int(left))

    async def replace_agent_key(self, owner_id: str, agent_id: str, new_hash: str) -> str | None:
        """Replace the key of an owner's agent and return the old hash; None if it is not this owner's agent."""
        old = await self._pool.value(_SQL["replace_agent_key"], owner_id, agent_id, bytes.fromhex(new_hash))
        return bytes(old).hex() if old else None

    async def create_agent(
        self, agent_id: str, new: NewAgent, key_hash: str, owner_id: str, command_id: str
    ) -> tuple[str, OwnershipChange] | None:
        """Store a new agent that its owner is about to claim: its handle and the change. None if the owner was erased
        or has as many agents as it may have."""
        change = OwnershipChange(agent_id, owner_id, claims=True, command_id=command_id)
        async with self._pool.transaction() as connection:
            if not await _has_room(connection, owner_id):
                return None
            handle = await insert_agent(connection, agent_id, new, key_hash, None)
            await _begin(connection, change)
            return handle, change

    async def begin_claim(
        self, owner_id: str, key_hash: str, command_id: str, fingerprint: str
    ) -> BegunClaim | ClaimFault:
        """Begin the claim of the agent with this key. A repeat of the command that is done has no change."""
        async with self._pool.transaction() as connection:
            if fingerprint:
                await connection.execute(_SQL["bind_claim"], owner_id, command_id, fingerprint)
                bound = await connection.fetchrow(_SQL["bound_claim"], owner_id, command_id)
                if bound is None or bound[0] != fingerprint:
                    return "mismatch"
                if bound[1] is not None:
                    done = await connection.fetchrow(_SQL["agent"], bound[1])
                    return BegunClaim(ClaimedAgent(*done), None) if done else "unknown_key"
            row = await connection.fetchrow(_SQL["agent_of_key"], bytes.fromhex(key_hash))
            if row is None:
                return "unknown_key"
            agent = ClaimedAgent(row["id"], row["handle"], row["name"])
            fault = await _claim_fault(connection, owner_id, row)
            if fault:
                return fault
            change = OwnershipChange(agent.id, owner_id, claims=True, command_id=command_id)
            return BegunClaim(agent, await _begin(connection, change))

    async def begin_release(self, owner_id: str, agent_id: str, command_id: str) -> OwnershipChange | None:
        """Begin to let an agent go; None if it is not this owner's agent. The change may be another, unfinished one."""
        async with self._pool.transaction() as connection:
            if not await connection.fetchrow(_SQL["owned_agent"], owner_id, agent_id):
                return None
            return await _begin(connection, OwnershipChange(agent_id, owner_id, claims=False, command_id=command_id))

    async def finish(self, change: OwnershipChange) -> str | None:
        """Apply a change that is in the log, once. Returns the hash of the agent's key, whose caller has changed."""
        async with self._pool.transaction() as connection:
            if await connection.fetchval(_SQL["end_change"], change.agent_id, change.command_id):
                owner = change.owner_id if change.claims else None
                await connection.execute(_SQL["set_owner"], change.agent_id, owner)
                await connection.execute(_SQL["end_claim"], change.owner_id, change.command_id, change.agent_id)
            key = await connection.fetchval(_SQL["agent_key"], change.agent_id)
            return bytes(key).hex() if key else None

    async def abandon(self, change: OwnershipChange) -> None:
        """Forget a change that the log refused."""
        await self._pool.value(_SQL["end_change"], change.agent_id, change.command_id)

    async def pending(self, seconds: float, owner_id: str = "") -> Sequence[OwnershipChange]:
        """Unfinished changes: those older than `seconds`, or all of an owner."""
        rows = await (
            self._pool.fetch(_SQL["pending_of"], owner_id)
            if owner_id
            else self._pool.poll(_SQL["pending"], seconds, _AT_ONCE)
        )
        return [OwnershipChange(*row) for row in rows]

    async def erase(self, owner_id: str) -> str | None:
        """Erase an owner and all that identifies it; returns the hash of its void key, "" without one. None, and
        nothing is erased, while it has agents or unfinished changes."""
        async with self._pool.transaction() as connection:
            if await connection.fetchval(_SQL["lock"], owner_id):
                if await connection.fetchval(_SQL["unsettled"], owner_id):
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


async def _has_room(connection: Connection, owner_id: str) -> bool:
    """Whether an owner exists and may have another agent; locks the owner until the transaction ends."""
    if not await connection.fetchval(_SQL["lock"], owner_id):
        return False
    return int(await connection.fetchval(_SQL["count_agents"], owner_id)) < OWNED_AGENTS


async def _claim_fault(connection: Connection, owner_id: str, agent: asyncpg.Record) -> ClaimFault | None:
    """Why an owner cannot claim an agent; an agent that its owner is letting go is not claimed."""
    if agent["kind"] == "house":
        return "house_bot"
    if agent["owner_id"] is not None and not await connection.fetchrow(_SQL["change"], agent["id"]):
        return "claimed"
    return None if await _has_room(connection, owner_id) else "too_many"


async def _begin(connection: Connection, change: OwnershipChange) -> OwnershipChange:
    """Store a change, or return the unfinished one of the same agent."""
    await connection.execute(_SQL["begin_change"], change.agent_id, change.owner_id, change.claims, change.command_id)
    row: asyncpg.Record | None = await connection.fetchrow(_SQL["change"], change.agent_id)
    return OwnershipChange(*row) if row else change

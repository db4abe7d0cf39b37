"""Agents, visitors, invite codes and the hashes of their keys: the gateway's own schema. Owners: `owners.py`."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, cast

import msgspec
from msgspec import UNSET, UnsetType
from playmolt_schemas.identity import search_key
from playmolt_schemas.limits import VERSION_CHANGES_A_DAY, VISITOR_DAYS
from playmolt_schemas.stored.values import Kind

from playmolt_core.db.cursors import BadCursor, read_cursor, write_cursor
from playmolt_core.db.house_bots import PgHouseBots
from playmolt_core.db.pool import Connection, Pool, queries

_SQL = queries("accounts")
_STORABLE = (datetime(2000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC))
"""A time between these is valid in any time zone; a registration is between them."""


class Agent(msgspec.Struct, frozen=True):
    """The caller: what a seat stores about an agent."""

    id: str
    name: str
    handle: str = ""
    kind: Kind = "bot"
    version: str | None = None
    model: str | None = None
    owner_id: str | None = None


class Owner(msgspec.Struct, frozen=True):
    """Who is behind agents."""

    id: str
    name: str


class Profile(Agent, frozen=True, kw_only=True):
    """An agent with its own description of itself."""

    about: str | None
    created_at: datetime


class ListedAgent(Profile, frozen=True, kw_only=True):
    """An agent with its points and finished games of all types."""

    points: int = 0
    games: int = 0


class NewAgent(msgspec.Struct, frozen=True):
    """The fields of a registration."""

    name: str
    kind: Kind = "bot"
    version: str | None = None
    about: str | None = None
    model: str | None = None
    address_group: bytes | None = None
    """The keyed hash of the address from which it is registered; None if the address does not count."""


class _AgentPlace(msgspec.Struct):
    created_at: Annotated[datetime, msgspec.Meta(tz=True)]
    id: str


class VersionLimit(msgspec.Struct, frozen=True):
    """An agent changed its version as often as it may in a UTC day; the next one begins in `seconds`."""

    seconds: float


class PgAccounts:
    """Accounts in Postgres. Key hashes are hex SHA-256. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.house = PgHouseBots(pool)

    async def create_agent(self, agent_id: str, new: NewAgent, key_hash: str, invite_hash: str = "") -> str | None:
        """Store a new agent with its key and return its handle. None if an invite code is not valid."""
        async with self._pool.transaction() as connection:
            invite = await _admitted(connection, invite_hash)
            if invite_hash and invite is None:
                return None
            return await insert_agent(connection, agent_id, new, key_hash, invite)

    async def create_visitor(self, visitor_id: str, key_hash: str, invite_hash: str = "") -> bool:
        """Store a visitor and the hash of its token; False if an invite code is not valid."""
        async with self._pool.transaction() as connection:
            invite = await _admitted(connection, invite_hash)
            if invite_hash and invite is None:
                return False
            await connection.execute(_SQL["create_visitor"], visitor_id, bytes.fromhex(key_hash), invite)
            return True

    async def delete_visitor(self, visitor_id: str) -> None:
        await self._pool.value(_SQL["delete_visitor"], visitor_id)

    async def sweep_visitors(self, days: int = VISITOR_DAYS) -> int:
        """Delete tokens of visitors that are so old and own no session; returns how many. Call it often."""
        return int(await self._pool.value(_SQL["sweep_visitors"], days))

    async def create_invite(self, invite_id: str, invite_hash: str, people: int, until: datetime) -> None:
        """Store the hash of an invite code that admits `people` agents and visitors until a time."""
        await self._pool.value(_SQL["create_invite"], invite_id, bytes.fromhex(invite_hash), people, until)

    async def delete_invite(self, invite_id: str) -> bool:
        """Revoke an invite code; False if it does not exist."""
        return bool(await self._pool.value(_SQL["delete_invite"], invite_id))

    async def update_agent(
        self, agent_id: str, version: str | UnsetType | None, about: str | UnsetType | None
    ) -> Profile | VersionLimit | None:
        """Change the fields that are set and return the profile; None if the agent does not exist.

        Changes nothing if the version has changed `VERSION_CHANGES_A_DAY` times today.
        """
        row = await self._pool.row(
            _SQL["update_agent"],
            agent_id, version is not UNSET, version or None, about is not UNSET, about or None, VERSION_CHANGES_A_DAY,
        )  # fmt: skip
        if row:
            return _profile(row)
        seconds = await self._pool.value(_SQL["next_day"], agent_id)
        return None if seconds is None else VersionLimit(seconds)

    async def rotate_key(self, agent_id: str, old_hash: str, new_hash: str) -> bool:
        """Replace an agent's key. If the old one was replaced already, change nothing and return False."""
        return bool(
            await self._pool.value(_SQL["replace_key"], agent_id, bytes.fromhex(old_hash), bytes.fromhex(new_hash))
        )

    async def claim_join(self, agent_id: str, command_id: str, fingerprint: str) -> bool:
        """Bind a join's command id to its body for good; False if it is bound to another body.

        Each game type has its own lobby, so no stream knows of a join with this id in another game type.
        """
        async with self._pool.connection() as connection:
            await connection.execute(_SQL["claim_join"], agent_id, command_id, fingerprint)
            return bool(await connection.fetchval(_SQL["claimed_join"], agent_id, command_id) == fingerprint)

    async def keep_seat(self, agent_id: str, game_id: str) -> None:
        """Remember that an agent must still learn how a game of its ends. Only the newest hundred are stored."""
        await self._pool.value(_SQL["keep_seat"], agent_id, game_id)

    async def seats(self, agent_id: str) -> Sequence[str]:
        """The games that `keep_seat` stored for an agent, oldest first."""
        return [game_id for (game_id,) in await self._pool.fetch(_SQL["seats"], agent_id)]

    async def forget_seat(self, agent_id: str, game_id: str) -> None:
        """Forget a game: its agent knows that it is over."""
        await self._pool.value(_SQL["forget_seat"], agent_id, game_id)

    async def secret(self, name: str) -> bytes:
        """32 secret bytes of this installation, created on first use."""
        await self._pool.value(_SQL["make_secret"], name, secrets.token_bytes(32))
        return bytes(await self._pool.value(_SQL["secret"], name))

    async def callers(self, key_hashes: Sequence[str]) -> dict[str, Agent | Owner]:
        """The agent, visitor or owner that each key belongs to; unknown keys are left out."""
        rows = await self._pool.fetch(_SQL["callers"], [bytes.fromhex(key_hash) for key_hash in key_hashes])
        return {bytes(key_hash).hex(): _caller(*fields) for key_hash, *fields in rows}

    async def void_keys(self, seconds: float) -> Sequence[str]:
        """Keys that were replaced, or belong to an agent that changed, within the last `seconds` (at most an hour)."""
        return [bytes(key_hash).hex() for (key_hash,) in await self._pool.fetch(_SQL["void_keys"], seconds)]

    async def profile(self, agent_id: str) -> Profile | None:
        row = await self._pool.row(_SQL["profile"], agent_id)
        return _profile(row) if row else None

    async def agents(
        self, limit: int, cursor: str | None = None, beginning: str = ""
    ) -> tuple[Sequence[ListedAgent], str | None]:
        """A page of the agents, newest first, and the cursor of the next; raises BadCursor.

        `beginning` is the beginning of a name or a handle, in any case and Unicode composition.
        """
        place = _AgentPlace(_STORABLE[1], "") if cursor is None else read_cursor(cursor, _AgentPlace)
        if cursor is not None and not _STORABLE[0] < place.created_at < _STORABLE[1]:
            raise BadCursor("is invalid; use next_cursor of the previous page, unchanged")
        rows = await self._pool.fetch(_SQL["agents"], limit + 1, place.created_at, place.id, search_key(beginning))
        page = [
            ListedAgent(*agent, about=about, created_at=created_at, points=points, games=games)
            for *agent, about, created_at, points, games in rows[:limit]
        ]
        more = len(rows) > limit > 0
        return page, write_cursor(_AgentPlace(page[-1].created_at, page[-1].id)) if more else None


async def insert_agent(connection: Connection, agent_id: str, new: NewAgent, key_hash: str, invite: str | None) -> str:
    """Store a new agent with its key, and return its handle."""
    handle = await connection.fetchval(
        _SQL["create_agent"],
        agent_id, new.name, search_key(new.name), new.kind, new.version, new.about, new.model, invite,
        new.address_group,
    )  # fmt: skip
    await connection.execute(_SQL["create_key"], agent_id, bytes.fromhex(key_hash))
    return str(handle)


def _caller(identifier: str, name: str, handle: str, kind: str, *rest: str | None) -> Agent | Owner:
    return Owner(identifier, name) if kind == "owner" else Agent(identifier, name, handle, cast("Kind", kind), *rest)


async def _admitted(connection: Connection, invite_hash: str) -> str | None:
    """Use an invite code; its id, or None without a valid code."""
    found = await connection.fetchval(_SQL["use_invite"], bytes.fromhex(invite_hash)) if invite_hash else None
    return str(found) if found else None


def _profile(row: Iterable[Any]) -> Profile:
    *agent, about, created_at = row
    return Profile(*agent, about=about, created_at=created_at)

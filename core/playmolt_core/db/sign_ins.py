"""Sign-ins of owners by an OpenID provider, and the sessions of their browsers."""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, Literal

import msgspec
from playmolt_schemas.identity import search_key

from playmolt_core.db.accounts import Owner
from playmolt_core.db.errors import ReadOnly
from playmolt_core.db.pool import Connection, Pool, queries

_SQL = queries("sign_ins")
ATTEMPT_SECONDS: Final = 600
"""How long a person may take at the provider."""
IDLE_SECONDS: Final = 12 * 3_600
SESSION_SECONDS: Final = 30 * 24 * 3_600
_NOTED_SECONDS: Final = 60
"""The use of a session is noted at most this often."""
OWNER_ACCOUNTS: Final = 10
"""Accounts of providers that one owner may join."""
OWNER_SESSIONS: Final = 20
"""Browsers in which one owner may be signed in; the one used longest ago is signed out."""


class SignInAttempt(msgspec.Struct, frozen=True):
    """What a browser that comes back from the provider wants: a page, and perhaps to join an owner."""

    next: str
    owner_id: str | None


class SignInAccount(msgspec.Struct, frozen=True):
    """An account of a provider."""

    issuer: str
    subject: str


class StoredSignIn(msgspec.Struct, frozen=True):
    """An account that opens an owner; its subject is not shown."""

    id: str
    issuer: str
    at: datetime
    """When it was joined."""


class BrowserSession(msgspec.Struct, frozen=True):
    """A session of a browser. Changing calls carry its token."""

    owner: Owner
    csrf: str


class NewSession(msgspec.Struct, frozen=True):
    """A session to open; `replaces` is the hash of the one that the browser had, or ""."""

    hash: str
    csrf: str
    replaces: str = ""


JoinFault = Literal["taken", "limit", "erased"]
"""Why an account cannot be joined: it belongs to another owner, the owner has too many, or it was erased."""

Removal = Literal["removed", "unknown", "only_way"]
"""`only_way`: the owner has no other sign-in, no key and no recovery code."""


class PgSignIns:
    """Sign-ins and sessions in Postgres. Hashes are hex SHA-256. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, state_hash: str, browser_hash: str, attempt: SignInAttempt) -> None:
        """Store an attempt, which only the browser with this hash can finish; not of an owner that was erased."""
        await self._pool.value(
            _SQL["begin"],
            bytes.fromhex(state_hash), bytes.fromhex(browser_hash), attempt.next, attempt.owner_id,
            float(ATTEMPT_SECONDS),
        )  # fmt: skip

    async def use(self, state_hash: str, browser_hash: str) -> SignInAttempt | None:
        """Take an attempt, once. None if it is unknown, used, expired or another browser's."""
        row = await self._pool.row(
            _SQL["use_attempt"], bytes.fromhex(state_hash), bytes.fromhex(browser_hash), float(ATTEMPT_SECONDS)
        )
        return SignInAttempt(row["next"], row["owner_id"]) if row and row["young"] else None

    async def owner_of(self, account: SignInAccount) -> str | None:
        owner: str | None = await self._pool.value(_SQL["owner_of"], account.issuer, account.subject)
        return owner

    async def sign_in(self, account: SignInAccount, name: str, session: NewSession) -> str:
        """Open a session of the account's owner and return its id; a first sign-in makes an owner of this name."""
        async with self._pool.transaction() as connection:
            owner = await _owner_of(connection, account)
            locked = owner is not None and await connection.fetchval(_SQL["lock_owner"], owner)
            # None, or erased or removed meanwhile.
            if owner is None or not locked or await _owner_of(connection, account) != owner:
                owner = await _first_owner(connection, account, name)
            await _open(connection, owner, account, session)
            return owner

    async def join(self, account: SignInAccount, owner_id: str, session: NewSession) -> JoinFault | None:
        """Join an account to an owner and open a session."""
        async with self._pool.transaction() as connection:
            if not await connection.fetchval(_SQL["lock_owner"], owner_id):
                return "erased"
            if await _owner_of(connection, account) != owner_id:
                if await connection.fetchval(_SQL["count_accounts"], owner_id) >= OWNER_ACCOUNTS:
                    return "limit"
                if not await connection.fetchval(_SQL["join_account"], account.issuer, account.subject, owner_id):
                    return "taken"
            await _open(connection, owner_id, account, session)
            return None

    async def of_owner(self, owner_id: str) -> Sequence[StoredSignIn]:
        """The accounts that open an owner, oldest first."""
        return [StoredSignIn(*row) for row in await self._pool.fetch(_SQL["of_owner"], owner_id)]

    async def remove(self, owner_id: str, sign_in_id: str) -> Removal:
        """Part an account from an owner, unless nothing else opens it; sessions that the account opened end."""
        async with self._pool.transaction() as connection:
            await connection.fetchval(_SQL["lock_owner"], owner_id)
            if not await connection.fetchval(_SQL["is_of_owner"], owner_id, sign_in_id):
                return "unknown"
            if not await connection.fetchval(_SQL["has_other_way"], owner_id, sign_in_id):
                return "only_way"
            await connection.execute(_SQL["remove"], owner_id, sign_in_id)
            return "removed"

    async def session(self, session_hash: str) -> BrowserSession | None:
        """A session that has not ended; notes that it is used."""
        key = bytes.fromhex(session_hash)
        row = await self._pool.row(
            _SQL["session"], key, float(SESSION_SECONDS), float(IDLE_SECONDS), float(_NOTED_SECONDS)
        )
        if row is None:
            return None
        if row["stale"]:
            with suppress(ReadOnly):
                await self._pool.value(_SQL["use_session"], key)
        return BrowserSession(Owner(row["id"], row["name"]), row["csrf"])

    async def end_session(self, session_hash: str) -> None:
        await self._pool.value(_SQL["end_session"], bytes.fromhex(session_hash))


async def _owner_of(connection: Connection, account: SignInAccount) -> str | None:
    owner: str | None = await connection.fetchval(_SQL["owner_of"], account.issuer, account.subject)
    return owner


async def _first_owner(connection: Connection, account: SignInAccount, name: str) -> str:
    """Make the owner of an account, or find the one that another sign-in made meanwhile."""
    owner = f"owner-{uuid.uuid4()}"
    await connection.execute(_SQL["create_owner"], owner, name, search_key(name))
    if await connection.fetchval(_SQL["join_account"], account.issuer, account.subject, owner):
        return owner
    await connection.execute(_SQL["delete_owner"], owner)
    found = await _owner_of(connection, account)
    if found is None:  # erased between the two
        raise ConnectionError("the account changed during its sign-in")
    return found


async def _open(connection: Connection, owner_id: str, account: SignInAccount, session: NewSession) -> None:
    await connection.execute(
        _SQL["open_session"],
        bytes.fromhex(session.hash), owner_id, session.csrf,
        bytes.fromhex(session.replaces) if session.replaces else None,
        float(SESSION_SECONDS), float(IDLE_SECONDS), OWNER_SESSIONS - 1, account.issuer, account.subject,
    )  # fmt: skip

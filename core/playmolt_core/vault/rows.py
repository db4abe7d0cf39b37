"""The rows of `vault.key`, read and written through the functions of the schema `vault`."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec

from playmolt_core.db.logins import VAULT_ROLE
from playmolt_core.db.pool import Connection, Pool, queries

_SQL = queries("vault")


class KeyRow(msgspec.Struct, frozen=True, kw_only=True):
    """The key of a session, wrapped by the key-encryption key `kek`; an erased session has none."""

    stream: str
    owner: str
    kek: str
    wrapped: bytes | None
    created_at: datetime | None = None
    erased_at: datetime | None = None


async def enter(connection: Connection, role: str) -> None:
    """Within a transaction, switch a connection that has a role to the role of the vault."""
    if role:
        await connection.execute(f"SET LOCAL ROLE {VAULT_ROLE}")


async def leave(connection: Connection, role: str) -> None:
    """Switch back to the role of the connection."""
    if role:
        await connection.execute(f"SET LOCAL ROLE {role}")


async def make(connection: Connection, rows: Iterable[KeyRow]) -> set[str]:
    """Within a transaction in the vault's role: store rows, and return the streams that had none."""
    columns = zip(*[(row.stream, row.owner, row.kek, row.wrapped) for row in rows], strict=True)
    return {stream for (stream,) in await connection.fetch(_SQL["make"], *map(list, columns))}


class PgKeyRows:
    """Every method raises LogUnavailable, and NotPermitted for a login without access to the vault."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @asynccontextmanager
    async def _reaching(self) -> AsyncIterator[Connection]:
        async with self._pool.transaction() as connection:
            await enter(connection, self._pool.role)
            yield connection

    async def read(self, streams: Iterable[str]) -> Sequence[KeyRow]:
        """The rows that exist."""
        async with self._reaching() as vault:
            return [_row(*row) for row in await vault.fetch(_SQL["read"], list(streams))]

    async def erase(self, stream: str) -> datetime | None:
        """Empty a session's row for ever and return when that was; None if there is no row."""
        async with self._reaching() as vault:
            emptied: datetime | None = await vault.fetchval(_SQL["erase"], stream)
        return emptied

    async def outdated(self, kek: str, limit: int) -> Sequence[KeyRow]:
        """Up to `limit` rows that another key wraps."""
        async with self._reaching() as vault:
            return [_row(*row) for row in await vault.fetch(_SQL["outdated"], kek, limit)]

    async def rewrap(self, row: KeyRow, kek: str, wrapped: bytes) -> bool:
        """Wrap a row with another key; False if it changed since it was read."""
        async with self._reaching() as vault:
            return bool(await vault.fetchval(_SQL["rewrap"], row.stream, row.wrapped, kek, wrapped))

    async def needed(self) -> Mapping[str, int]:
        """Key-encryption key → number of sessions that need it."""
        async with self._reaching() as vault:
            return {str(kek): int(sessions) for kek, sessions in await vault.fetch(_SQL["needed"])}


def _row(
    stream: str, owner: str, kek: str, wrapped: bytes | None, created_at: datetime, erased_at: datetime | None
) -> KeyRow:
    return KeyRow(
        stream=stream, owner=owner, kek=kek, wrapped=wrapped, created_at=created_at, erased_at=erased_at
    )  # fmt: skip

"""Connections to Postgres. Only this folder and log/ import asyncpg; everybody else sees LogUnavailable."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import asyncpg

from playmolt_core.db.errors import LogUnavailable

CONNECT_SECONDS = 5.0
ACQUIRE_SECONDS = 5.0
COMMAND_SECONDS = 10.0
"""What the client waits at most, for a server that no longer speaks; the server's own limits are shorter."""
SESSION = {
    "timezone": "UTC",
    "statement_timeout": "5s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "10s",
}

_AWAY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what a query raises on a connection that is lost in that very moment
    asyncpg.PostgresConnectionError,
    asyncpg.exceptions.OperatorInterventionError,
    asyncpg.exceptions.InsufficientResourcesError,
    asyncpg.exceptions.InvalidAuthorizationSpecificationError,
    asyncpg.exceptions.InvalidCatalogNameError,
    asyncpg.exceptions.LockNotAvailableError,
    asyncpg.exceptions.DeadlockDetectedError,
    asyncpg.exceptions.ReadOnlySQLTransactionError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,
)
NotPermitted = asyncpg.InsufficientPrivilegeError
"""What a statement raises that this login may not run; `unavailable` lets it pass."""
UniqueViolation = asyncpg.UniqueViolationError
"""What a row raises that is there already, with the constraint's name."""
_NOT_MIGRATED = (
    asyncpg.exceptions.InvalidSchemaNameError,
    asyncpg.exceptions.UndefinedTableError,
    asyncpg.exceptions.UndefinedFunctionError,
)


class Connection(asyncpg.Connection):
    """A connection that goes back to the pool as it is: nothing here changes a session, and a reset is a round trip."""

    def get_reset_query(self) -> str:
        return ""


@contextmanager
def unavailable() -> Iterator[None]:
    """Turn what a lost, busy or unmigrated database raises into LogUnavailable; bugs pass as they are."""
    try:
        yield
    except (LogUnavailable, asyncpg.DataError):  # the latter is an argument of a wrong type, though an InterfaceError
        raise
    except _NOT_MIGRATED as error:
        raise LogUnavailable(f"the database is not migrated, run `playmolt migrate`: {error}") from error
    except _AWAY as error:
        raise LogUnavailable(f"Postgres did not answer: {type(error).__name__}: {error}") from error


def _session(role: str) -> dict[str, str]:
    return {**SESSION, "role": role} if role else SESSION


async def connect(url: str, *, role: str = "", session: dict[str, str] | None = None) -> Connection:
    """Open one connection, optionally in a role and with other session limits; raises LogUnavailable."""
    with unavailable():
        connection: Connection = await asyncpg.connect(
            url,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS if session is None else None,
            server_settings=_session(role) | (session or {}),
            connection_class=Connection,
        )
        return connection


async def close(connection: Connection) -> None:
    """Close a connection of one's own, by force when the server does not answer."""
    try:
        await connection.close(timeout=CONNECT_SECONDS)
    except (*_AWAY, asyncpg.PostgresError):
        connection.terminate()


class Pool:
    """A few shared connections. Every method raises LogUnavailable when the database is away."""

    def __init__(self, shared: "asyncpg.Pool[Any]", url: str, role: str) -> None:
        self._shared = shared
        self._url = url
        self._role = role
        self._reserved: list[Connection] = []

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        with unavailable():
            async with self._shared.acquire(timeout=ACQUIRE_SECONDS) as connection:
                yield connection  # type: ignore[misc]  # the pool hands out a proxy of it

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Borrow a connection for one transaction (read committed)."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def reserve(self) -> Connection:
        """Open a connection that is not shared; it is closed with the pool."""
        self._reserved = [connection for connection in self._reserved if not connection.is_closed()]
        connection = await connect(self._url, role=self._role)
        self._reserved.append(connection)
        return connection

    async def fetch(self, query: str, *arguments: Any) -> Sequence[asyncpg.Record]:
        async with self.connection() as connection:
            return await connection.fetch(query, *arguments)

    async def row(self, query: str, *arguments: Any) -> asyncpg.Record | None:
        async with self.connection() as connection:
            return await connection.fetchrow(query, *arguments)

    async def value(self, query: str, *arguments: Any) -> Any:
        async with self.connection() as connection:
            return await connection.fetchval(query, *arguments)

    async def answers(self) -> bool:
        with suppress(LogUnavailable):
            return bool(await self.value("SELECT true"))
        return False

    async def close(self) -> None:
        """Close every connection, by force after five seconds."""
        for connection in self._reserved:
            await close(connection)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._shared.close()
        except TimeoutError:
            self._shared.terminate()


async def open_pool(url: str, *, role: str = "", size: int = 4) -> Pool:
    """Make a pool of at most `size` connections, which are opened when they are needed: it never waits for a server.

    `role` is taken on every connection; the URL's user has to be a member of it.
    """
    with unavailable():
        shared = await asyncpg.create_pool(
            url,
            min_size=0,
            max_size=size,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            server_settings=_session(role),
            connection_class=Connection,
        )
    return Pool(shared, url, role)

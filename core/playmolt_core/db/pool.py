"""Connections to Postgres. Only db/ and log/ import asyncpg; other code handles LogUnavailable."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from playmolt_core.db.errors import LogUnavailable, NotMigrated, PasswordRefused, ReadOnly
from playmolt_core.server_urls import driver_url, missing_file, split_database_url

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries(file: str) -> MappingProxyType[str, str]:
    """Read a file's statements, name → SQL."""
    source = files(__package__).joinpath("sql", "queries", f"{file}.sql").read_text("utf-8")
    _, *parts = _NAME.split(source)
    return MappingProxyType(dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True)))


POOL_SIZE: Final = 3
CONNECT_SECONDS = 5.0
ACQUIRE_SECONDS = 5.0
COMMAND_SECONDS = 10.0
"""The client's own timeouts, for a server that hangs; the server's limits are shorter."""
LIVES_SECONDS: Final = 240.0
IDLE_SECONDS: Final = 60.0
"""A connection is not reused after `LIVES_SECONDS` and closed after `IDLE_SECONDS` without use. So none lives longer
than five minutes, and all follow when the address of the database moves."""
SESSION = {
    "timezone": "UTC",
    "statement_timeout": "5s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "10s",
}

_UNAVAILABLE_ERRORS = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a query on a connection that is lost at that moment
    asyncpg.PostgresConnectionError,
    asyncpg.exceptions.OperatorInterventionError,
    asyncpg.exceptions.InsufficientResourcesError,
    asyncpg.exceptions.InvalidAuthorizationSpecificationError,
    asyncpg.exceptions.InvalidCatalogNameError,
    asyncpg.exceptions.LockNotAvailableError,
    asyncpg.exceptions.DeadlockDetectedError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,
)
_SETTINGS = "SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS s (name)"
_REFUSED_SETTING: Final = "unsupported startup parameter: "
"""How PgBouncer begins its refusal of a setting; it names only the first."""
READ_ONLY: Final = "read_only"
PASSWORD: Final = "password"  # noqa: S105 -- the name of a reason
"""Reasons in `/readyz`."""
_IS_APPLIED = "SELECT EXISTS (SELECT FROM migration.applied WHERE name = $1)"
_POLL_SECONDS: Final = 1.0
_TAKES_NO_WRITES = "SELECT current_setting('transaction_read_only') = 'on'"
_REFUSES_WRITES = (asyncpg.exceptions.ReadOnlySQLTransactionError, asyncpg.TargetServerAttributeNotMatched)
NotPermitted = asyncpg.InsufficientPrivilegeError
"""Raised by a statement that this login may not run; `unavailable` does not translate it."""
UniqueViolation = asyncpg.UniqueViolationError
"""Raised for a row that already exists, with the name of the constraint."""
_NOT_MIGRATED_ERRORS = (
    asyncpg.exceptions.InvalidSchemaNameError,
    asyncpg.exceptions.UndefinedTableError,
    asyncpg.exceptions.UndefinedFunctionError,
)


class Connection(asyncpg.Connection):
    """A connection that returns to the pool without a reset, which costs a round trip: no code changes a session."""

    def get_reset_query(self) -> str:
        return ""


@contextmanager
def unavailable() -> Iterator[None]:
    """Translate the errors of a lost, busy or unmigrated database into LogUnavailable; bugs are raised unchanged."""
    try:
        yield
    except (
        LogUnavailable,
        asyncpg.DataError,
    ):  # DataError is an InterfaceError, but means an argument of the wrong type
        raise
    except _NOT_MIGRATED_ERRORS as error:
        raise NotMigrated(f"the database is not migrated: run `playmolt migrate` ({error})") from error
    except asyncpg.InvalidPasswordError as error:
        raise PasswordRefused(f"Postgres refuses the password: {error}") from error
    except _REFUSES_WRITES as error:
        raise ReadOnly(f"Postgres accepts no writes; it may be a standby: {error}") from error
    except asyncpg.ClientConfigurationError as error:
        raise LogUnavailable(f"DATABASE_URL is invalid: {error}") from error
    except _UNAVAILABLE_ERRORS as error:
        if isinstance(error, OSError) and error.filename is not None:  # of a file, not of a connection
            raise
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise LogUnavailable(f"Postgres did not answer: {what}") from error


@contextmanager
def _terminated_on_error(connection: Connection) -> Iterator[None]:
    """Terminate a connection that nothing refers to yet if its first statement fails or is cancelled."""
    try:
        yield
    except BaseException:
        connection.terminate()
        raise


def _session(role: str) -> dict[str, str]:
    return {**SESSION, "role": role} if role else SESSION


def _login(url: str) -> tuple[str, str | None]:
    """The URL for the driver, with the password of its file as it is now: a mounted Secret changes while we run."""
    plain, file = split_database_url(url)
    dsn = driver_url(plain)
    if not file:
        return dsn, None
    try:
        password = Path(file).read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        raise PasswordRefused(f"cannot read the password in {file}: {error}") from error
    return dsn, password


async def _opened(url: str, **options: Any) -> Connection:
    dsn, password = _login(url)
    if file := missing_file(dsn):
        raise LogUnavailable(f"cannot read {file} of DATABASE_URL: check the path and its permissions")
    try:
        connection: Connection = await asyncpg.connect(dsn, password=password, **options)
    except asyncpg.UndefinedObjectError as error:
        raise LogUnavailable(f"Postgres does not know a parameter of DATABASE_URL: {error}. Remove it") from error
    return connection


async def connect(
    url: str, *, role: str = "", session: dict[str, str] | None = None, writes: bool = False
) -> Connection:
    """Open one connection, optionally in a role and with other session limits; raises LogUnavailable.

    `writes`: connect only to a server that accepts writes, otherwise raise ReadOnly.
    """
    with unavailable():
        return await _opened(
            url,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS if session is None else None,
            server_settings=_session(role) | (session or {}),
            target_session_attrs=_target(writes),
            connection_class=Connection,
        )


def _target(writes: bool) -> SessionAttribute:
    return SessionAttribute.read_write if writes else SessionAttribute.any


async def close(connection: Connection) -> None:
    """Close a connection that is not shared, by force if the server does not answer."""
    try:
        await connection.close(timeout=CONNECT_SECONDS)
    except (*_UNAVAILABLE_ERRORS, asyncpg.PostgresError):
        connection.terminate()


class Pool:
    """A few shared connections. Every method may raise LogUnavailable.

    After a failover the address may lead to a standby for a while. A caller that meets one closes all connections; with
    `writes`, new ones are opened only to a server that accepts writes.
    """

    def __init__(self, url: str, role: str, *, writes: bool, needs: str) -> None:
        self._shared: asyncpg.Pool[Any]
        self._url = url
        self._role = role
        self._writes = writes
        self._needs = needs
        self._migrated = True
        self._dropped = ""
        self._password_refused = False
        self._reserved: list[ReservedConnection] = []
        self._polling = self.reserve()
        self._renewed_at = time.monotonic()
        self.closed = False
        self.age = 0
        """How often all connections were discarded: one of an earlier age is not reused."""
        self.read_only = False
        """Whether the database refused writes when it was last used."""

    @property
    def role(self) -> str:
        """The role of its connections; empty for the login's own."""
        return self._role

    @property
    def url(self) -> str:
        return self._url

    async def open(self, size: int) -> None:
        with unavailable():
            self._shared = await asyncpg.create_pool(
                driver_url(split_database_url(self._url)[0]),
                min_size=0,
                max_size=size,
                max_inactive_connection_lifetime=IDLE_SECONDS,
                connect=self._connect,
                timeout=CONNECT_SECONDS,
                command_timeout=COMMAND_SECONDS,
                server_settings=_session(self._role),
                target_session_attrs=_target(self._writes),
                connection_class=Connection,
            )

    async def _connect(self, *_: Any, **options: Any) -> Connection:
        try:
            connection = await _opened(self._url, **options)
        except (asyncpg.InvalidPasswordError, PasswordRefused):
            self._password_refused = True
            raise
        except asyncpg.TargetServerAttributeNotMatched:
            await self.discard_all()
            raise
        except (asyncpg.InvalidParameterValueError, NotPermitted) as error:
            raise NotMigrated(f"cannot set the role {self._role}: run `playmolt migrate` ({error})") from error
        except asyncpg.ProtocolViolationError as error:
            self._dropped = str(error).removeprefix(_REFUSED_SETTING) if str(error).startswith(_REFUSED_SETTING) else ""
            raise
        await self._check(connection)
        self._password_refused = self.read_only = False
        return connection

    async def _check(self, connection: Connection) -> None:
        """Check once that the settings arrived: a pooler may drop them silently."""
        wanted = _session(self._role)
        with _terminated_on_error(connection):
            rows = await connection.fetch(_SETTINGS, list(wanted))
            self._dropped = ", ".join(row["name"] for row in rows if row["value"] != wanted[row["name"]])
            if self._dropped:
                raise LogUnavailable(f"Postgres, or a pooler in front of it, dropped the settings {self._dropped}")

    async def connect(self) -> Connection:
        """Open a connection that is not shared. The caller closes it."""
        try:
            connection = await connect(self._url, role=self._role, writes=self._writes)
        except PasswordRefused:
            self._password_refused = True
            raise
        except ReadOnly:
            await self.discard_all()
            raise
        await self._check(connection)
        self._password_refused = self.read_only = False
        return connection

    async def renew(self) -> None:
        """Discard the connections if they are old."""
        if time.monotonic() - self._renewed_at > LIVES_SECONDS:
            await self._give_up()

    async def discard_all(self) -> None:
        """Discard all connections: one of them met a server that accepts no writes."""
        self.read_only = True
        await self._give_up()

    async def _give_up(self) -> None:
        self.age += 1
        self._renewed_at = time.monotonic()
        await self._shared.expire_connections()  # closes each when it returns, or before it is lent again

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        await self.renew()
        with unavailable():
            async with self._shared.acquire(timeout=ACQUIRE_SECONDS) as connection:
                try:
                    with unavailable():
                        yield connection  # type: ignore[misc]  # the pool returns a proxy of it
                except ReadOnly:
                    await self.discard_all()
                    raise

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Borrow a connection for one transaction (read committed)."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Connection]:
        """Borrow a connection for reads that all see one snapshot."""
        async with self.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            yield connection

    def reserve(self, settle: str = "") -> "ReservedConnection":
        """Reserve a connection that is not shared; it closes with the pool. `settle` runs whenever it is opened."""
        reserved = ReservedConnection(self, settle)
        self._reserved.append(reserved)
        return reserved

    async def fetch(self, query: str, *arguments: object) -> Sequence[asyncpg.Record]:
        async with self.connection() as connection:
            return await connection.fetch(query, *arguments)

    async def row(self, query: str, *arguments: Any) -> asyncpg.Record | None:
        async with self.connection() as connection:
            return await connection.fetchrow(query, *arguments)

    async def value(self, query: str, *arguments: object) -> Any:
        async with self.connection() as connection:
            return await connection.fetchval(query, *arguments)

    async def poll(self, query: str, *arguments: object) -> Sequence[asyncpg.Record]:
        """As `fetch`, for a statement that is repeated for ever: all of them use one connection, one after another, so
        that the shared ones are closed while there is nothing to do."""
        return await self._polling.fetch(query, *arguments)

    async def answers(self) -> bool:
        """Whether the database answers, is migrated and, if required, accepts writes."""
        try:
            async with self.connection() as connection:
                if await connection.fetchval(_TAKES_NO_WRITES) and self._writes:
                    raise ReadOnly("the server accepts no writes")
                self._migrated = not self._needs or await self._is_applied(connection)
        except NotMigrated:
            self._migrated = False
            return False
        except LogUnavailable:
            return False
        self._password_refused = self.read_only = False
        return self._migrated

    async def _is_applied(self, connection: Connection) -> bool:
        try:
            if not await connection.fetchval(_IS_APPLIED, self._needs):
                return False
        except (*_NOT_MIGRATED_ERRORS, NotPermitted):
            return False
        self._needs = ""  # a migration is never undone
        return True

    async def migrated(self) -> None:
        """Wait until the database answers and has the required migration, without a limit: meanwhile the service is
        alive and not ready."""
        while not await self.answers():  # noqa: ASYNC110 -- another process migrates: no event to wait for
            await asyncio.sleep(_POLL_SECONDS)

    @property
    def reason(self) -> str:
        """Why the database cannot be used although it answers; empty if it does not answer or works."""
        if self._password_refused:
            return PASSWORD
        if self.read_only:
            return READ_ONLY
        if self._dropped:
            return f"a pooler dropped: {self._dropped}"
        return "" if self._migrated else f"waiting for migration {self._needs}"

    async def parts(self) -> dict[str, bool | str]:
        """The entries of `/readyz`."""
        answers = await self.answers()
        return {"postgres": answers, **({"reason": self.reason} if self.reason else {})}

    async def close(self) -> None:
        """Close every connection, by force after five seconds. None is opened any more."""
        self.closed = True
        for reserved in self._reserved:
            await reserved.close()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._shared.close()
        except TimeoutError:
            self._shared.terminate()


class ReservedConnection:
    """A connection that is not shared: opened on use, and again after it was lost or discarded."""

    def __init__(self, pool: Pool, settle: str) -> None:
        self._pool = pool
        self._settle = settle
        self._connection: Connection | None = None
        self._age = 0
        self._turn = asyncio.Lock()

    async def fetch(self, query: str, *arguments: object) -> Sequence[asyncpg.Record]:
        """Run a statement; of several callers, one after another."""
        async with self._turn, self.use() as connection:
            try:
                return await connection.fetch(query, *arguments)
            except asyncpg.PostgresError:
                raise
            except BaseException:
                connection.terminate()  # unread answers may still arrive on it
                raise

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """The connection, for one caller at a time. Raises LogUnavailable, as the pool does."""
        connection = await self._current()
        try:
            with unavailable():
                yield connection
        except ReadOnly:
            await self._pool.discard_all()
            raise

    async def _current(self) -> Connection:
        await self._pool.renew()
        if self._connection and (self._connection.is_closed() or self._age != self._pool.age):
            await self.close()
        if self._connection is None:
            age, connection = self._pool.age, await self._pool.connect()
            with unavailable(), _terminated_on_error(connection):
                if self._settle:
                    await connection.execute(self._settle)
                if self._pool.closed:  # meanwhile
                    raise LogUnavailable("the pool is closed")
            self._connection, self._age = connection, age
        return self._connection

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            await close(connection)


async def open_pool(url: str, *, role: str = "", size: int = POOL_SIZE, writes: bool = False, needs: str = "") -> Pool:
    """Make a pool of at most `size` connections. They are opened on use, so this never waits for a server.

    `role` is set on every connection; the user of the URL must be a member. `writes`: a server that accepts no writes
    counts as unavailable. `needs`: the migration that the database must have to be ready.
    """
    pool = Pool(url, role, writes=writes, needs=needs)
    await pool.open(size)
    return pool

"""Migrations: SQL files `NNNN_pre_NAME.sql` (safe before the new code runs) and `NNNN_post_NAME.sql` (after it)."""

import asyncio
import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, Literal

import asyncpg
import msgspec

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.logins import GROUP_ROLES, settle_memberships
from playmolt_core.db.pool import Connection, close, connect, queries, unavailable
from playmolt_core.settings import OtherShards

Phase = Literal["pre", "post", "all"]
_FILE = re.compile(r"(\d{4})_(pre|post)_[a-z0-9_]+\.sql")
_LOCK = 0x706C6179  # "play": one key for every process that migrates this database
_QUEUE_SECONDS: Final = 60
_RETRY_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.1
_SESSION = {
    "statement_timeout": "10min",
    "idle_in_transaction_session_timeout": "10min",
}
_ROLES = """
SELECT count(*) FILTER (WHERE rolname = ANY($1)) AS made,
  bool_or(rolname = current_user AND (rolcreaterole OR rolsuper)) AS can_be_made FROM pg_roles
"""
_TABLE = """
CREATE SCHEMA IF NOT EXISTS migration;
CREATE TABLE IF NOT EXISTS migration.applied (
  name text COLLATE "C" PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
);
GRANT USAGE ON SCHEMA migration TO PUBLIC;
GRANT SELECT ON migration.applied TO PUBLIC;
"""
_ASK_AN_ADMINISTRATOR: Final = (
    "this login may not create or join the roles it needs; nothing was changed. Ask an administrator to run:"
)
_SHARDS: Final = queries("log")["shards"]
_SCHEMAS: Final = ("log", "projection", "account", "limits", "lease", "blob", "vault", "pack")
_TAKEN: Final = "SELECT nspname FROM pg_namespace WHERE nspname = ANY ($1) ORDER BY nspname"
_OLDEST: Final = 15
_COMMENT = re.compile(r"--[^\n]*")


class MigrationRefused(RuntimeError):
    """The database and the files disagree, or a table stays locked. The message names the file and the remedy.
    Neither that file nor any after it was applied."""


class UnsuitableDatabase(MigrationRefused):
    """The database cannot hold this schema; the message says why and what is needed. Nothing was changed."""


class Locks(msgspec.Struct, frozen=True, kw_only=True):
    """How long a file waits for the lock of a table, how often, and the pause between two attempts.

    Statements of others queue behind a migration that waits for a lock, so it waits briefly and retries.
    """

    seconds: float = 5
    tries: int = 12
    pause: float = 1.0


_LOCKS: Final = Locks()


def newest_needed() -> str:
    """The `pre` file that the code of this release requires."""
    return next(entry.name for entry, phase in reversed(_files()) if phase == "pre")


class Migration(msgspec.Struct, frozen=True):
    name: str
    phase: str
    sql: str

    @property
    def checksum(self) -> str:
        """Hex SHA-256 of the text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def alone(self) -> list[str]:
        """Its statements, to be run one by one, if one of them cannot run in a transaction; otherwise empty."""
        text = _COMMENT.sub("", self.sql)
        if "CONCURRENTLY" not in text.upper():
            return []
        return [statement for part in text.split(";") if (statement := part.strip())]


def migrations(folder: Traversable | None = None) -> list[Migration]:
    """Read the files in order. Raises MigrationRefused for a name without a phase and for a number used twice."""
    return [Migration(entry.name, phase, entry.read_text("utf-8")) for entry, phase in _files(folder)]


def _files(folder: Traversable | None = None) -> list[tuple[Traversable, str]]:
    """The files in order, each with its phase."""
    folder = folder or files(__package__).joinpath("sql", "migrations")
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    result: dict[str, tuple[Traversable, str]] = {}
    for entry in found:
        match = _FILE.fullmatch(entry.name)
        if not match:
            raise MigrationRefused(f"{entry.name}: rename it to NNNN_pre_NAME.sql or NNNN_post_NAME.sql")
        if match[1] in result:
            raise MigrationRefused(f"{entry.name} and {result[match[1]][0].name} have the same number: renumber one")
        result[match[1]] = entry, match[2]
    return list(result.values())


async def migrate(
    url: str,
    phase: Phase = "all",
    *,
    shards: int | None = None,
    folder: Traversable | None = None,
    locks: Locks = _LOCKS,
) -> list[str]:
    """Apply the pending files of a phase and return their names.

    Safe to run concurrently: one process migrates, the others wait up to 60 s and find nothing left. Each file is one
    transaction, except those that create an index CONCURRENTLY: each of their statements must be safe to run again. On
    an empty database no old code is running, so `pre` applies all files. A new log gets `shards` shards, by default 1.

    Raises OtherShards when the log has another number of shards; MigrationRefused when an applied file was changed,
    when files would be applied out of order, or when a later release's `post` was applied; LogUnavailable.
    """
    wanted = migrations(folder)
    connection = await connect(url, session=_SESSION, writes=True)
    try:
        with unavailable():
            await _take_turn(connection)
            await _check(connection)
            await connection.execute(f"SET lock_timeout = {round(locks.seconds * 1000)}")
            if statements := await settle_memberships(connection):
                raise MigrationRefused(_ASK_AN_ADMINISTRATOR + "".join(f"\n  {one};" for one in statements))
            await connection.execute(_TABLE)
            await connection.execute("SELECT set_config('playmolt.log_shards', $1, false)", str(shards or 1))
            applied = await _apply(connection, wanted, phase, locks)
            if shards is not None:
                await counted_shards(connection, shards)
            return applied
    finally:
        await close(connection)  # also releases the lock


async def counted_shards(connection: Connection, wanted: int | None) -> int:
    """The number of shards of the log. Raises OtherShards if `wanted` is another number."""
    present = int(await connection.fetchval(_SHARDS))
    if wanted not in (None, present):
        raise OtherShards(wanted, present)
    return present


async def _check(connection: Connection) -> None:
    own = [] if await _applied(connection) else [row["nspname"] for row in await connection.fetch(_TAKEN, _SCHEMAS)]
    encoding = await connection.fetchval("SHOW server_encoding")
    if fault := unsuitable(connection.get_server_version().major, encoding, own):
        raise UnsuitableDatabase(fault)


def unsuitable(version: int, encoding: str, taken: Sequence[str]) -> str:
    """Why a database is unsuitable, and what to do: its server is too old, it cannot store every character, or schemas
    with our names (`taken`) already belong to something else. Otherwise empty."""
    if version < _OLDEST:
        return f"this is Postgres {version}: use Postgres {_OLDEST} or newer"
    if encoding != "UTF8":
        return f"the encoding of this database is {encoding}: create one with ENCODING 'UTF8' TEMPLATE template0"
    if taken:
        return f"no migration of PlayMolt made the schemas {', '.join(taken)} of this database: use an empty database"
    return ""


async def _take_turn(connection: Connection) -> None:
    """Poll for the lock. To wait for it in one statement would block CREATE INDEX CONCURRENTLY, which waits for every
    statement that began before it."""
    until = time.monotonic() + _QUEUE_SECONDS
    while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
        if time.monotonic() > until:
            raise LogUnavailable(f"another process is migrating this database; waited {_QUEUE_SECONDS} s")
        await asyncio.sleep(_POLL_SECONDS)


async def await_database(url: str, seconds: float) -> None:
    """Wait until the database answers and has our roles, or lets us create them. Raises LogUnavailable after that."""
    until = time.monotonic() + seconds
    while True:
        try:
            connection = await connect(url, writes=True)
            try:
                with unavailable():
                    (roles,) = await connection.fetch(_ROLES, list(GROUP_ROLES))
            finally:
                await close(connection)
            if roles["can_be_made"] or roles["made"] == len(GROUP_ROLES):
                return
            fault = f"{len(GROUP_ROLES) - roles['made']} of the roles {', '.join(GROUP_ROLES)} are missing"
        except LogUnavailable as error:
            fault = str(error)
        if time.monotonic() > until:
            raise LogUnavailable(f"waited {seconds:g} s: {fault}")
        await asyncio.sleep(_RETRY_SECONDS)


async def pending(url: str, *, folder: Traversable | None = None) -> list[str]:
    """The names of the files that are not applied yet. Changes nothing. Raises as `migrate`."""
    wanted = migrations(folder)
    connection = await connect(url)
    try:
        with unavailable():
            await _check(connection)
            return [migration.name for migration in _missing(wanted, await _applied(connection))]
    finally:
        await close(connection)


async def _applied(connection: Connection) -> dict[str, str]:
    try:
        rows = await connection.fetch("SELECT name, checksum FROM migration.applied")
    except (asyncpg.InvalidSchemaNameError, asyncpg.UndefinedTableError):
        return {}
    return {row["name"]: row["checksum"] for row in rows}


def _missing(wanted: Sequence[Migration], applied: dict[str, str]) -> list[Migration]:
    for migration in wanted:
        if applied.get(migration.name, migration.checksum) != migration.checksum:
            raise MigrationRefused(
                f"{migration.name} was changed after it was applied: put the file back and write a new migration"
            )
    return [migration for migration in wanted if migration.name not in applied]


async def _apply(connection: Connection, wanted: Sequence[Migration], phase: Phase, locks: Locks) -> list[str]:
    applied = await _applied(connection)
    missing = _missing(wanted, applied)
    _refuse_when_closed(wanted, applied)
    chosen = [migration for migration in missing if phase in (migration.phase, "all")]
    if phase == "pre" and not applied:
        chosen = missing
    for skipped in missing:
        if skipped not in chosen and chosen and skipped.name < chosen[-1].name:
            remedy = (
                "finish the rollout before this one (`post`)" if phase == "pre" else "run phase `pre` and the new code"
            )
            raise MigrationRefused(f"{skipped.name} is not applied: {remedy} first")
    for migration in chosen:
        await _run(connection, migration, locks)
    return [migration.name for migration in chosen]


def _refuse_when_closed(wanted: Sequence[Migration], applied: Mapping[str, str]) -> None:
    """This code works with the `pre` of a later release, but may need what the `post` of one removed."""
    known = {migration.name for migration in wanted}
    for name in sorted(applied):
        match = _FILE.fullmatch(name)
        if match and match[2] == "post" and name not in known:
            raise MigrationRefused(
                f"{name} was applied by a later release, so the way back to this one is closed: run that release"
            )


async def _run(connection: Connection, migration: Migration, locks: Locks) -> None:
    for attempt in range(1, locks.tries + 1):
        try:
            await _run_once(connection, migration)
        except asyncpg.LockNotAvailableError as error:
            if attempt == locks.tries:
                raise MigrationRefused(
                    f"{migration.name}: another session holds a lock that it needs (tried {attempt} times for"
                    f" {locks.seconds:g} s): end that session and run the migration again"
                ) from error
            await asyncio.sleep(locks.pause)
        else:
            return


async def _run_once(connection: Connection, migration: Migration) -> None:
    record = "INSERT INTO migration.applied (name, checksum) VALUES ($1, $2)"
    if migration.alone:
        for statement in migration.alone:
            await connection.execute(statement)
        await connection.execute("RESET ROLE")
        await connection.execute(record, migration.name, migration.checksum)
        return
    async with connection.transaction():
        await connection.execute(migration.sql)
        await connection.execute("RESET ROLE")
        await connection.execute(record, migration.name, migration.checksum)

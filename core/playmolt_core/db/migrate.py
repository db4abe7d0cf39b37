"""Migrations: SQL files `NNNN_pre_NAME.sql` (safe before the new code runs) and `NNNN_post_NAME.sql` (after it)."""

import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal

import asyncpg
import msgspec

from playmolt_core.db.pool import Connection, close, connect, unavailable

Phase = Literal["pre", "post", "all"]
_FILE = re.compile(r"(\d{4})_(pre|post)_[a-z0-9_]+\.sql")
_LOCK = 0x706C6179  # "play": one key for every process that migrates this database
_SESSION = {"statement_timeout": "10min", "lock_timeout": "60s", "idle_in_transaction_session_timeout": "10min"}
_TABLE = """
CREATE SCHEMA IF NOT EXISTS migration;
CREATE TABLE IF NOT EXISTS migration.applied (
  name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
)
"""


class MigrationRefused(RuntimeError):
    """The database and the files disagree; the message says what to do. Nothing was changed."""


class Migration(msgspec.Struct, frozen=True):
    name: str
    phase: str
    sql: str

    @property
    def checksum(self) -> str:
        """Hex SHA-256 of the text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(folder: Traversable | None = None) -> list[Migration]:
    """Read the files in order; MigrationRefused for a name that says no phase or a number used twice."""
    folder = folder or files(__package__).joinpath("sql", "migrations")
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    result: dict[str, Migration] = {}
    for entry in found:
        match = _FILE.fullmatch(entry.name)
        if not match:
            raise MigrationRefused(f"{entry.name}: a migration is named NNNN_pre_NAME.sql or NNNN_post_NAME.sql")
        if match[1] in result:
            raise MigrationRefused(f"{entry.name} and {result[match[1]].name} have the same number: renumber one")
        result[match[1]] = Migration(entry.name, match[2], entry.read_text("utf-8"))
    return list(result.values())


async def migrate(url: str, phase: Phase = "all", *, folder: Traversable | None = None) -> list[str]:
    """Apply what is not applied yet and give the names of it.

    Any number may run at once: one works, the others wait up to 60 s and find nothing left. Each file is one
    transaction. Raises MigrationRefused when an applied file was changed or `post` comes before its `pre`, and
    LogUnavailable when the database is away.
    """
    wanted = migrations(folder)
    connection = await connect(url, session=_SESSION, writes=True)
    try:
        with unavailable():
            await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
            await connection.execute(_TABLE)
            return await _apply(connection, wanted, phase)
    finally:
        await close(connection)  # also gives the lock back


async def pending(url: str, *, folder: Traversable | None = None) -> list[str]:
    """The names of the files that are not applied; raises like `migrate`. Changes nothing."""
    wanted = migrations(folder)
    connection = await connect(url)
    try:
        with unavailable():
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


async def _apply(connection: Connection, wanted: Sequence[Migration], phase: Phase) -> list[str]:
    missing = _missing(wanted, await _applied(connection))
    chosen = [migration for migration in missing if phase in (migration.phase, "all")]
    skipped = [migration.name for migration in missing if migration.phase == "pre" and phase == "post"]
    if chosen and skipped and skipped[0] < chosen[-1].name:
        raise MigrationRefused(f"{skipped[0]} is not applied: run the phase `pre` and the new code first")
    for migration in chosen:
        async with connection.transaction():
            await connection.execute(migration.sql)
            await connection.execute("RESET ROLE")
            await connection.execute(
                "INSERT INTO migration.applied (name, checksum) VALUES ($1, $2)", migration.name, migration.checksum
            )
    return [migration.name for migration in chosen]

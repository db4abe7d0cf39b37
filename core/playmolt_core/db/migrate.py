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
from playmolt_core.db.memberships import GROUP_ROLES, settle_memberships
from playmolt_core.db.pool import Connection, close, connect, unavailable
from playmolt_core.db.queries import queries
from playmolt_core.settings import OtherShards

Phase = Literal["pre", "post", "all"]
_FILE = re.compile(r"(\d{4})_(pre|post)_[a-z0-9_]+\.sql")
_LOCK = 0x706C6179  # "play": one key for every process that migrates this database
_QUEUE_SECONDS: Final = 60
LOCK_SECONDS: Final = 5
LOCK_TRIES: Final = 12
"""A migration that waits for a table's lock makes everybody behind it wait as well: so it waits briefly, and often."""
_PAUSE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.1
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
    "this login may not make or join the roles that are needed, and nothing was changed. Let an administrator run:"
)
_FORMERLY: Final = {
    "0001_pre_schema.sql": "6b9e33cc83429156b8cf20683d3d98ed4214f515dc1072cb1790c0d06f77f1d0",
    "0011_pre_game_roles.sql": "dfad233b9ee9d297a86dbd3fcbb3522ff54778e577db34da4f61c0460ee5faf2",
}
"""Checksums of files that did the same, but for a role that was there already."""
_SHARDS: Final = queries("log")["shards"]
_COMMENT = re.compile(r"--[^\n]*")


class MigrationRefused(RuntimeError):
    """The database and the files disagree, or a table stays locked; the message names the file and says what to do.
    It and those after it were not applied."""


def newest_needed() -> str:
    """The `pre` file without which this release's code cannot work."""
    return next(migration.name for migration in reversed(migrations()) if migration.phase == "pre")


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
        """Its statements, each to be run by itself, when one of them may be in no transaction; else none."""
        text = _COMMENT.sub("", self.sql)
        if "CONCURRENTLY" not in text.upper():
            return []
        return [statement for part in text.split(";") if (statement := part.strip())]


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


async def migrate(
    url: str, phase: Phase = "all", *, shards: int | None = None, folder: Traversable | None = None
) -> list[str]:
    """Apply what is not applied yet and give the names of it.

    Any number may run at once: one works, the others wait up to 60 s and find nothing left. Each file is one
    transaction, but for one that makes an index CONCURRENTLY, whose statements have to bear being run again. On a
    database where nothing is applied yet there is no old code to bear with: `pre` applies all. A log that is made gets
    so many shards, one unless it is said.

    Raises OtherShards when the log has another number of shards, MigrationRefused when an applied file was changed,
    when files would be applied out of order, or when the database is past the way back to this release; LogUnavailable
    when the database is away.
    """
    wanted = migrations(folder)
    connection = await connect(url, session=_SESSION, writes=True)
    try:
        with unavailable():
            await _take_turn(connection)
            await connection.execute(f"SET lock_timeout = {round(LOCK_SECONDS * 1000)}")
            if statements := await settle_memberships(connection):
                raise MigrationRefused(_ASK_AN_ADMINISTRATOR + "".join(f"\n  {one};" for one in statements))
            await connection.execute(_TABLE)
            await connection.execute("SELECT set_config('playmolt.log_shards', $1, false)", str(shards or 1))
            applied = await _apply(connection, wanted, phase)
            if shards is not None:
                await counted_shards(connection, shards)
            return applied
    finally:
        await close(connection)  # also gives the lock back


async def counted_shards(connection: Connection, wanted: int | None) -> int:
    """How many shards the log was made with. Raises OtherShards where another number is `wanted`."""
    present = int(await connection.fetchval(_SHARDS))
    if wanted not in (None, present):
        raise OtherShards(wanted, present)
    return present


async def _take_turn(connection: Connection) -> None:
    """Ask for the lock until it is given: an index made CONCURRENTLY waits for every statement that began before it, so
    also for one that would wait for this lock."""
    until = time.monotonic() + _QUEUE_SECONDS
    while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
        if time.monotonic() > until:
            raise LogUnavailable(f"another process migrates this database, waited {_QUEUE_SECONDS} s")
        await asyncio.sleep(_LOOK_SECONDS)


async def await_database(url: str, seconds: float) -> None:
    """Wait until the database answers and has our roles, or lets us make them; LogUnavailable when it takes longer."""
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
            fault = f"{len(GROUP_ROLES) - roles['made']} of the roles {', '.join(GROUP_ROLES)} are not there"
        except LogUnavailable as error:
            fault = str(error)
        if time.monotonic() > until:
            raise LogUnavailable(f"waited {seconds:g} s: {fault}")
        await asyncio.sleep(_PAUSE_SECONDS)


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
        if applied.get(migration.name, migration.checksum) not in (migration.checksum, _FORMERLY.get(migration.name)):
            raise MigrationRefused(
                f"{migration.name} was changed after it was applied: put the file back and write a new migration"
            )
    return [migration for migration in wanted if migration.name not in applied]


async def _apply(connection: Connection, wanted: Sequence[Migration], phase: Phase) -> list[str]:
    applied = await _applied(connection)
    missing = _missing(wanted, applied)
    _refuse_when_closed(wanted, applied)
    chosen = [migration for migration in missing if phase in (migration.phase, "all")]
    if phase == "pre" and not applied:
        chosen = missing
    for skipped in missing:
        if skipped not in chosen and chosen and skipped.name < chosen[-1].name:
            remedy = "finish the rollout before (`post`)" if phase == "pre" else "run the phase `pre` and the new code"
            raise MigrationRefused(f"{skipped.name} is not applied: {remedy} first")
    for migration in chosen:
        await _run(connection, migration)
    return [migration.name for migration in chosen]


def _refuse_when_closed(wanted: Sequence[Migration], applied: Mapping[str, str]) -> None:
    """A `pre` of a later release is borne by this one's code; what its `post` took away, this code may need."""
    known = {migration.name for migration in wanted}
    for name in sorted(applied):
        match = _FILE.fullmatch(name)
        if match and match[2] == "post" and name not in known:
            raise MigrationRefused(f"{name} was applied by a later release: the way back to this one is closed")


async def _run(connection: Connection, migration: Migration) -> None:
    for attempt in range(1, LOCK_TRIES + 1):
        try:
            await _run_once(connection, migration)
        except asyncpg.LockNotAvailableError as error:
            if attempt == LOCK_TRIES:
                raise MigrationRefused(
                    f"{migration.name}: somebody holds a lock it needs, tried {attempt} times for {LOCK_SECONDS} s"
                ) from error
            await asyncio.sleep(_PAUSE_SECONDS)
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

"""Opens the log for a command, and reads records from files."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
from playmolt_core.db.pool import POOL_SIZE, Pool, open_pool
from playmolt_core.game.withholding import readable
from playmolt_core.log.copies.files import NoRecords, records_as
from playmolt_core.log.copies.verifying import verify_copies
from playmolt_core.log.postgres import PostgresLog, shards_of
from playmolt_core.log.sealing import UNOPENED, ToolCodec
from playmolt_core.log.verify import Verification
from playmolt_core.vault.key_file import InvalidKeyFile, KeyFile
from playmolt_core.vault.rows import PgKeyRows
from playmolt_core.vault.vault import Vault
from playmolt_schemas.records import OpenedRecord, Record

from playmolt_cli.games import deciders
from playmolt_cli.local.database import database
from playmolt_cli.local.folder import Folder
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings

T = TypeVar("T")
R = TypeVar("R", bound=Record)
F = TypeVar("F", bound=Callable[..., Any])


def with_log(data: Path | None, work: Callable[[PostgresLog], Awaitable[T]], *, opened: bool = False) -> T:
    """Run `work` on the log found by `database`; raises the same errors, and LogUnavailable.

    `opened`: decrypt sealed records if the keys are available.
    """
    return with_database(data, lambda event_log, _: work(event_log), opened=opened)


def with_database(data: Path | None, work: Callable[[PostgresLog, Pool], Awaitable[T]], *, opened: bool = False) -> T:
    """As `with_log`, with the database pool."""
    keys = seal_keys(data) if opened else None
    with database(data) as url:
        return asyncio.run(on_database(url, keys, work))


async def on_database(
    url: str, keys: KeyFile | None, work: Callable[[PostgresLog, Pool], Awaitable[T]], size: int = POOL_SIZE
) -> T:
    """Run `work` on the log of a database with a pool of `size`; records are decrypted with `keys`."""
    pool = await open_pool(url, size=size)
    try:
        shards = await shards_of(pool)
        codec = UNOPENED if keys is None else ToolCodec(Vault(PgKeyRows(pool), keys))
        return await work(PostgresLog(pool, shards, codec), pool)
    finally:
        await pool.close()


def seal_keys(data: Path | None) -> KeyFile | None:
    """The key-encryption keys of the settings or the data folder; None if the file does not exist.

    Raises Failure for an invalid file.
    """
    path = seal_keys_path(data)
    try:
        return KeyFile(path) if path.exists() else None
    except InvalidKeyFile as error:
        raise Failure(str(error)) from error


def open_option(command: F) -> F:
    text = "Decrypt sealed records. Needs the key file (PLAYMOLT_SEAL_KEYS) and a login with access to the vault."
    return click.option("--open", "opened", is_flag=True, help=text)(command)


def need_keys(data: Path | None, *, opened: bool) -> None:
    """Raise Failure if `opened` is set and there are no keys."""
    if opened and seal_keys(data) is None:
        raise Failure(f"{seal_keys_path(data)} does not exist. --open needs the key file; set PLAYMOLT_SEAL_KEYS.")


def seal_keys_path(data: Path | None) -> Path:
    """The key file of the settings, else of the data folder."""
    settings = read_settings()
    return Path(settings.seal_keys) if settings.seal_keys else Folder(data or settings.data).seal_keys


def records_of(files: Iterable[Path]) -> Iterator[Record]:
    """The records of files in sequence, with a placeholder for what is withheld. Raises Failure if unreadable."""
    return map(readable, records_of_kind(files, OpenedRecord))


def records_of_kind(files: Iterable[Path], kind: type[R]) -> Iterator[R]:
    """As `records_of`, for a record type with further fields."""
    try:
        for path in files:
            yield from records_as(path, kind)
    except NoRecords as error:
        raise Failure(str(error)) from error


def verified_files(files: Iterable[Path]) -> Verification:
    """Verify copies of the log; raises Failure if one has no records."""
    try:
        return verify_copies(files, deciders())
    except NoRecords as error:
        raise Failure(str(error)) from error

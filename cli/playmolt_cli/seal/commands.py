"""`playmolt seal`: manages the keys that wrap session keys."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import click
import msgspec
from playmolt_core.vault import rotation
from playmolt_core.vault.key_file import InvalidKeyFile
from playmolt_core.vault.rows import PgKeyRows
from playmolt_core.vault.stream_key import UnsealFailed

from playmolt_cli.log.reading import seal_keys_path, with_database
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, echo_json, json_option, read_settings

T = TypeVar("T")


class KeyRotation(msgspec.Struct, frozen=True):
    """Result of a rotation: id of the added key, number of rewrapped sessions, ids of dropped keys."""

    added: str | None
    rewrapped: int
    dropped: list[str]


@click.group()
def seal() -> None:
    """Rotate the key-encryption keys in the file of PLAYMOLT_SEAL_KEYS, which wrap the keys of sessions.

    `up` runs `rotate` daily.

    Example: playmolt seal rotate
    """


@seal.command()
@data_option
def add(data: Path | None) -> None:
    """Add a new key to the file; it wraps the keys of new sessions.

    Example: playmolt seal add
    """
    path = seal_keys_path(data)
    try:
        key = rotation.add(path, _now())
    except (InvalidKeyFile, OSError) as error:
        raise _failure(path, error) from error
    click.echo(f"added key {key.id} to {path}; `playmolt seal rewrap` moves all sessions to it")


@seal.command()
@data_option
def rewrap(data: Path | None) -> None:
    """Rewrap the keys of all sessions with the newest key of the file.

    Example: playmolt seal rewrap
    """
    path = seal_keys_path(data)
    moved = _with_rows(data, lambda rows: rotation.rewrap(rows, path))
    click.echo(f"{moved} sessions rewrapped with the newest key of {path}")


@seal.command()
@data_option
def drop(data: Path | None) -> None:
    """Remove keys from the file that were replaced more than PLAYMOLT_SEAL_KEEP_DAYS ago.

    Refused while a session still needs one of them. Sessions in backups older than that can then no longer be opened.

    Example: playmolt seal drop
    """
    path, keep = seal_keys_path(data), timedelta(days=read_settings().seal_keep_days)
    dropped = _with_rows(data, lambda rows: rotation.drop(rows, path, keep, _now()))
    click.echo(f"{len(dropped)} keys removed from {path}" + "".join(f"\n  {name}" for name in dropped))


@seal.command()
@data_option
@json_option
def rotate(data: Path | None, as_json: bool) -> None:
    """Add a key if the newest is older than PLAYMOLT_SEAL_ROTATE_DAYS, then run `rewrap` and `drop`.

    Example: playmolt seal rotate --json
    """
    path, settings = seal_keys_path(data), read_settings()
    after, keep = timedelta(days=settings.seal_rotate_days), timedelta(days=settings.seal_keep_days)

    async def work(rows: PgKeyRows) -> tuple[int, Sequence[str]]:
        return await rotation.rewrap(rows, path), await rotation.drop(rows, path, keep, _now())

    try:
        key = rotation.renew(path, after, _now())
    except (InvalidKeyFile, OSError) as error:
        raise _failure(path, error) from error
    moved, dropped = _with_rows(data, work)
    rotated = KeyRotation(key.id if key else None, moved, list(dropped))
    if as_json:
        echo_json(rotated)
    else:
        added = f"{rotated.added} added, " if rotated.added else ""
        click.echo(f"{added}{moved} sessions rewrapped with the newest key of {path}, {len(dropped)} keys removed")


def _failure(path: Path, error: Exception) -> Failure:
    if isinstance(error, OSError):
        return Failure(f"Cannot write {path}: {error.strerror or error}. Set PLAYMOLT_SEAL_KEYS or --data.")
    return Failure(str(error))


def _now() -> datetime:
    return datetime.now(UTC)


def _with_rows(data: Path | None, work: Callable[[PgKeyRows], Awaitable[T]]) -> T:
    try:
        return with_database(data, lambda _, pool: work(PgKeyRows(pool)))
    except (InvalidKeyFile, rotation.KeyNeeded, UnsealFailed) as error:
        raise Failure(str(error)) from error

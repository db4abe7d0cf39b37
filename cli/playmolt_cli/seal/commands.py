"""`playmolt seal`: the keys that the keys of sessions are wrapped by."""

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
from playmolt_cli.terminal.options import data_option, json_option, read_settings

T = TypeVar("T")


class KeyRotation(msgspec.Struct, frozen=True):
    """What a rotation did: the id of the key it added, how many sessions moved, the keys that left the file."""

    added: str | None
    rewrapped: int
    dropped: list[str]


@click.group()
def seal() -> None:
    """Replace the keys that the keys of sessions are wrapped by: in the file of PLAYMOLT_SEAL_KEYS.

    `up` does `rotate` by itself, daily.

    Example: playmolt seal rotate
    """


@seal.command()
@data_option
def add(data: Path | None) -> None:
    """Put a new key into the file: what is opened from now on is wrapped by it.

    Example: playmolt seal add
    """
    path = seal_keys_path(data)
    try:
        key = rotation.add(path, _now())
    except (InvalidKeyFile, OSError) as error:
        raise Failure(str(error)) from error
    click.echo(f"{key.id} is the newest key of {path}; `playmolt seal rewrap` puts all sessions under it")


@seal.command()
@data_option
def rewrap(data: Path | None) -> None:
    """Put all sessions under the newest key of the file.

    Example: playmolt seal rewrap
    """
    path = seal_keys_path(data)
    moved = _with_rows(data, lambda rows: rotation.rewrap(rows, path))
    click.echo(f"{moved} sessions put under the newest key of {path}")


@seal.command()
@data_option
def drop(data: Path | None) -> None:
    """Take the keys out of the file that were replaced more than PLAYMOLT_SEAL_KEEP_DAYS ago.

    Refused while a session needs one of them. Backups hold sessions wrapped by old keys: one that is older than these
    days opens none.

    Example: playmolt seal drop
    """
    path, keep = seal_keys_path(data), timedelta(days=read_settings().seal_keep_days)
    gone = _with_rows(data, lambda rows: rotation.drop(rows, path, keep, _now()))
    click.echo(f"{len(gone)} keys left {path}" + "".join(f"\n  {name}" for name in gone))


@seal.command()
@data_option
@json_option
def rotate(data: Path | None, as_json: bool) -> None:
    """Add a key where the newest is older than PLAYMOLT_SEAL_ROTATE_DAYS, then `rewrap` and `drop`.

    Example: playmolt seal rotate --json
    """
    path, settings = seal_keys_path(data), read_settings()
    after, keep = timedelta(days=settings.seal_rotate_days), timedelta(days=settings.seal_keep_days)

    async def work(rows: PgKeyRows) -> tuple[int, Sequence[str]]:
        return await rotation.rewrap(rows, path), await rotation.drop(rows, path, keep, _now())

    try:
        key = rotation.renew(path, after, _now())
    except (InvalidKeyFile, OSError) as error:
        raise Failure(str(error)) from error
    moved, gone = _with_rows(data, work)
    rotated = KeyRotation(key.id if key else None, moved, list(gone))
    if as_json:
        click.echo(msgspec.json.encode(rotated))
    else:
        added = f"{rotated.added} added, " if rotated.added else ""
        click.echo(f"{added}{moved} sessions put under the newest key of {path}, {len(gone)} keys left it")


def _now() -> datetime:
    return datetime.now(UTC)


def _with_rows(data: Path | None, work: Callable[[PgKeyRows], Awaitable[T]]) -> T:
    try:
        return with_database(data, lambda _, pool: work(PgKeyRows(pool)))
    except (InvalidKeyFile, rotation.KeyNeeded, UnsealFailed, OSError) as error:
        raise Failure(str(error)) from error

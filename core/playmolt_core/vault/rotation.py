"""Rotation of key-encryption keys: add a key, rewrap all sessions with it, drop old keys from the file."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

from playmolt_core.ops.folder_lock import locked
from playmolt_core.vault.key_file import KeyEncryptionKey, drawn, read_keys, write_keys
from playmolt_core.vault.rows import PgKeyRows
from playmolt_core.vault.stream_key import UnsealFailed

_AT_ONCE: Final = 500
_UNDER_WAY_SECONDS: Final = 1.0
_TICK: Final = timedelta(milliseconds=1)


class KeyNeeded(RuntimeError):
    """A key cannot be dropped from the file: it wraps sessions."""

    def __init__(self, needed: Mapping[str, int]) -> None:
        counts = ", ".join(f"{sessions} by {kek}" for kek, sessions in needed.items())
        super().__init__(f"sessions are still wrapped ({counts}): run `playmolt seal rewrap` first")


def add(path: Path, now: datetime) -> KeyEncryptionKey:
    """Add a new key to the file, which is created if missing. Raises InvalidKeyFile, OSError."""
    with locked(path.parent):
        return _added(path, now)


def _added(path: Path, now: datetime) -> KeyEncryptionKey:
    """Newer than the others, also after the clock has stepped back."""
    known = read_keys(path) if path.exists() else ()
    key = drawn(max([now, *(each.created_at + _TICK for each in known)]))
    write_keys(path, [*known, key])
    return key


async def rewrap(rows: PgKeyRows, path: Path) -> int:
    """Rewrap all rows with the newest key of the file and return their number. A row that fails stays as it was.

    Raises InvalidKeyFile, LogUnavailable, and UnsealFailed if the file lacks a key.
    """
    keys = {key.id: key for key in read_keys(path)}
    newest = max(keys.values(), key=lambda key: key.created_at)
    moved = 0
    while outdated := await rows.outdated(newest.id, _AT_ONCE):
        for row in outdated:
            kek = keys.get(row.kek)
            if kek is None or row.wrapped is None:
                raise UnsealFailed(f"{row.stream} is wrapped by {row.kek}, which is missing from {path}")
            moved += await rows.rewrap(row, newest.id, newest.wrap(kek.unwrap(row.wrapped)))
    return moved


async def drop(
    rows: PgKeyRows, path: Path, keep: timedelta, now: datetime, *, pause: float = _UNDER_WAY_SECONDS
) -> Sequence[str]:
    """Remove the keys from the file that were replaced longer than `keep` ago, and return their ids.

    Raises KeyNeeded, InvalidKeyFile, LogUnavailable.
    """
    with locked(path.parent):
        return await _dropped(rows, path, now - keep, pause)


async def _dropped(rows: PgKeyRows, path: Path, before: datetime, pause: float) -> Sequence[str]:
    known = read_keys(path)
    dropped = [older.id for newer, older in pairwise(known) if newer.created_at < before]
    if not dropped:
        return ()
    _refuse(await rows.needed(), dropped)
    write_keys(path, [key for key in known if key.id not in dropped])
    await asyncio.sleep(pause)
    try:
        # A session that was just being opened with an old key must not lose it.
        _refuse(await rows.needed(), dropped)
    except BaseException:
        write_keys(path, known)
        raise
    return dropped


def _refuse(needed: Mapping[str, int], dropped: Sequence[str]) -> None:
    if still := {kek: sessions for kek, sessions in needed.items() if kek in dropped}:
        raise KeyNeeded(still)


def renew(path: Path, after: timedelta, now: datetime) -> KeyEncryptionKey | None:
    """`add` a key if there is none or the newest is older than `after`."""
    with locked(path.parent):
        if path.exists() and read_keys(path)[0].created_at >= now - after:
            return None
        return _added(path, now)

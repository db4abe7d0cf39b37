"""Archives old games: writes them to a file, reads it back and checks it, then deletes them from the database."""

import asyncio
import gzip
import hashlib
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from tempfile import mkstemp
from typing import Final

import asyncpg
import msgspec
from playmolt_schemas.records import ZERO_HASH, Record
from playmolt_schemas.registry import games
from playmolt_schemas.shards import Places
from playmolt_schemas.text import escape_line_ends

from playmolt_core.db.pool import Connection, queries, unavailable
from playmolt_core.log.chain import recomputed
from playmolt_core.log.copies.buckets import Bucket
from playmolt_core.log.copies.files import NoRecords, records_in
from playmolt_core.log.port import Archived
from playmolt_core.log.postgres import PostgresLog

TYPES: Final = tuple(game.type for game in games().values() if game.archived)
"""The types that can be archived: nothing reads their streams once they are over."""
SESSION: Final = {"statement_timeout": "10min", "lock_timeout": "10s"}
"""To delete the records of one file may take longer than a service's statements may."""
_SQL = queries("archive")
EVENTS_A_FILE = 100_000
_PAGE = 1_000
_encode = msgspec.json.Encoder().encode


class NotArchived(RuntimeError):
    """The file differs from the log, or the log changed meanwhile: nothing was deleted."""


class FinishedStream(msgspec.Struct, frozen=True):
    stream: str
    version: int
    hash: str


class Archive(msgspec.Struct, frozen=True):
    """A written file and the number of its records that were deleted; the others are results, which stay."""

    file: str
    sha256: str
    streams: int
    events: int
    deleted: int


async def permitted(connection: Connection) -> bool:
    """Whether this login may archive. Raises LogUnavailable, also if the database is not migrated."""
    with unavailable():
        return bool(await connection.fetchval(_SQL["permitted"]))


async def finished(
    connection: Connection, game: str, *, idle_since: datetime, newest: Places, page: int = _PAGE
) -> AsyncIterator[Sequence[FinishedStream]]:
    """The streams that ended before a time and at positions up to `newest` of their shard, oldest first, in pages.

    Raises LogUnavailable.
    """
    created_at, stream = datetime(1970, 1, 1, tzinfo=UTC), ""
    while True:
        with unavailable():
            rows = await connection.fetch(_SQL["finished"], game, created_at, stream, idle_since, list(newest), page)
        if rows:
            yield [FinishedStream(name, version, end.hex()) for name, version, end, _ in rows]
        if len(rows) < page:
            return
        stream, created_at = rows[-1]["stream"], rows[-1]["created_at"]


def batches(streams: Iterable[FinishedStream], events: int = EVENTS_A_FILE) -> Iterator[list[FinishedStream]]:
    """Group streams by file."""
    batch: list[FinishedStream] = []
    size = 0
    for ended in streams:
        if batch and size + ended.version > events:
            yield batch
            batch, size = [], 0
        batch.append(ended)
        size += ended.version
    if batch:
        yield batch


async def archive(
    connection: Connection,
    log: PostgresLog,
    streams: Sequence[FinishedStream],
    folder: Path,
    bucket: Bucket | None = None,
) -> Archive:
    """Write streams to a new file of the folder, read it back, and only then delete them from the log.

    With a bucket the file is also stored there, read back and compared. The file's name depends on its content, so that
    a repeat after a crash makes the same file again. Raises NotArchived, LogUnavailable and OSError, without any loss.
    """
    path, sha256, events = await written(log, streams, folder)
    if bucket:
        await _keep(bucket, path.name, await asyncio.to_thread(path.read_bytes))
    with unavailable():
        try:
            names = _encode(streams).decode()
            deleted = await connection.fetchval(_SQL["prune"], names, path.name, bytes.fromhex(sha256))
        except asyncpg.ObjectNotInPrerequisiteStateError as error:
            raise NotArchived(f"{error}; nothing was archived: delete {path}") from error
    return Archive(path.name, sha256, len(streams), events, deleted)


async def drop_parts(connection: Connection) -> list[str]:
    """Drop the tables of the log whose records were all archived, and name them. Raises LogUnavailable."""
    with unavailable():
        return [name for (name,) in await connection.fetch(_SQL["drop_parts"])]


async def _keep(bucket: Bucket, name: str, body: bytes) -> None:
    await bucket.put(name, body)
    if await bucket.get(name) != body:
        raise NotArchived(f"{bucket.url}/{name} differs when read back: nothing was deleted")


async def written(log: PostgresLog, streams: Sequence[FinishedStream], folder: Path) -> tuple[Path, str, int]:
    """Write streams to a file, flush it to disk and read it back; return it, its SHA-256 and its number of records.

    Raises NotArchived, LogUnavailable and OSError, and then leaves no file.
    """
    with _unfinished(folder) as file:
        first, events = await _write(log, streams, file)
        path, sha256 = _finish(file, streams, first)
    return path, sha256, events


@contextmanager
def _unfinished(folder: Path) -> Iterator[Path]:
    """A new temporary file of this archiver; it is deleted afterwards unless it was renamed."""
    descriptor, name = mkstemp(prefix=".archive-", suffix=".unfinished", dir=folder)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _finish(file: Path, streams: Sequence[FinishedStream], first: int) -> tuple[Path, str]:
    check(file, streams)
    with file.open("rb") as written_file:
        sha256 = hashlib.file_digest(written_file, "sha256").hexdigest()
    path = file.with_name(f"games-{first:012}-{sha256[:12]}.jsonl.gz")
    file.chmod(0o640)
    file.replace(path)
    _sync(path.parent)
    return path, sha256


async def _write(log: PostgresLog, streams: Sequence[FinishedStream], path: Path) -> tuple[int, int]:
    first, events = 0, 0
    with path.open("wb") as raw:
        # No name and no time: the same records give the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
            for ended in streams:
                records = await _records(log, ended.stream)
                file.writelines(escape_line_ends(_encode(record)) + b"\n" for record in records)
                first = first or records[0].position
                events += len(records)
        raw.flush()
        os.fsync(raw.fileno())
    return first, events


async def _records(log: PostgresLog, stream: str) -> Sequence[Record]:
    try:
        stored = await log.load(stream)
    except Archived as error:
        raise NotArchived(f"{stream} was archived meanwhile by another process") from error
    if stored is None or not stored.records:
        raise NotArchived(f"{stream} holds no records: run `playmolt log verify`")
    return stored.records


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check(path: Path, streams: Sequence[FinishedStream]) -> None:
    """Check that a file holds exactly these streams, each complete. Raises NotArchived."""
    try:
        found = [_end(stream, records) for stream, records in groupby(records_in(path), lambda record: record.stream)]
    except NoRecords as error:
        raise NotArchived(str(error)) from error
    if found != list(streams):
        raise NotArchived(f"{path} does not hold the streams that the log has: nothing was deleted")


def _end(stream: str, records: Iterable[Record]) -> FinishedStream:
    version, last = 0, ZERO_HASH
    for record in records:
        if (record.version, record.prev_hash) != (version + 1, last) or recomputed(record) != record.hash:
            raise NotArchived(f"the hash chain of {stream} breaks at event {record.version}: nothing was deleted")
        version, last = record.version, record.hash
    return FinishedStream(stream, version, last)

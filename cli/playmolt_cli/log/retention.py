"""Applies retention periods (docs/retention.md): erases sessions, deletes experiment texts and archive files."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from playmolt_core.db.pool import Pool
from playmolt_core.log.copies.buckets import SCHEME
from playmolt_core.log.erasing import SessionEraser

from playmolt_cli.log.stored_copies import archive_bucket
from playmolt_cli.settings import CliSettings


class RetentionReport(msgspec.Struct, frozen=True):
    """Number of erased sessions by kind, number of deleted texts, and the deleted files."""

    legal: int
    jury: int
    texts: int
    files: Sequence[str]


async def erase_due(pool: Pool, settings: CliSettings, now: datetime) -> RetentionReport:
    """Raises LogUnavailable, PlaceAway, OSError and ErasingOvertaken; completed work is kept."""
    eraser = SessionEraser(pool)
    return RetentionReport(
        legal=await _sessions(eraser, "legal", settings.keep_legal_days, now),
        jury=await _sessions(eraser, "jury", settings.keep_jury_days, now),
        texts=await eraser.forget_texts(_before(settings.keep_blobs_days, now)) if settings.keep_blobs_days else 0,
        files=await _files(eraser, settings, now) if settings.keep_archive_days and settings.archive_url else (),
    )


def _before(days: int, now: datetime) -> datetime:
    return now - timedelta(days=days)


async def _sessions(eraser: SessionEraser, kind: str, days: int, now: datetime) -> int:
    erased = 0
    while days and (idle := await eraser.idle(kind, _before(days, now))):
        for stream in idle:
            await eraser.erase(stream, "retention")
        erased += len(idle)
    return erased


async def _files(eraser: SessionEraser, settings: CliSettings, now: datetime) -> Sequence[str]:
    old = await eraser.old_archives(_before(settings.keep_archive_days, now))
    if settings.archive_url.startswith(SCHEME):
        bucket = archive_bucket(settings.archive_url)
        there = set(await bucket.names()) if old else set[str]()
        for name in (deleted := [name for name in old if name in there]):
            await bucket.delete(name)
        return deleted
    files = [file for name in old if (file := Path(settings.archive_url) / name).is_file()]
    for file in files:
        file.unlink()
    return [file.name for file in files]

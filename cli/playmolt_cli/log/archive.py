"""`playmolt log archive`: moves old games from the database to files."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from playmolt_core.db.pool import close, connect, open_pool
from playmolt_core.log import archive as archiving
from playmolt_core.log.archive import Archive, FinishedStream, NotArchived
from playmolt_core.log.copies.buckets import SCHEME, Bucket, PlaceUnavailable
from playmolt_core.log.postgres import log_of
from playmolt_core.log.reading import places
from playmolt_schemas.identifiers import GAME_TYPES

from playmolt_cli.local.database import database
from playmolt_cli.log.stored_copies import archive_bucket
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, echo_json, json_option, read_settings


@click.command()
@click.option(
    "--out",
    default="",
    metavar="PLACE",
    help="Folder for the files, or s3://BUCKET/PREFIX. Default: PLAYMOLT_ARCHIVE_URL.",
)
@click.option(
    "--idle-days",
    type=click.IntRange(0, 36_500),
    metavar="N",
    help="Keep games with events in the last N days. Default: PLAYMOLT_ARCHIVE_DAYS; if that is 0, nothing is "
    "archived.",
)
@click.option(
    "--game",
    "games",
    type=click.Choice(archiving.TYPES),
    multiple=True,
    help="Archive this game type. Repeatable. Default: bot games. Archived legal and jury sessions disappear from "
    "their owner's list.",
)
@data_option
@json_option
def archive(out: str, idle_days: int | None, games: Sequence[str], data: Path | None, as_json: bool) -> None:
    """Write finished games to files, verify the files, then delete the games from the database.

    Files in an object store are read back and compared, too. `log verify` and `replay --log` also accept s3://….

    Empty tables of the log are dropped, which frees their disk space at once.

    Each game's result (for leaderboards) and a register of game ends and files remain in the database, as do games
    among the newest PLAYMOLT_STREAM_EVENTS events; use the relay's value. Requires the login that runs migrations.

    Example: playmolt log archive --out /backup/games --idle-days 90
    """
    settings = read_settings()
    place, days = out or settings.archive_url, settings.archive_days if idle_days is None else idle_days
    if not place:
        raise Failure("Set the place for the files with --out or PLAYMOLT_ARCHIVE_URL.")
    keep_all = idle_days is None and not days
    done, dropped = archived(data, place, () if keep_all else games or GAME_TYPES, days, verbose=not as_json)
    if as_json:
        echo_json({"archives": done, "dropped": dropped})
        return
    if not done:
        click.echo("nothing to archive")
    for name in dropped:
        click.echo(f"dropped {name}")


def archived(
    data: Path | None,
    place: str,
    games: Sequence[str],
    days: int,
    *,
    verbose: bool,
    file_events: int = archiving.EVENTS_A_FILE,
) -> tuple[list[Archive], list[str]]:
    """Archive and drop what the log no longer needs; returns the archives written and the tables dropped."""
    before = datetime.now(UTC) - timedelta(days=days)
    try:
        with database(data) as url, _folder(place) as folder:
            bucket = archive_bucket(place) if place.startswith(SCHEME) else None
            written = _archive(url, folder, bucket, games, before, verbose=verbose, file_events=file_events)
            return asyncio.run(written)
    except (NotArchived, PlaceUnavailable) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _folder(place: str) -> Iterator[Path]:
    """Folder for the files: the place itself, or a temporary folder before an upload."""
    if place.startswith(SCHEME):
        with TemporaryDirectory(prefix="playmolt-archive-") as made:
            yield Path(made)
        return
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


async def _archive(
    url: str,
    folder: Path,
    bucket: Bucket | None,
    games: Sequence[str],
    idle_since: datetime,
    *,
    verbose: bool,
    file_events: int,
) -> tuple[list[Archive], list[str]]:
    connection = await connect(url, session=archiving.SESSION)
    pool = await open_pool(url, writes=True)
    try:
        if not await archiving.permitted(connection):
            raise Failure("Only the login that runs migrations may archive. Set its DATABASE_URL.")
        log = await log_of(pool)
        kept = read_settings().stream_events // log.shards
        newest = tuple([end - kept for end in await places(log)])
        streams: list[FinishedStream] = []
        for game in games:
            async for page in archiving.finished(connection, game, idle_since=idle_since, newest=newest):
                streams += page
        done = []
        for batch in archiving.batches(streams, file_events):
            done.append(await archiving.archive(connection, log, batch, folder, bucket))
            if verbose:
                click.echo(_line(done[-1]))
        return done, await archiving.drop_parts(connection)
    finally:
        await pool.close()
        await close(connection)


def _line(done: Archive) -> str:
    return f"{done.file}: {done.events} records of {done.streams} games, {done.deleted} deleted"

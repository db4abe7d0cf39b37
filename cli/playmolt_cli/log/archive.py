"""`playmolt log archive`: old games out of the database into files."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import msgspec
from playmolt_core.db.pool import close, connect, open_pool
from playmolt_core.log import archive as archiving
from playmolt_core.log.archive import Archive, Ended, NotArchived
from playmolt_core.log.copies.buckets import SCHEME, Bucket, PlaceAway
from playmolt_core.log.postgres import log_of
from playmolt_core.log.reading import places
from playmolt_schemas.identifiers import GAME_TYPES

from playmolt_cli.local.database import database
from playmolt_cli.log.stored_copies import archive_bucket
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, json_option, read_settings


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
    help="Leave games in which something happened in the last N days. Default: PLAYMOLT_ARCHIVE_DAYS; where that is 0, "
    "too, all of them stay.",
)
@click.option(
    "--game",
    "games",
    type=click.Choice(archiving.TYPES),
    multiple=True,
    help="Archive this type; may be repeated. Default: the games of bots. A session of a person (legal, jury) is then "
    "gone from that person's list.",
)
@data_option
@json_option
def archive(out: str, idle_days: int | None, games: Sequence[str], data: Path | None, as_json: bool) -> None:
    """Write finished games to files, read those back, and then delete the games from the database.

    In an object store, too, each file is read back and compared. `log verify` and `replay --log` take s3://… as well.

    Tables of the log in which nothing is left are dropped, so that their room on the disk is free at once.

    What stays is each game's result, for leaderboards, and a register with every game's end and file. Games among the
    newest PLAYMOLT_STREAM_EVENTS events stay, too: set it as the relay has it. It takes the login that migrates.

    Example: playmolt log archive --out /backup/games --idle-days 90
    """
    settings = read_settings()
    place, days = out or settings.archive_url, settings.archive_days if idle_days is None else idle_days
    if not place:
        raise Failure("say where the files go: --out, or PLAYMOLT_ARCHIVE_URL")
    for_ever = idle_days is None and not days
    done, dropped = _archived(data, place, () if for_ever else games or GAME_TYPES, days, told=not as_json)
    if as_json:
        click.echo(msgspec.json.encode({"archives": done, "dropped": dropped}))
        return
    if not done:
        click.echo("nothing to archive")
    for name in dropped:
        click.echo(f"dropped {name}")


def _archived(
    data: Path | None, place: str, games: Sequence[str], days: int, *, told: bool
) -> tuple[list[Archive], list[str]]:
    """What was written to files, and the tables that were dropped."""
    before = datetime.now(UTC) - timedelta(days=days)
    try:
        with database(data) as url, _folder(place) as folder:
            bucket = archive_bucket(place) if place.startswith(SCHEME) else None
            return asyncio.run(_archive(url, folder, bucket, games, before, told=told))
    except (NotArchived, PlaceAway) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _folder(place: str) -> Iterator[Path]:
    """Where files are written first: the place itself, or a folder that is gone afterwards."""
    if place.startswith(SCHEME):
        with TemporaryDirectory(prefix="playmolt-archive-") as made:
            yield Path(made)
        return
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


async def _archive(
    url: str, folder: Path, bucket: Bucket | None, games: Sequence[str], idle_since: datetime, *, told: bool
) -> tuple[list[Archive], list[str]]:
    connection = await connect(url, session=archiving.SESSION)
    pool = await open_pool(url, writes=True)
    try:
        if not await archiving.permitted(connection):
            raise Failure("only the login that migrates may archive: its DATABASE_URL is needed here")
        log = await log_of(pool)
        kept = read_settings().stream_events // log.shards
        newest = tuple([end - kept for end in await places(log)])
        streams: list[Ended] = []
        for game in games:
            async for page in archiving.finished(connection, game, idle_since=idle_since, newest=newest):
                streams += page
        done = []
        for batch in archiving.batches(streams):
            done.append(await archiving.archive(connection, log, batch, folder, bucket))
            if told:
                click.echo(_line(done[-1]))
        return done, await archiving.drop_parts(connection)
    finally:
        await pool.close()
        await close(connection)


def _line(done: Archive) -> str:
    return f"{done.file}: {done.events} records of {done.streams} games, {done.deleted} deleted"

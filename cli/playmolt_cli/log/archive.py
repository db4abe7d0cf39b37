"""`playmolt log archive`: old games out of the database into files."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec
from playmolt_core.db.pool import close, connect, open_pool
from playmolt_core.log import archive as archiving
from playmolt_core.log.archive import Archive, Ended, NotArchived
from playmolt_core.log.postgres import PostgresLog
from playmolt_schemas.identifiers import GAME_TYPES

from playmolt_cli.local.database import database
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, json_option, read_settings


@click.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder for the files.")
@click.option(
    "--idle-days",
    type=click.IntRange(0, 36_500),
    default=30,
    show_default=True,
    metavar="N",
    help="Leave games in which something happened in the last N days.",
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
def archive(out: Path, idle_days: int, games: Sequence[str], data: Path | None, as_json: bool) -> None:
    """Write finished games to files, read those back, and then delete the games from the database.

    What stays is each game's result, for leaderboards, and a register with every game's end and file. Games among the
    newest PLAYMOLT_STREAM_EVENTS events stay, too: set it as the relay has it. It takes the login that migrates.

    Example: playmolt log archive --out /backup/games --idle-days 90
    """
    out.mkdir(parents=True, exist_ok=True)
    before = datetime.now(UTC) - timedelta(days=idle_days)
    with database(data) as url:
        try:
            done = asyncio.run(_archive(url, out, games or GAME_TYPES, before, told=not as_json))
        except NotArchived as error:
            raise Failure(str(error)) from error
    if as_json:
        click.echo(msgspec.json.encode({"archives": done}))
    elif not done:
        click.echo("nothing to archive")


async def _archive(url: str, out: Path, games: Sequence[str], idle_since: datetime, *, told: bool) -> list[Archive]:
    connection = await connect(url, session=archiving.SESSION)
    pool = await open_pool(url, writes=True)
    try:
        if not await archiving.permitted(connection):
            raise Failure("only the login that migrates may archive: its DATABASE_URL is needed here")
        log = PostgresLog(pool)
        newest = await log.position() - read_settings().stream_events
        streams: list[Ended] = []
        for game in games:
            async for page in archiving.finished(connection, game, idle_since=idle_since, newest=newest):
                streams += page
        done = []
        for batch in archiving.batches(streams):
            done.append(await archiving.archive(connection, log, batch, out))
            if told:
                click.echo(_line(done[-1]))
        return done
    finally:
        await pool.close()
        await close(connection)


def _line(done: Archive) -> str:
    return f"{done.file}: {done.events} records of {done.streams} games, {done.deleted} deleted"

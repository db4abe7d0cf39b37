"""`playmolt dataset`: builds datasets of finished public games."""

import shutil
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

import click
from playmolt_core.db.moderation import PgModeration
from playmolt_core.db.pool import Pool
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.withholding import WithheldReader

from playmolt_cli.dataset.files import DatasetManifest, ListedGame, ParquetFiles, write_metadata
from playmolt_cli.dataset.games import PersonNames, finished_games, games_in
from playmolt_cli.games import deciders, with_packs
from playmolt_cli.log.reading import with_database
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, read_settings

_HOME: Final = "https://playmolt.invalid"
"""The address of a platform without PLAYMOLT_PUBLIC_URL: metadata needs one."""


@click.group()
def dataset() -> None:
    """Build datasets of finished public games.

    Example: playmolt dataset build --from 2026-11-01 --to 2026-12-01 --out games
    """


class _Day(click.ParamType[date]):
    name = "YYYY-MM-DD"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> date:
        try:
            day = date.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a day. Use YYYY-MM-DD.", param, ctx)
        if not date(2000, 1, 1) <= day <= date(9000, 1, 1):
            self.fail(f"{value} is not a day between 2000 and 9000.", param, ctx)
        return day


@dataset.command()
@click.option("--from", "since", type=_Day(), required=True, help="First day (UTC).")
@click.option("--to", "until", type=_Day(), required=True, help="Day after the last one (UTC).")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="New folder.")
@data_option
def build(since: date, until: date, out: Path, data: Path | None) -> None:
    """Write the public games that ended in a range of days as Parquet, with their metadata.

    OUT/TYPE/YYYY-MM.parquet has a row for each event of a game, as spectators saw it. OUT/croissant.json describes the
    files, OUT/CITATION.cff says how to cite them, and OUT/manifest.json has the hash of each game's last record.

    Owners are left out; people are person-N, without names and texts. The same range gives the same bytes again, once
    its days are over.

    Example: playmolt dataset build --from 2026-11-01 --to 2026-12-01 --out games
    """
    if until <= since:
        raise click.UsageError("--to must be after --from; it is the day after the last one.")
    if out.exists() and any(out.iterdir()):
        raise Failure(f"{out} is not empty. Choose a new folder.")
    unfinished = out.with_name(f".{out.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        manifest, archived = with_database(data, lambda log, pool: _build(log, pool, unfinished, since, until))
        settings = read_settings()
        url = f"{str(getattr(settings, 'public_url', '')).rstrip('/') or _HOME}/datasets/"
        write_metadata(unfinished, manifest, since, until, license_name=settings.dataset_license, url=url)
        if out.exists():
            out.rmdir()
        unfinished.replace(out)
    except ImportError as error:
        raise Failure("Parquet needs pyarrow. Install playmolt-core[parquet].") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    rows = sum(file.rows for file in manifest.files)
    click.echo(f"{len(manifest.games)} games, {rows} events in {out}", err=True)
    if archived:
        click.echo(f"{archived} more games of this range are archived and not in it", err=True)


async def _build(log: PostgresLog, pool: Pool, folder: Path, since: date, until: date) -> tuple[DatasetManifest, int]:
    rules = deciders()
    await with_packs(rules, pool)
    following = WithheldReader(PgModeration(pool))
    await following.refresh()
    begin, end = (datetime.combine(day, datetime.min.time(), UTC) for day in (since, until))
    streams, archived = await finished_games(log, begin, end)
    listed: list[ListedGame] = []
    with ParquetFiles(folder) as files:
        async for game, moves in games_in(log, rules, streams, PersonNames(), following.withheld):
            files.add(game, moves)
            listed.append(ListedGame(game.game_id, game.hash))
    return DatasetManifest(files.listed(), listed), archived

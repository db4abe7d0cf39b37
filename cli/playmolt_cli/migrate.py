"""`playmolt migrate`: bring a database to the present schema."""

import asyncio
import json
from pathlib import Path

import click
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.migrate import MigrationRefused, Phase, await_database
from playmolt_core.db.migrate import migrate as apply
from playmolt_core.settings import OtherShards

from playmolt_cli.local.database import database
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, json_option, read_settings


class NotMigrated(Failure):
    """The call was right, and the database is not where this release needs it."""

    exit_code = 1


@click.command()
@click.option(
    "--phase",
    type=click.Choice(["pre", "post", "all"]),
    default="all",
    show_default=True,
    help="`pre` before the new code runs, `post` once no old code does.",
)
@click.option(
    "--wait",
    "seconds",
    type=click.FloatRange(0, 86_400),
    default=0,
    show_default=True,
    metavar="SECONDS",
    help="Wait so long for the database and its roles.",
)
@data_option
@json_option
def migrate(phase: Phase, seconds: float, data: Path | None, as_json: bool) -> None:
    """Apply the migrations that are missing. `up` does it by itself.

    On a database where nothing is applied yet, `--phase pre` applies all. Exit status 1 when it refuses, and when the
    database was waited for in vain.

    Example: DATABASE_URL=postgresql://… playmolt migrate --phase pre
    """
    with database(data) as url:
        try:
            if seconds:
                asyncio.run(await_database(url, seconds))
        except LogUnavailable as error:
            raise NotMigrated(str(error)) from error
        try:
            applied = asyncio.run(apply(url, phase, shards=read_settings().log_shards))
        except (MigrationRefused, OtherShards) as error:
            raise NotMigrated(str(error)) from error
    if as_json:
        click.echo(json.dumps({"applied": applied}))
    else:
        click.echo("\n".join(f"applied {name}" for name in applied) or "up to date")

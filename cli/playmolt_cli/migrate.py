"""`playmolt migrate`: brings a database to the current schema."""

import asyncio
from pathlib import Path

import click
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.migrate import MigrationRefused, Phase, await_database
from playmolt_core.db.migrate import migrate as apply
from playmolt_core.settings import OtherShards

from playmolt_cli.local.database import database
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import FiniteRange, data_option, echo_json, json_option, read_settings


class NotMigrated(Failure):
    """The command line is valid, but the database could not be migrated."""

    exit_code = 1


@click.command()
@click.option(
    "--phase",
    type=click.Choice(["pre", "post", "all"]),
    default="all",
    show_default=True,
    help="`pre` before the new code starts, `post` after the old code has stopped.",
)
@click.option(
    "--wait",
    "seconds",
    type=FiniteRange(0, 86_400),
    default=0,
    show_default=True,
    metavar="SECONDS",
    help="Wait up to this long for the database and its roles.",
)
@data_option
@json_option
def migrate(phase: Phase, seconds: float, data: Path | None, as_json: bool) -> None:
    """Apply pending migrations. `up` does this automatically.

    On a new database, `--phase pre` applies all migrations. Exit status 1 if a migration is refused or --wait expires.

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
        echo_json({"applied": applied})
    else:
        click.echo("\n".join(f"applied {name}" for name in applied) or "up to date")

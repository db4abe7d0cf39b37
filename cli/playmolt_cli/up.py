"""`playmolt up`: everything on one machine."""

import asyncio
import os
import signal
import socket
from functools import partial
from pathlib import Path

import click
from msgspec.structs import replace
from playmolt_core.bus.connection import check_server
from playmolt_core.db.migrate import MigrationRefused, counted_shards, migrate
from playmolt_core.db.pool import close, connect
from playmolt_core.llm.catalogue import load
from playmolt_core.settings import OtherShards, sound
from playmolt_jury.chain import deployer_key
from playmolt_schemas.identifiers import ENGINES

from playmolt_cli.local.folder import Folder
from playmolt_cli.local.services import Counts
from playmolt_cli.local.supervisor import Supervisor
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import PORT, data_option, read_settings

_REPLICAS = click.IntRange(1, 64)


def _report(line: str) -> None:
    """Print a line; drop it if the output has no space left."""
    try:
        click.echo(line)
    except BrokenPipeError:  # the reader has closed the pipe
        raise
    except OSError:
        return


def announce(name: str, text: str) -> None:
    """Print a line about a service."""
    _report(f"{name:<16} {text}")


def _migrate(url: str, shards: int | None) -> int:
    """Apply migrations; returns the number of shards. Raises Failure for a foreign log."""
    try:
        applied, present = asyncio.run(_migrated(url, shards))
    except (MigrationRefused, OtherShards) as error:
        raise Failure(str(error)) from error
    announce("migrations", f"{len(applied)} applied" if applied else "up to date")
    return present


async def _migrated(url: str, shards: int | None) -> tuple[list[str], int]:
    applied = await migrate(url, "all", shards=shards)
    connection = await connect(url)
    try:
        return applied, await counted_shards(connection, shards)
    finally:
        await close(connection)


def _checked_packs(named: str, further: tuple[Path, ...]) -> str:
    """Check the packs before engines start; returns their folders."""
    folders = [*map(Path, filter(None, named.split(os.pathsep))), *further]
    if not folders:
        return ""
    from playmolt_cli.content.packs import check_folder  # noqa: PLC0415 -- slow import that only packs need

    faults = [f"{folder}/{fault}" for folder in folders for fault in check_folder(folder)]
    if faults:
        raise Failure("\n".join(faults))
    return os.pathsep.join(str(folder.resolve()) for folder in folders)


@click.command()
@click.option("--port", type=PORT, help="Port of the gateway; 0 picks a free one. Default: PLAYMOLT_PORT, else 8080.")
@click.option("--spectator-port", type=PORT, help="Port of the spectator. Default: PLAYMOLT_SPECTATOR_PORT, else 8081.")
@data_option
@click.option("--engines", type=_REPLICAS, default=1, show_default=True, help="Engines per game type.")
@click.option("--gateways", type=_REPLICAS, default=1, show_default=True, help="Gateways that share the port.")
@click.option("--spectators", type=_REPLICAS, default=1, show_default=True, help="Spectators that share the port.")
@click.option(
    "--pack", "packs", type=click.Path(path_type=Path, exists=True, file_okay=False), multiple=True, metavar="FOLDER",
    help="Folder of a pack of cases or questions to offer, in addition to PLAYMOLT_PACKS. Repeatable.",
)  # fmt: skip
@click.option("--only", type=click.Choice(sorted(ENGINES)), multiple=True, hidden=True, help="An engine to start.")
@click.option("--forks", type=int, hidden=True, help="A descriptor that leads to a fork server.")
def up(
    port: int | None,
    spectator_port: int | None,
    data: Path | None,
    engines: int,
    gateways: int,
    spectators: int,
    packs: tuple[Path, ...],
    only: tuple[str, ...],
    forks: int | None,
) -> None:
    """Run the whole platform on this machine until Ctrl-C.

    Starts Postgres and NATS unless DATABASE_URL and NATS_URL are set, and restarts processes that fail. All data is
    stored in the data folder; the next `up` on that folder continues every game.

    Example: playmolt up --port 8080 --data playmolt-data
    """
    settings = read_settings(port=port, spectator_port=spectator_port, data=str(data) if data else None)
    settings = sound(replace(settings, packs=_checked_packs(settings.packs, packs)))  # or gateways restart in a loop
    if settings.nats_url:
        asyncio.run(check_server(settings))
    load(settings.models, os.environ)  # an invalid catalogue would make engines restart in a loop
    try:
        deployer_key(settings.evm_rpc_url, settings.evm_deployer_key)
    except ValueError as error:  # otherwise the engine would restart in a loop
        raise Failure(str(error)) from error
    folder = Folder(settings.data)
    folder.lock()
    channel = None if forks is None else socket.socket(fileno=forks)
    supervisor = Supervisor(folder, settings, Counts(engines, gateways, spectators, only), announce, channel)
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda *_: supervisor.ask_stop())
    try:
        supervisor.start(partial(_migrate, shards=settings.log_shards))
        supervisor.await_ready()
        run = supervisor.describe()
        if run.ready:
            announce("spectator", run.spectator)
            announce(
                "operator key", "PLAYMOLT_OPERATOR_KEY" if settings.operator_key else str(folder.operator_key_file)
            )
            _report(f"ready {run.gateway}")
        supervisor.run()
    finally:
        supervisor.stop()
    announce("stopped", f"data is in {folder.path}")

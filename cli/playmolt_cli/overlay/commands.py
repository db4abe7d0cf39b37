"""`playmolt deploy`: the Kubernetes overlay of an engine that came with another distribution."""

import os
from pathlib import Path

import click
from playmolt_core.service.engine_module import engines
from playmolt_schemas.registry import games

from playmolt_cli.overlay.overlay import TARGETS, Target, overlay
from playmolt_cli.terminal.failures import Failure


@click.command()
@click.argument("game")
@click.option("--on", "target", type=click.Choice(TARGETS), default="dev", show_default=True, help="What it adds to.")
@click.option(
    "--overlays",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path("deploy/k8s/overlays"),
    show_default=True,
    help="The platform's overlays.",
)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def deploy(game: str, target: Target, overlays: Path, folder: Path) -> None:
    """Write the Kubernetes overlay that adds the engine of GAME to the platform, into FOLDER.

    Example: playmolt deploy chess overlay --on prod, then kubectl apply -k overlay
    """
    module = games().get(game)
    if module is None:
        raise Failure(f"no game {game!r} is installed: there are {', '.join(games())}")
    engine = engines()[module.service]
    if (overlays.parent / "base" / engine.service).exists():
        raise Failure(f"the platform's own manifests hold {engine.service} already")
    folder.mkdir(parents=True, exist_ok=True)
    platform = os.path.relpath((overlays / target).resolve(), folder.resolve())
    for name, content in overlay(engine, target, platform).items():
        (folder / name).write_text(content, encoding="utf-8")
        click.echo(str(folder / name))

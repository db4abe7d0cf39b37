"""`playmolt deploy`: a kustomize overlay that adds an engine to the platform without changing its manifests."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

import click
from playmolt_core.db.logins import ENGINE_ROLE, game_role
from playmolt_core.game.engine_module import EngineModule, engines
from playmolt_schemas.registry import games

from playmolt_cli.local.embedded.nats import users
from playmolt_cli.overlay.manifests import METRICS, OWN, SCALING, TLS, manifest
from playmolt_cli.terminal.failures import Failure

Target = Literal["dev", "prod"]
TARGETS: Final[tuple[Target, ...]] = ("dev", "prod")
SHARDS: Final[Mapping[Target, int]] = {"dev": 1, "prod": 4}
"""Shards of the log in the platform's overlays."""
_OPENED: Final = ("nats", "postgres", "otel-collector")
"""Servers that must admit the engine; the first ingress rule of each policy lists its clients."""


def variable(user: str) -> str:
    """The environment variable of a user's password."""
    return f"{user.upper().replace('-', '_')}_PASSWORD"


def bare_variables(text: str) -> str:
    """Remove the quotes around variables; NATS does not expand quoted ones."""
    return re.sub(r'"(\$\w+_PASSWORD)"', r"\1", text)


def nats_users(shards: int) -> str:
    """The `users` section of the NATS configuration, including every installed engine."""
    text = json.dumps(users(lambda user: f"${variable(user)}", shards), indent=2)
    return f"users: {bare_variables(text)}\n"


def overlay(engine: EngineModule, target: Target, platform: str, shards: int | None = None) -> Mapping[str, str]:
    """File name → content. `platform` is the relative path from this overlay to the platform's overlay.

    `shards` overrides the number of shards of that overlay.
    """
    own = {name: manifest(name, engine) for name in (*OWN, *((SCALING, METRICS) if target == "prod" else ()))}
    login = {f"40-{engine.service}.sh": _login(engine)} if target == "dev" else {}
    page = _kustomization(engine, own, login, platform)
    return {**own, **login, "users.conf": nats_users(shards or SHARDS[target]), "kustomization.yaml": page}


def _kustomization(engine: EngineModule, own: Mapping[str, str], login: Mapping[str, str], platform: str) -> str:
    patches = [_patch("NetworkPolicy", server, "/spec/ingress/0/from/-", _source(engine.service)) for server in _OPENED]
    patches.append(_password("nats", engine.service, "nats-password"))
    maps: list[dict[str, object]] = [{"name": "nats", "behavior": "merge", "files": ["users.conf"]}]
    if login:
        patches.append(_password("postgres", engine.service, "password"))
        maps.append({"name": "postgres-first-start", "behavior": "merge", "files": list(login)})
    else:
        patches.append({"target": _target("Deployment", engine.service), "patch": manifest(TLS, engine)})
        patches += [_patch("Cluster", "postgres", "/spec/managed/roles/-", role) for role in _roles(engine)]
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "playmolt",
        "resources": [platform, *own],
        "patches": patches,
        "configMapGenerator": maps,
    }
    return json.dumps(document, indent=2) + "\n"  # JSON is YAML


def _patch(kind: str, name: str, path: str, value: object) -> dict[str, object]:
    return {"target": _target(kind, name), "patch": json.dumps([{"op": "add", "path": path, "value": value}])}


def _target(kind: str, name: str) -> dict[str, object]:
    return {"kind": kind, "name": f"^{name}$"}


def _password(server: str, service: str, key: str) -> dict[str, object]:
    reference = {"name": f"{service}-credentials", "key": key}
    entry = {"name": variable(service), "valueFrom": {"secretKeyRef": reference}}
    return _patch("StatefulSet", server, "/spec/template/spec/containers/0/env/-", entry)


def _source(service: str) -> dict[str, object]:
    return {"podSelector": {"matchLabels": {"playmolt/component": service}}}


def _game_roles(engine: EngineModule) -> list[str]:
    return [game_role(game) for game in engine.deciders]


def _roles(engine: EngineModule) -> Iterator[dict[str, object]]:
    """A role for each of its game types (no other engine reads their streams), and a login with these roles."""
    for name in _game_roles(engine):
        yield {"name": name, "ensure": "present", "login": False}
    yield {
        "name": engine.service,
        "ensure": "present",
        "login": True,
        "inherit": True,
        "inRoles": [ENGINE_ROLE, *_game_roles(engine)],
        "passwordSecret": {"name": f"{engine.service}-credentials"},
    }


def _login(engine: EngineModule) -> str:
    types = "".join(f'CREATE ROLE "{name}" NOLOGIN;\n' for name in _game_roles(engine))
    groups = ", ".join(f'"{name}"' for name in (ENGINE_ROLE, *_game_roles(engine)))
    return (
        "# A login for the engine, with the rights of its group and of its types.\n"
        "psql --no-psqlrc --set ON_ERROR_STOP=1 --username postgres --dbname playmolt \\\n"
        f"  --set password=\"${{{variable(engine.service)}:?}}\" <<'SQL'\n"
        f"{types}CREATE ROLE \"{engine.service}\" LOGIN PASSWORD :'password' IN ROLE {groups};\n"
        "SQL\n"
    )


@click.command()
@click.argument("game")
@click.option(
    "--on", "target", type=click.Choice(TARGETS), default="dev", show_default=True, help="Platform overlay to extend."
)
@click.option(
    "--overlays",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path("deploy/k8s/overlays"),
    show_default=True,
    help="Folder of the platform's overlays.",
)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def deploy(game: str, target: Target, overlays: Path, folder: Path) -> None:
    """Write a Kubernetes overlay to FOLDER that adds the engine of GAME to the platform.

    Example: playmolt deploy chess overlay --on prod, then kubectl apply -k overlay
    """
    module = games().get(game)
    if module is None:
        raise Failure(f"No game {game!r} is installed. Choose from {', '.join(games())}.")
    engine = engines()[module.service]
    if (overlays.parent / "base" / engine.service).exists():
        raise Failure(f"The platform's own manifests already include {engine.service}.")
    folder.mkdir(parents=True, exist_ok=True)
    platform = os.path.relpath((overlays / target).resolve(), folder.resolve())
    for name, content in overlay(engine, target, platform).items():
        (folder / name).write_text(content, encoding="utf-8")
        click.echo(str(folder / name))

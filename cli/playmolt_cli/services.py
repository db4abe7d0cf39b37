"""Which processes make up the platform, and what each is told."""

import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from subprocess import Popen

import msgspec
from msgspec.structs import replace
from playmolt_core.settings import Settings, to_environment, variables
from playmolt_schemas.identifiers import GAME_TYPES

from playmolt_cli import probe
from playmolt_cli.embedded import child, free_port
from playmolt_cli.probe import Readiness


class Counts(msgspec.Struct, frozen=True):
    """How many processes of each kind."""

    engines: int = 1
    gateways: int = 1
    spectators: int = 1


class Program(msgspec.Struct, frozen=True):
    """A process to keep alive: how it is started and how one sees that it is ready.

    Programs stop in the order of `rank`, the lowest first.
    """

    name: str
    rank: int
    start: Callable[[], Popen[bytes]]
    ready: Callable[[], Readiness]
    log: Path
    health: str = ""
    """URL of its /readyz; empty for a server that has none."""
    stop_signal: int = signal.SIGTERM


_MODULES = {
    "relay": "playmolt_core.relay",
    "gateway": "playmolt_gateway",
    "spectator": "playmolt_spectator",
    **{f"{game}-engine": f"playmolt_{game}" for game in GAME_TYPES},
}
_ROLES = {"relay": "playmolt_relay", "gateway": "playmolt_gateway", "spectator": ""}
_RANKS = {"gateway": 0, "spectator": 1, "relay": 3}
_ENGINE_RANK = 2


def service_settings(service: str, common: Settings, passwords: Mapping[str, str]) -> Settings:
    """Give a service its part of the settings: its own NATS user and database role, and no secret of another's.

    Without `passwords` (NATS from outside) the user of the environment stays. The spectator gets no database.
    """
    mine = replace(common, database_role=_ROLES.get(service, "playmolt_engine"), data=Settings().data)
    if passwords:
        mine = replace(mine, nats_user=service, nats_password=passwords[service])
    if service == "spectator":
        mine = replace(mine, database_url="")
    if service != "gateway":
        mine = replace(mine, operator_key="")
    return mine


def environment(settings: Settings) -> dict[str, str]:
    """Give a child's environment: this process's own, with exactly the given settings."""
    known = {variable for variable, _, _ in variables().values()}
    kept = {name: value for name, value in os.environ.items() if name not in known}
    return kept | to_environment(settings)


def listen(host: str, port: int) -> socket.socket:
    """Open the socket that all replicas of a service share, so that none refuses a caller while one restarts."""
    shared = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=4096)
    shared.setblocking(False)
    return shared


def address(shared: socket.socket) -> str:
    """Give the URL at which a shared socket is reached from this machine."""
    host, port = shared.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 -- compared
    return f"http://{host}:{port}"


def programs(
    common: Settings,
    passwords: Mapping[str, str],
    counts: Counts,
    sockets: Mapping[str, socket.socket],
    log_of: Callable[[str], Path],
) -> list[Program]:
    """Give the services in the order in which they are started. `sockets` holds those of gateway and spectator."""
    numbers = {"relay": 1, **{f"{game}-engine": counts.engines for game in GAME_TYPES}}
    numbers |= {"gateway": counts.gateways, "spectator": counts.spectators}
    return [
        _program(service, f"{service}-{number}", service_settings(service, common, passwords), sockets, log_of)
        for service, count in numbers.items()
        for number in range(1, count + 1)
    ]


def _program(
    service: str,
    name: str,
    settings: Settings,
    sockets: Mapping[str, socket.socket],
    log_of: Callable[[str], Path],
) -> Program:
    command = [sys.executable, "-m", _MODULES[service]]
    shared = sockets.get(service)
    if shared is not None:
        command += ["--fd", str(shared.fileno())]
        base = address(shared)
    else:
        settings = replace(settings, health_port=free_port())
        base = f"http://127.0.0.1:{settings.health_port}"
    fds = [shared.fileno()] if shared else []
    log = log_of(name)

    def start() -> Popen[bytes]:
        return child.spawn(command, log=log, environment=environment(settings), fds=fds)

    health = f"{base}/readyz"
    return Program(name, _RANKS.get(service, _ENGINE_RANK), start, partial(probe.ready, health), log, health)

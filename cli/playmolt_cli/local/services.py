"""The processes of the platform, and the settings and commands of each."""

import math
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from subprocess import Popen
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace
from playmolt_core.db.logins import group_role, seals
from playmolt_core.game.engine_module import engines
from playmolt_core.ops.forks import Fork, ForkServer
from playmolt_core.settings import to_environment, variables
from playmolt_schemas.identifiers import ENGINES

from playmolt_cli.local import probe
from playmolt_cli.local.embedded import child, free_port
from playmolt_cli.local.probe import Readiness
from playmolt_cli.settings import CliSettings

Announce = Callable[[str, str], None]


class Chore:
    """A command, `playmolt ARGUMENTS`, that `up` runs every `seconds` after `begin`; 0 disables it. Runs never
    overlap."""

    def __init__(
        self, name: str, arguments: Sequence[str], seconds: float, log: Path, environment: Mapping[str, str],
        forks: ForkServer,
    ) -> None:  # fmt: skip
        self.name = name
        self._arguments = arguments
        self._seconds = seconds
        self._log = log
        self._environment = environment
        self._forks = forks
        self._at = math.inf
        self._process: Fork | None = None

    def begin(self) -> None:
        """Make it due at the next `tend`."""
        if self._seconds:
            self._at = time.monotonic()

    def tend(self, announce: Announce) -> None:
        """Start it if it is due."""
        if time.monotonic() < self._at:
            return
        self._at = time.monotonic() + self._seconds
        if self._process is not None and self._process.poll() is None:
            return
        if self._process is not None and self._process.returncode:
            announce(self.name, f"failed; log: {self._log}")
        try:
            self._process = self._forks.start(
                self.name, "playmolt_cli", self._arguments, log=self._log, environment=self._environment
            )
        except OSError as error:
            announce(self.name, f"cannot be started: {error}")

    def end(self, seconds: float) -> None:
        """Stop it; kill it after `seconds`."""
        if self._process is not None:
            child.end(self._process, signal.SIGTERM, seconds)


_AGAIN_SECONDS: Final = 1.0
"""How soon a service that ended is started again."""


class OnDemand:
    """A service that `up` starts when its port is called. After a while without calls it ends, and the next call starts
    it again."""

    def __init__(
        self, name: str, module: str, port: socket.socket, log: Path, environment: Mapping[str, str],
        forks: ForkServer, *, again_seconds: float = _AGAIN_SECONDS,
    ) -> None:  # fmt: skip
        self.name = name
        self._module = module
        self._port = port
        self._log = log
        self._environment = environment
        self._forks = forks
        self._process: Fork | None = None
        self._start_at = 0.0
        self._again_seconds = again_seconds

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def calls(self) -> Sequence[socket.socket]:
        """What is readable when a call waits for its start."""
        return () if self.pid is not None or time.monotonic() < self._start_at else (self._port,)

    def tend(self, announce: Announce) -> None:
        """Start it if a call waits and it does not run."""
        if not self.calls():
            return
        if self._process is not None and self._process.returncode:
            announce(self.name, f"ended with status {self._process.returncode}; log: {self._log}")
        self._process = None
        if not select.select([self._port], (), (), 0)[0]:
            return
        self._start_at = time.monotonic() + self._again_seconds
        fd = self._port.fileno()
        try:
            self._process = self._forks.start(
                self.name, self._module, ["--fd", str(fd)], log=self._log, environment=self._environment, fds={fd: fd}
            )
        except OSError as error:
            announce(self.name, f"cannot be started: {error}")

    def end(self, seconds: float) -> None:
        """Stop it; kill it after `seconds`."""
        if self._process is not None:
            child.end(self._process, signal.SIGTERM, seconds)
        self._port.close()


Process = Popen[bytes] | Fork


class Counts(msgspec.Struct, frozen=True):
    """How many processes of each kind, and which engines."""

    engines: int = 1
    gateways: int = 1
    spectators: int = 1
    only: tuple[str, ...] = ()
    """The engines of a platform that one command or test needs. It has no house, and a chain only for the engine of
    juries. Empty: all engines."""

    def services(self) -> dict[str, int]:
        """Service → its processes, in start order."""
        numbers = {"relay": 1, **dict.fromkeys(self.only or ENGINES, self.engines)}
        numbers |= {"gateway": self.gateways, "spectator": self.spectators}
        return numbers if self.only else {**numbers, _HOUSE: 1}

    @property
    def has_chain(self) -> bool:
        return CHAIN_ENGINE in self.services()


class Program(msgspec.Struct, frozen=True):
    """A process to keep alive: how to start it and how to check that it is ready.

    Programs stop in the order of `rank`, the lowest first.
    """

    name: str
    rank: int
    start: Callable[[], Process]
    ready: Callable[[], Readiness]
    log: Path
    health: str = ""
    """URL of its /readyz; empty for servers without one."""
    stop_signal: int = signal.SIGTERM
    stalled: Callable[[], bool] | None = None
    """Whether the process runs but cannot recover by itself."""


_MODULES = {
    "relay": "playmolt_core.relay",
    "gateway": "playmolt_gateway",
    "spectator": "playmolt_spectator",
    **{service: engine.module for service, engine in engines().items()},
}
CHAIN_MODULE = "playmolt_devchain"
CHAIN_ENGINE: Final = "trial-engine"
LABORATORY_MODULE = "playmolt_agora.service"
LABORATORY: Final = "agora-lab"
_READER: Final = "reader"
_IDLE_SECONDS: Final = 60
_HOUSE = "house"
_HOUSE_MODULE = "playmolt_cli.house"
_RANKS = {_HOUSE: -1, "gateway": 0, "spectator": 1, "relay": 3}
_ENGINE_RANK = 2
_CHAIN_RANK = 3


def anchor_settings(common: CliSettings) -> CliSettings:
    """The settings that `log anchor` needs."""
    return CliSettings(
        anchor_url=common.anchor_url,
        anchor_endpoint=common.anchor_endpoint,
        anchor_region=common.anchor_region,
        anchor_access_key=common.anchor_access_key,
        anchor_secret_key=common.anchor_secret_key,
    )


def seal_settings(common: CliSettings) -> CliSettings:
    """The settings that `seal rotate` needs."""
    return CliSettings(
        seal_keys=common.seal_keys, seal_keep_days=common.seal_keep_days, seal_rotate_days=common.seal_rotate_days
    )


def retention_settings(common: CliSettings) -> CliSettings:
    """The settings that `erase --due` needs."""
    return CliSettings(
        keep_legal_days=common.keep_legal_days,
        keep_jury_days=common.keep_jury_days,
        keep_blobs_days=common.keep_blobs_days,
        keep_archive_days=common.keep_archive_days,
        archive_url=common.archive_url,
        archive_endpoint=common.archive_endpoint,
        archive_region=common.archive_region,
        archive_access_key=common.archive_access_key,
        archive_secret_key=common.archive_secret_key,
    )


def has_retention(settings: CliSettings) -> bool:
    """Whether any retention period is set."""
    return any(
        (settings.keep_legal_days, settings.keep_jury_days, settings.keep_blobs_days, settings.keep_archive_days)
    )


def _without_sign_in(settings: CliSettings) -> CliSettings:
    """Leave out the secret of sign-ins, which the gateways alone read; not every struct of settings has it."""
    return replace(settings, oidc_client_secret="") if hasattr(settings, "oidc_client_secret") else settings


def service_settings(
    service: str, common: CliSettings, passwords: Mapping[str, str], logins: Mapping[str, str] = MappingProxyType({})
) -> CliSettings:
    """The settings of one service: its own NATS user, database login and role, and no other service's secrets.

    `logins` maps a service to its database URL. Without `logins` or `passwords` (external servers) the values of the
    environment stay. The spectator gets no database; the house gets neither database nor NATS.
    """
    common = replace(common, anchor_access_key="", anchor_secret_key="")
    if service != "gateway":
        common = _without_sign_in(common)
    if service == _HOUSE:
        return replace(
            common, database_url="", nats_url="", nats_password="", operator_key="", evm_deployer_key="",
            jury_secret="", seal_keys="", pictures="", laboratory_key="",
        )  # fmt: skip
    mine = replace(common, database_role=group_role(service), data=CliSettings().data)
    mine = replace(mine, database_url=logins.get(service, mine.database_url))
    if passwords:
        mine = replace(mine, nats_user=service, nats_password=passwords[service])
    if service == "spectator":
        mine = replace(mine, database_url="")
    if service != "gateway":
        mine = replace(mine, operator_key="", house_key="", pictures="")
    if not seals(ENGINES.get(service, ())):
        mine = replace(mine, seal_keys="")
    if service != CHAIN_ENGINE:
        mine = replace(mine, evm_deployer_key="", jury_secret="")
    if service != "agora-runner":
        mine = replace(mine, laboratory_key="")
    return mine


def laboratory_environment(common: CliSettings, logins: Mapping[str, str]) -> dict[str, str]:
    """The environment of the laboratory, which reads the log with the login of readers, and nothing else."""
    own = CliSettings(
        log_level=common.log_level,
        database_url=logins.get(_READER, common.database_url),
        database_role=group_role(_READER),
        laboratory_key=common.laboratory_key,
    )
    return environment(own) | {"PLAYMOLT_LAB_IDLE_SECONDS": str(_IDLE_SECONDS)}


def chain_arguments(folder: Path, port: int) -> list[str]:
    """Arguments of CHAIN_MODULE. The chain keeps its blocks in `folder` and funds the key in EVM_FUNDED_KEY."""
    return ["--folder", str(folder), "--port", str(port)]


def environment(settings: CliSettings) -> dict[str, str]:
    """A child's environment: that of this process, with exactly the given settings, and UTF-8 whatever the locale."""
    known = {variable for variable, _, _ in variables().values()}
    kept = {name: value for name, value in os.environ.items() if name not in known}
    return kept | to_environment(settings) | child.UTF8


def address(host: str, port: int) -> str:
    """The URL at which this machine reaches a server that listens on `host`."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- compared, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def forked(counts: Counts) -> tuple[str, ...]:
    """The modules that the fork server imports."""
    services = (_MODULES.get(service, _HOUSE_MODULE) for service in counts.services())
    return (*services, *((CHAIN_MODULE,) if counts.has_chain else ()), LABORATORY_MODULE)


def fork_server(log: Path, counts: Counts, channel: socket.socket | None = None) -> ForkServer:
    """Create the fork server of the services, without any secret. `channel` leads to one that runs already."""
    return ForkServer(forked(counts), log=log, environment=environment(CliSettings()), channel=channel)


class Fleet(msgspec.Struct, frozen=True):
    """What the services of one `up` share.

    Replicas of `gateway` and `spectator` share a listening socket, so that no connection is refused while one restarts.
    """

    settings: CliSettings
    passwords: Mapping[str, str]
    logins: Mapping[str, str]
    counts: Counts
    forks: ForkServer
    gateway: socket.socket
    spectator: socket.socket
    log_of: Callable[[str], Path]
    chain: Path | None = None
    """Folder of the embedded chain's blocks; None for an external chain."""

    def programs(self) -> list[Program]:
        """The services in start order."""
        chain = [self._chain(self.chain)] if self.chain else []
        numbers = self.counts.services()
        return chain + [self._program(service, number) for service, count in numbers.items() for number in range(count)]

    def _chain(self, folder: Path) -> Program:
        port = urlsplit(self.settings.evm_rpc_url).port or 0
        env = environment(CliSettings()) | {"EVM_FUNDED_KEY": self.settings.evm_deployer_key}
        log, health = self.log_of("evm-1"), f"{self.settings.evm_rpc_url}/healthz"
        start = partial(
            self.forks.start, "evm-1", CHAIN_MODULE, chain_arguments(folder, port), log=log, environment=env
        )
        return Program("evm-1", _CHAIN_RANK, start, partial(probe.ready, health), log, health)

    def _program(self, service: str, number: int) -> Program:
        settings = service_settings(service, self.settings, self.passwords, self.logins)
        arguments, fds = list[str](), dict[int, int]()
        shared = {"gateway": self.gateway, "spectator": self.spectator}.get(service)
        if shared:
            fds = {shared.fileno(): shared.fileno()}
            arguments += ["--fd", str(shared.fileno())]
            port = shared.getsockname()[1]
            settings = replace(settings, spectator_port=self.spectator.getsockname()[1])
        else:
            port = free_port()
            settings = replace(settings, health_port=port)
        if service == _HOUSE:
            arguments += ["--url", address(settings.host, self.gateway.getsockname()[1])]
        name, module = f"{service}-{number + 1}", _MODULES.get(service, _HOUSE_MODULE)
        own = "?self" if service == "gateway" and self.counts.only else ""
        log, health = self.log_of(name), f"{address(settings.host, port)}/readyz{own}"
        start = partial(self.forks.start, name, module, arguments, log=log, environment=environment(settings), fds=fds)
        return Program(name, _RANKS.get(service, _ENGINE_RANK), start, partial(probe.ready, health), log, health)

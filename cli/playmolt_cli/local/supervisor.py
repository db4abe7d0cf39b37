"""Keeps the platform's processes alive on one machine."""

import asyncio
import errno
import os
import secrets
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from msgspec.structs import replace
from playmolt_core.db.logins import LOGINS, Login, login_url, roles_of, settle_logins
from playmolt_core.ops.forks import Fork
from playmolt_core.ops.process import listening

from playmolt_cli.local.embedded import Nats, Postgres, Server, free_port
from playmolt_cli.local.embedded.nats import READER, USERS
from playmolt_cli.local.folder import Folder, NatsLogin, Reader, Run
from playmolt_cli.local.logfile import LogFile
from playmolt_cli.local.probe import Readiness
from playmolt_cli.local.services import (
    LABORATORY,
    LABORATORY_MODULE,
    Chore,
    Counts,
    Fleet,
    OnDemand,
    Process,
    Program,
    address,
    anchor_settings,
    environment,
    fork_server,
    has_retention,
    laboratory_environment,
    retention_settings,
    seal_settings,
)
from playmolt_cli.settings import CliSettings
from playmolt_cli.terminal.failures import ExpectedError

READY_SECONDS = 120.0
TICK_SECONDS = 0.1
REST_SECONDS = 0.5
"""Between two looks at what reports nothing by itself, such as errors in logs."""
CHECK_SECONDS = 1.0
STOP_SECONDS = 15.0
"""Longer than the gateway needs to finish requests in flight."""
STEADY_SECONDS = 10.0
"""A child that ran this long counts as recovered: its next exit restarts it without a delay."""
STALLED_SECONDS = 10.0
"""A server that is stalled for this long is ended and restarted."""
BACKOFF_FIRST = 0.25
BACKOFF_MOST = 5.0
QUIET_SECONDS = 10.0
DAY_SECONDS = 86_400
FILL_SECONDS = 20
"""How long an agent waits for others on one machine before house bots fill the game."""
_SERVER_RANK = {"nats": 4, "postgres": 5}

Announce = Callable[[str, str], None]
"""Prints a line: the name of the service and the message."""


class NotReadyError(ExpectedError):
    """Something did not become ready in time; the message names it and its log."""


class ManagedProcess:
    """A program and the process that runs it now."""

    def __init__(
        self,
        program: Program,
        *,
        check_seconds: float = CHECK_SECONDS,
        stalled_seconds: float = STALLED_SECONDS,
        steady_seconds: float = STEADY_SECONDS,
    ) -> None:
        self.program = program
        self.process: Process | None = None
        self._check_seconds = check_seconds
        self._stalled_seconds = stalled_seconds
        self._steady_seconds = steady_seconds
        self.log = LogFile(program.log)
        self._watched: Process | None = None
        self._end_fd: int | None = None
        self.deaths = 0
        self.started = time.monotonic()
        self.start_at = 0.0
        self._checked = time.monotonic()
        self._works = self._checked

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process is not None and self.process.poll() is None else None

    def start(self) -> None:
        """Start the process."""
        self.log.rotate()
        self.process = self.program.start()
        self.started = self._works = time.monotonic()

    def end_fd(self) -> int | None:
        """A descriptor that is readable once the process has ended; None for a fork, whose server reports its end, and
        where the system has none."""
        if self._watched is not self.process:
            if self._end_fd is not None:
                os.close(self._end_fd)
            self._watched, self._end_fd = self.process, None
            if isinstance(self.process, Popen) and sys.platform == "linux":
                with suppress(OSError):
                    self._end_fd = os.pidfd_open(self.process.pid)
        return self._end_fd

    def signal(self, signum: int) -> None:
        """Send the process a signal, if there is one."""
        if self.process is not None:
            self.process.send_signal(signum)

    def stalls(self) -> bool:
        """Whether the process has been stalled for `stalled_seconds`; checked every `check_seconds`."""
        now = time.monotonic()
        if self.program.stalled is None or now < self._checked + self._check_seconds:
            return False
        self._checked = now
        if self.pid is None or not self.program.stalled():
            self._works = now
        return now > self._works + self._stalled_seconds

    def died(self) -> bool:
        """Whether the process has ended since the last call; if so, restart it at `start_at`."""
        if self.process is None or self.process.poll() is None:
            return False
        now = time.monotonic()
        self.deaths = 1 if now - self.started > self._steady_seconds else self.deaths + 1
        self.start_at = now + (0 if self.deaths == 1 else min(BACKOFF_MOST, BACKOFF_FIRST * 2 ** (self.deaths - 2)))
        return True


class Supervisor:
    """The platform on this machine: every service as a process, with embedded servers where no URL is set."""

    def __init__(
        self,
        folder: Folder,
        settings: CliSettings,
        counts: Counts,
        announce: Announce,
        forks: socket.socket | None = None,
        *,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        self._folder = folder
        self._rest_seconds = rest_seconds
        self._settings = settings
        self._counts = counts
        self._announce = announce
        self._children: list[ManagedProcess] = []
        self._gateway: socket.socket | None = None
        self._spectator: socket.socket | None = None
        self._chain: Path | None = None
        self._announced: dict[tuple[str, str], float] = {}
        self._passwords: dict[str, str] = {}
        self._logins: dict[str, str] = {}
        self._ready = False
        self._run_is_old = False
        self._stop = threading.Event()
        self._waker: socket.socket | None = None
        self._hurry = False
        self._chores: list[Chore] = []
        self._laboratory: OnDemand | None = None
        self._forks = fork_server(folder.log("forkserver"), counts, forks)

    def start(self, prepare: Callable[[str], int]) -> None:
        """Start everything. `prepare` gets the database's URL before any service starts (for migrations) and returns
        the number of shards.

        The folder must be locked; `stop` unlocks it, also after a failed start. Raises ServerError, OSError if a port
        is taken, and anything that `prepare` raises.
        """
        self._open_ports()
        self._forks.begin()  # imports run while the servers start
        settings = self._with_database()
        settings = self._with_servers(replace(settings, log_shards=prepare(settings.database_url)))
        if not self._settings.database_url:
            self._logins = self._draw_logins(settings.database_url)
        self._settings, self._laboratory = self._with_laboratory(settings)
        self._chores = self._make_chores()
        for program in self._fleet().programs():
            managed = ManagedProcess(program)
            managed.start()
            self._children.append(managed)
        self._write_run()

    def _open_ports(self) -> None:
        wanted = self._settings
        port = wanted.port
        try:
            self._gateway = listening(wanted.host, port)
            port = wanted.spectator_port
            self._spectator = listening(wanted.host, port)
        except OSError as error:
            # asyncio's own text names the address again.
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            advice = (
                "Choose another port"
                if error.errno in (errno.EADDRINUSE, errno.EACCES)
                else "Set PLAYMOLT_HOST to an address of this machine, such as 127.0.0.1 or ::1"
            )
            raise OSError(f"cannot listen on {wanted.host}:{port} ({why}). {advice}") from error

    def _fleet(self) -> Fleet:
        if self._gateway is None or self._spectator is None:
            raise RuntimeError("the ports are not open yet")
        return Fleet(
            self._settings, self._passwords, self._logins, self._counts, self._forks, self._gateway, self._spectator,
            self._folder.log, self._chain,
        )  # fmt: skip

    def _with_database(self) -> CliSettings:
        settings = self._settings
        if not settings.database_url:
            settings = replace(settings, database_url=self._serve(Postgres(self._folder.postgres)).url)
        return settings

    def _with_servers(self, settings: CliSettings) -> CliSettings:
        if not settings.operator_key:
            settings = replace(settings, operator_key=self._folder.operator_key())
        if not settings.house_key:
            settings = replace(settings, house_key=self._folder.house_key())
        if not settings.seal_keys:
            settings = replace(settings, seal_keys=str(self._folder.draw_seal_keys()))
        if not settings.pictures:
            settings = replace(settings, pictures=str(self._folder.pictures))
        if settings.fill_seconds is None:
            settings = replace(settings, fill_seconds=FILL_SECONDS)
        if settings.callback_private is None:
            settings = replace(settings, callback_private=True)
        if not settings.nats_url:
            self._passwords = self._folder.passwords(USERS)
            nats = Nats(self._folder.nats, passwords=self._passwords, shards=settings.log_shards or 1)
            settings = replace(settings, nats_url=self._serve(nats).url)
        if not settings.evm_rpc_url and self._counts.has_chain:
            self._chain = self._folder.chain
            # It makes a block per transaction and never reorganizes.
            settings = replace(
                settings,
                evm_rpc_url=f"http://127.0.0.1:{free_port()}",
                evm_deployer_key=self._folder.chain_key(),
                evm_confirmations=0,
            )
        return settings

    def _with_laboratory(self, settings: CliSettings) -> tuple[CliSettings, OnDemand | None]:
        """The laboratory of Agora behind a port of its own; none where the settings name another."""
        if settings.laboratory_key:
            return settings, None
        port = listening("127.0.0.1", 0)
        address_of_port = f"http://127.0.0.1:{port.getsockname()[1]}"
        settings = replace(settings, laboratory_key=secrets.token_urlsafe(32), laboratory_url=address_of_port)
        own = laboratory_environment(settings, self._logins) | {"TMPDIR": str(self._folder.scratch())}
        log = self._folder.log(LABORATORY)
        return settings, OnDemand(LABORATORY, LABORATORY_MODULE, port, log, own, self._forks)

    def _draw_logins(self, url: str) -> dict[str, str]:
        """Create a login for each service; only this process and the migrations use the superuser."""
        passwords = self._folder.database_passwords(LOGINS)
        logins = [Login(name, password, roles_of(name)) for name, password in passwords.items()]
        asyncio.run(settle_logins(url, logins))
        return {login.name: login_url(url, login) for login in logins}

    def _serve(self, server: Server) -> Server:
        server.log = self._folder.log(f"{server.name}-1")

        def ready() -> Readiness:
            return Readiness(server.answers(), "no response")

        managed = ManagedProcess(
            Program(
                server.name,
                _SERVER_RANK[server.name],
                server.launch,
                ready,
                server.log,
                stop_signal=server.stop_signal,
                stalled=server.stalled,
            )
        )
        managed.log.rotate()
        self._children.append(managed)
        server.start()
        managed.process = server.process
        self._announce(server.name, f"127.0.0.1:{server.port}, process {managed.pid}")
        return server

    def tend(self) -> None:
        """Restart processes that ended and print errors. It does not block."""
        self._forks.poll()
        for managed in self._children:
            if managed.died():
                self._announce_exit(managed)
                managed.process = None
            if managed.stalls():
                self._announce_error(managed.program.name, f"stalled for {STALLED_SECONDS:.0f} s; ending it")
                managed.signal(signal.SIGQUIT)  # Postgres: immediate shutdown, without a checkpoint
            if managed.process is None and time.monotonic() >= managed.start_at:
                self._start_again(managed)
            for line in managed.log.errors():
                self._announce_error(managed.program.name, line)
        if self._run_is_old:
            self._renew_run()
        for chore in self._chores:
            chore.tend(self._announce_error)
        if self._laboratory is not None:
            self._laboratory.tend(self._announce_error)

    def _make_chores(self) -> list[Chore]:
        """Periodic commands: anchor the log, compute scores, rotate sealing keys, erase expired data."""
        settings, data, forks = self._settings, ["--data", str(self._folder.path)], self._forks
        return [
            Chore(
                "anchor", ["log", "anchor", *data], settings.anchor_seconds, self._folder.log("anchor"),
                environment(anchor_settings(settings)), forks,
            ),
            Chore(
                "scores", ["scores", *data], settings.scores_seconds, self._folder.log("scores"),
                environment(CliSettings()), forks,
            ),
            Chore(
                "seal", ["seal", "rotate", *data], DAY_SECONDS, self._folder.log("seal"),
                environment(seal_settings(settings)), forks,
            ),
            Chore(
                "retention", ["erase", "--due", *data], DAY_SECONDS if has_retention(settings) else 0,
                self._folder.log("retention"), environment(retention_settings(settings)), forks,
            ),
        ]  # fmt: skip

    def _start_again(self, managed: ManagedProcess) -> None:
        try:
            managed.start()
        except OSError as error:  # disk full or no process available: temporary, so the platform keeps running
            managed.start_at = time.monotonic() + BACKOFF_MOST
            self._announce_error(managed.program.name, f"cannot be started: {error}")
        else:
            self._run_is_old = True

    def _renew_run(self) -> None:
        try:
            self._write_run()
        except OSError as error:
            self._announce_error("up", f"run.json cannot be written: {error}")
        else:
            self._run_is_old = False

    def _announce_exit(self, managed: ManagedProcess) -> None:
        code = (managed.process.returncode if managed.process is not None else None) or 0
        how = signal.Signals(-code).name if code < 0 else f"status {code}"
        wait = max(0.0, managed.start_at - time.monotonic())
        last = f" ({managed.log.last_line()})" if code > 0 else ""
        self._announce(
            managed.program.name, f"ended with {how}{last}; restarting it{f' in {wait:.1f} s' if wait else ''}"
        )

    def _announce_error(self, name: str, line: str) -> None:
        event = line.split(" ", 1)[0]
        now = time.monotonic()
        if now - self._announced.get((name, event), -QUIET_SECONDS) >= QUIET_SECONDS:
            self._announced[name, event] = now
            self._announce(name, line)

    def await_ready(self, seconds: float = READY_SECONDS) -> None:
        """Wait until every service is ready and print each one; raises NotReadyError after `seconds`.

        Returns early after `ask_stop`.
        """
        until = time.monotonic() + seconds
        waiting = {managed.program.name: managed for managed in self._children}
        while waiting and not self._stop.is_set():
            self.tend()
            for name, managed in list(waiting.items()):
                answer = managed.program.ready()
                if answer.ready:
                    self._announce(name, f"ready, process {managed.pid}")
                    del waiting[name]
                elif time.monotonic() > until:
                    raise NotReadyError(self._missing(waiting.values(), seconds))
            self._stop.wait(TICK_SECONDS if waiting else 0)
        self._ready = not waiting
        for chore in self._chores if self._ready else ():
            chore.begin()
        self._run_is_old = True
        self._renew_run()

    def _missing(self, waiting: Iterable[ManagedProcess], seconds: float) -> str:
        lines = [
            f"  {managed.program.name}: {managed.program.ready().missing or 'not ready'}; log: {managed.program.log}"
            for managed in waiting
        ]
        return "\n".join([f"not ready after {seconds:.0f} s:", *lines])

    def run(self) -> None:
        """Supervise until `ask_stop`."""
        waker, wakes = socket.socketpair()
        with waker, wakes:
            self._waker = waker
            while not self._stop.is_set():
                self.tend()
                self._rest(wakes)

    def _rest(self, wakes: socket.socket) -> None:
        """Wait until there is something to tend, or `ask_stop`."""
        now = time.monotonic()
        ends = [fd for managed in self._children if (fd := managed.end_fd()) is not None]
        waits: list[int | socket.socket | Fork] = [wakes, *self._forks.running(), *ends]
        if self._laboratory is not None:
            waits += self._laboratory.calls()
        due = [max(0.0, managed.start_at - now) for managed in self._children if managed.process is None]
        watched = len(ends) == sum(isinstance(managed.process, Popen) for managed in self._children)
        select.select(waits, (), (), min([self._rest_seconds if watched else TICK_SECONDS, *due]))

    def ask_stop(self) -> None:
        """Make `await_ready` and `run` return. After a second call `stop` kills processes without waiting."""
        self._hurry = self._stop.is_set()
        self._stop.set()
        if self._waker is not None:
            with suppress(OSError):  # `run` has returned
                self._waker.send(b"1")

    def stop(self) -> None:
        """Stop everything, gateways first and servers last; processes of one rank together, within STOP_SECONDS."""
        self._folder.remove_run()
        for chore in self._chores:
            chore.end(STOP_SECONDS)
        if self._laboratory is not None:
            self._laboratory.end(STOP_SECONDS)
        for rank in sorted({managed.program.rank for managed in self._children}):
            self._stop_all([managed for managed in self._children if managed.program.rank == rank])
        self._forks.end()
        for shared in (self._gateway, self._spectator):
            if shared is not None:
                shared.close()
        self._folder.unlock()

    def _stop_all(self, group: Sequence[ManagedProcess]) -> None:
        alive = [managed for managed in group if managed.pid is not None]
        for managed in alive:
            managed.signal(managed.program.stop_signal)
        until = time.monotonic() + STOP_SECONDS
        while any(managed.pid for managed in alive) and time.monotonic() < until and not self._hurry:
            time.sleep(0.02)
        for managed in alive:
            if managed.pid is not None:
                managed.signal(signal.SIGKILL)
                self._announce(managed.program.name, "did not stop in time and was killed")

    def describe(self) -> Run:
        """URLs, credentials and processes, as stored in run.json."""
        settings = self._settings
        return Run(
            pid=os.getpid(),
            ready=self._ready,
            gateway=address(settings.host, self._gateway.getsockname()[1] if self._gateway else 0),
            spectator=address(settings.host, self._spectator.getsockname()[1] if self._spectator else 0),
            database_url=settings.database_url,
            nats_url=settings.nats_url,
            nats_user="admin" if self._passwords else settings.nats_user,
            nats_password=self._passwords.get("admin", settings.nats_password),
            operator_key=settings.operator_key,
            processes={managed.program.name: managed.pid for managed in self._children if managed.pid is not None},
            health={
                managed.program.name: managed.program.health for managed in self._children if managed.program.health
            },
        )

    def _write_run(self) -> None:
        self._folder.write_run(self.describe())
        if self._logins and self._passwords:  # with both servers embedded, a reader login exists on both
            nats = NatsLogin(self._settings.nats_url, READER, self._passwords[READER])
            self._folder.write_reader(Reader(self._logins[READER], nats))

"""Postgres as a child process."""

import os
import pwd
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from typing_extensions import override

from playmolt_cli.local.embedded import binaries, child
from playmolt_cli.local.embedded.server import START_SECONDS, Server, ServerError

_WORKING = ("startup", "walwriter")
_TUNING = {
    "max_connections": "200",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    # A new cluster has no WAL files to recycle, and zero-filling one delays every commit by 20 to 50 ms.
    "wal_init_zero": "off",
    "jit": "off",  # queries are short: compiling one costs more than running it
    "timezone": "UTC",
    "log_timezone": "UTC",
    "unix_socket_directories": "",
}


class Postgres(Server):
    """A Postgres server with its cluster in `folder`, created on the first start; fsync and synchronous_commit are on.

    Under root it runs as user `nobody`, because Postgres refuses root. `programs` is their folder; by default the
    wheel's, else the system's. `root_store` holds the cluster if that user cannot enter `folder`.
    """

    name = "postgres"
    stop_signal = signal.SIGINT  # "fast" shutdown: ends open sessions and writes everything

    def __init__(
        self, folder: Path | str, port: int = 0, programs: Path | None = None, root_store: Path = binaries.ROOT_STORE
    ) -> None:
        super().__init__(folder, port)
        self._root_store = root_store
        self._programs = programs
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None

    @property
    def cluster(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def url(self) -> str:
        """URL of the superuser on the database `postgres`, password included."""
        password = self._password_file.read_text("utf-8").strip() if self._password_file.exists() else ""
        return f"postgresql://postgres:{password}@127.0.0.1:{self.port}/postgres"

    @property
    def _password_file(self) -> Path:
        return self.folder / "password"

    @property
    def _ids(self) -> tuple[int | None, int | None]:
        return (self._user.pw_uid, self._user.pw_gid) if self._user else (None, None)

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the process; creates the cluster first if there is none."""
        programs = self._programs or binaries.postgres_bin(self._ids[0])
        self._prepare_folder()
        if not (self.cluster / "PG_VERSION").exists():
            self._initialise(programs)
        self._await_previous_server()
        options = [part for name, value in _TUNING.items() for part in ("-c", f"{name}={value}")]
        user, group = self._ids
        return child.spawn(
            [programs / "postgres", "-D", self.cluster, "-h", "127.0.0.1", "-p", str(self.port), *options],
            log=self.log,
            # Immediate, without a checkpoint: WAL is replayed later, and the folder is free within seconds.
            death_signal=signal.SIGQUIT,
            user=user,
            group=group,
        )

    def answers(self) -> bool:
        """Whether the server accepts sessions; it writes that into its pid file once recovery is over."""
        if self.process is None or not self.alive():
            return False
        try:
            lines = (self.cluster / "postmaster.pid").read_bytes().split()
        except FileNotFoundError:
            return False
        return lines[:1] == [b"%d" % self.process.pid] and lines[-1] == b"ready"

    @override
    def stalled(self) -> bool:
        """A recovery that fails on a full disk leaves a server without recovery or WAL writer processes. It refuses all
        clients even after space is freed (seen with 18.6). Detected on Linux only."""
        if self.process is None or not self.alive():
            return False
        any_role = False
        for role in _children(self.process.pid):
            if role in _WORKING:
                return False
            any_role = True
        return any_role

    def _prepare_folder(self) -> None:
        user = self._ids[0]
        if user is not None and not self.folder.exists() and not binaries.reachable(_existing(self.folder), user):
            self._relocate()
        self.folder.mkdir(parents=True, exist_ok=True)
        if user is None:
            return
        os.chown(self.folder, *self._owner())
        if not binaries.reachable(self.folder, user):
            raise ServerError(
                f"User nobody, which runs Postgres under root, cannot enter {self.folder}. "
                "Choose a folder whose parents others can enter (--data), or run as an ordinary user."
            )

    def _relocate(self) -> None:
        """Put the cluster where user `nobody` can enter, and link to it from `folder`."""
        self._root_store.mkdir(parents=True, exist_ok=True)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.folder.symlink_to(tempfile.mkdtemp(prefix="postgres-", dir=self._root_store))
        self.folder = self.folder.resolve()

    def _owner(self) -> tuple[int, int]:
        return (self._user.pw_uid, self._user.pw_gid) if self._user else (-1, -1)

    def _initialise(self, programs: Path) -> None:
        if not self._password_file.exists():
            self._password_file.touch(0o600)
            self._password_file.write_text(secrets.token_urlsafe(24) + "\n", encoding="utf-8")
            os.chown(self._password_file, *self._owner())
        builtin = binaries.postgres_version(programs) >= 17
        user, group = self._ids
        made = subprocess.run(
            [
                programs / "initdb", "-D", self.cluster, "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8",
                "--auth=scram-sha-256", f"--pwfile={self._password_file}",
                *(["--locale-provider=builtin"] if builtin else []),
            ],
            capture_output=True, encoding="utf-8", errors="replace", timeout=120, check=False,
            user=user, group=group, extra_groups=[] if user is not None else None, cwd="/",
        )  # fmt: skip
        if made.returncode != 0:
            raise ServerError(f"initdb on {self.cluster} failed: {made.stderr.strip() or made.stdout.strip()}")

    def _await_previous_server(self) -> None:
        """Wait for a previous server that is still stopping; remove the pid file of one that crashed."""
        pid_file = self.cluster / "postmaster.pid"
        until = time.monotonic() + START_SECONDS
        while (pid := _first_line_number(pid_file)) is not None and _is_postgres(pid, self.cluster):
            if time.monotonic() > until:
                raise ServerError(f"another Postgres (process {pid}) is running on {self.cluster}. Stop it first.")
            time.sleep(0.05)
        # Postgres refuses to start if another program now has the recorded process id.
        if pid is not None:
            pid_file.unlink(missing_ok=True)


def _children(parent: int) -> Iterator[str]:
    """Roles of a server's child processes, from titles like `postgres: walwriter`; the oldest first."""
    with suppress(OSError):
        for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split():
            with suppress(OSError):
                title = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0 ").decode(errors="replace")
                yield title.removeprefix("postgres: ").split(" ", 1)[0]


def _existing(folder: Path) -> Path:
    return next(part for part in (folder, *folder.parents) if part.exists())


def _first_line_number(path: Path) -> int | None:
    try:
        return int(path.read_bytes().split(b"\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None


def _is_postgres(pid: int, cluster: Path) -> bool:
    command = Path(f"/proc/{pid}/cmdline")
    if not Path("/proc/self").exists():
        return _exists(pid)
    try:
        return os.fsencode(cluster) in command.read_bytes().split(b"\0")
    except OSError:
        return False


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

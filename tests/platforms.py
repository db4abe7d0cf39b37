"""Real platforms and commands for tests, which start quickly because imports and migrations are done once.

Each worker has one process that has imported everything, a fork server: each `up`, its own fork server and each command
are forks of it. With `-n`, this process is itself a fork (`tests.workers`). A run prepares one migrated Postgres
cluster, and each platform starts with a copy.
"""

import asyncio
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from queue import Queue
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from playmolt_cli.local import stack
from playmolt_cli.local.embedded import Postgres, binaries
from playmolt_cli.local.forkserver import Fork, ForkServer
from playmolt_cli.local.services import FORKED, environment
from playmolt_core.db.migrate import migrate
from playmolt_core.settings import Settings

from tests.room import SHARED, alone, at_end, made_once

ROOT = Path(__file__).parents[1]
EMPTY = "empty"
MIGRATED = "migrated"
"""A cluster whose database `postgres` is migrated."""
TEMPLATES = "templates"
"""A cluster with migrated databases to copy: `template_1`, and `template_3`, whose log has three shards."""


def on_database(url: str, database: str) -> str:
    """The URL of another database of the same server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


def copied_cluster(folder: Path, kind: str) -> Path:
    """Copy a prepared cluster to a new folder, where `Postgres(folder)` finds it.

    Nothing is copied if the folder exists or the user of Postgres cannot enter it: then `Postgres` creates a cluster.
    The cluster runs without fsync, because tests need not survive a power failure.
    """
    user = Postgres(folder)._user
    if not folder.exists() and (user is None or binaries.reachable(folder.parent, user.pw_uid)):
        subprocess.run(["cp", "-a", made_once(kind, partial(_make, kind)), folder], check=True)  # noqa: S607
    return folder


def _make(kind: str, folder: Path) -> None:
    """Fill the folder in another thread, because an event loop may run in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(_fill, kind, folder).result()


def _fill(kind: str, folder: Path) -> None:
    with Postgres(folder) as server:
        asyncio.run(_statements(server.url, "ALTER SYSTEM SET fsync = off"))
        if kind == MIGRATED:
            asyncio.run(migrate(server.url, "all", shards=1))
        for shards in (1, 3) if kind == TEMPLATES else ():
            name = f"template_{shards}"
            asyncio.run(_statements(server.url, f"CREATE DATABASE {name}"))
            asyncio.run(migrate(on_database(server.url, name), "all", shards=shards))


async def _statements(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


IMPORTED = (*FORKED, "tests.warm")
_SERVER = "playmolt_cli.local.forkserver"


def environment_of_forks() -> dict[str, str]:
    """The environment of the tests' fork servers, without settings."""
    return environment(Settings()) | {"PYTHONPATH": str(ROOT)}


def fork_server(forks: ForkServer, channel: socket.socket) -> Fork:
    """Start a fork server that listens to the channel, as a fork of `forks`, which has imported everything."""
    arguments, log = [str(channel.fileno()), *IMPORTED], SHARED / "forks.log"
    environment = environment_of_forks()
    return forks.start("forkserver", _SERVER, arguments, log=log, environment=environment, fds=[channel.fileno()])


class _Forks(ForkServer):
    """A fork server that any thread may use."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="playmolt-forks-", dir=SHARED))
        super().__init__(IMPORTED, folder / "log", environment_of_forks(), _channel)
        self._lock = threading.RLock()
        self.begin()

    def start(self, *given: Any, **named: Any) -> Fork:
        with self._lock:
            return super().start(*given, **named)

    def poll(self) -> None:
        with self._lock:
            super().poll()


_channel: socket.socket | None = None


def use_server(channel: socket.socket) -> None:
    """Make this process use a fork server that already runs."""
    global _channel  # noqa: PLW0603 -- a process sets it once, before any test
    _channel = channel
    at_end.callback(channel.close)


@cache
def _forks() -> _Forks:
    begun = Queue[_Forks]()

    def begin() -> None:
        begun.put(_Forks())
        threading.Event().wait()

    with alone():
        # The kernel ends a fork server with the thread that started it, so this thread never ends.
        threading.Thread(target=begin, daemon=True).start()
        forks = begun.get(timeout=60)
    at_end.callback(forks.end)
    return forks


class Stack(stack.Stack):
    """`up` as a fork, with a copy of a migrated cluster if its folder is new."""

    def launch(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Fork:
        if not environment.get("DATABASE_URL"):
            kind = MIGRATED if environment.get("PLAYMOLT_LOG_SHARDS", "1") == "1" else EMPTY
            copied_cluster(self.folder.postgres, kind)
        forks = _forks()
        mine, its = socket.socketpair()
        with mine, its:
            log, served = self.folder.log("forkserver"), [str(its.fileno()), *FORKED]
            forks.start("forkserver", _SERVER, served, log=log, environment=environment, fds=[its.fileno()])
            arguments = [*arguments, "--forks", str(mine.fileno())]
            return forks.start(
                "up", "playmolt_cli", arguments, log=self.log, environment=environment, fds=[mine.fileno()]
            )


def start(name: str, module: str, arguments: Sequence[str], *, log: Path, environment: Mapping[str, str]) -> Fork:
    """Start `python -m MODULE ARGUMENTS`, a service or a command, with only these environment variables."""
    return _forks().start(name, module, arguments, log=log, environment=environment)


class Done(NamedTuple):
    """The exit status and the output of a command."""

    returncode: int
    stdout: str
    stderr: str


def playmolt(*words: str, environment: Mapping[str, str], seconds: float = 200) -> Done:
    """Run `playmolt WORDS` to its end, in a separate process with only these environment variables."""
    forks = _forks()
    with TemporaryFile() as out, TemporaryFile() as error, Path(os.devnull).open("rb") as empty:
        streams = [stream.fileno() for stream in (empty, out, error)]
        arguments = [*map(str, streams), *words]
        log = SHARED / "commands.log"
        fork = forks.start("playmolt", "tests.warm", arguments, log=log, environment=environment, fds=streams)
        try:
            status = fork.wait(seconds)
        finally:
            fork.kill()
        return Done(status, *(_text(stream) for stream in (out, error)))


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()

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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from playmolt_cli.local import stack
from playmolt_cli.local.embedded import Postgres, binaries, child
from playmolt_cli.local.services import Counts, environment, forked
from playmolt_core.db.migrate import migrate
from playmolt_core.ops import forks
from playmolt_core.ops.forks import Fork, ForkServer
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


SERVICES = forked(Counts())
IMPORTED = (*SERVICES, "tests.warm")


def environment_of_forks() -> dict[str, str]:
    """The environment of the tests' fork servers, without settings."""
    return environment(Settings()) | {"PYTHONPATH": str(ROOT)}


def new_forks(log: Path, channel: socket.socket | None = None) -> ForkServer:
    """A fork server that imports everything."""
    return ForkServer(IMPORTED, log=log, environment=environment_of_forks(), channel=channel)


def fork_server(
    server: ForkServer, channel: socket.socket, modules: Sequence[str] = IMPORTED, *, log: Path = SHARED / "forks.log",
    environment: Mapping[str, str] | None = None,
) -> Fork:  # fmt: skip
    """Fork the origin of another fork server, whose owner has the other end of the channel."""
    fd = channel.fileno()
    environment = environment_of_forks() if environment is None else environment
    return server.start(
        "forkserver", forks.__name__, [str(fd), "0", "", *modules], log=log, environment=environment, fds={fd: fd}
    )


_channel: socket.socket | None = None


def use_server(channel: socket.socket) -> None:
    """Make this process use a fork server that already runs."""
    global _channel  # noqa: PLW0603 -- a process sets it once, before any test
    _channel = channel
    at_end.callback(channel.close)


@cache
def _forks() -> ForkServer:
    with alone():
        server = new_forks(Path(tempfile.mkdtemp(prefix="playmolt-forks-", dir=SHARED)) / "log", _channel)
        server.begin()
    at_end.callback(server.end)
    return server


class Stack(stack.Stack):
    """`up` as a fork, with a copy of a migrated cluster if its folder is new."""

    def launch(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Fork:
        if not environment.get("DATABASE_URL"):
            kind = MIGRATED if environment.get("PLAYMOLT_LOG_SHARDS", "1") == "1" else EMPTY
            copied_cluster(self.folder.postgres, kind)
        server, log = _forks(), self.folder.log("forkserver")
        mine, its = socket.socketpair()
        with mine, its:
            fork_server(server, its, SERVICES, log=log, environment=environment)
            fd = mine.fileno()
            arguments = [*arguments, "--forks", str(fd)]
            return server.start("up", "playmolt_cli", arguments, log=self.log, environment=environment, fds={fd: fd})


def start(name: str, module: str, arguments: Sequence[str], *, log: Path, environment: Mapping[str, str]) -> Fork:
    """Start `python -m MODULE ARGUMENTS`, a service or a command, with only these environment variables."""
    return _forks().start(name, module, arguments, log=log, environment=environment)


class Done(NamedTuple):
    """The exit status and the output of a command."""

    returncode: int
    stdout: str
    stderr: str


def playmolt(*words: str, environment: Mapping[str, str], seconds: float = 500) -> Done:
    """Run `playmolt WORDS` to its end, in a process of its own that has just these variables."""
    with TemporaryFile() as out, TemporaryFile() as error, Path(os.devnull).open("rb") as empty:
        streams = dict(enumerate(stream.fileno() for stream in (empty, out, error)))
        fork = _forks().start("playmolt", "playmolt_cli", words, environment={**environment, **child.UTF8}, fds=streams)
        try:
            status = fork.wait(seconds)
        finally:
            fork.kill()
        return Done(status, *(_text(stream) for stream in (out, error)))


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()

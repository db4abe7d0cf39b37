"""Starts the compared servers as processes."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from playmolt_cli.local.embedded import Nats, child, free_port
from playmolt_cli.local.folder import Folder
from playmolt_cli.local.stack import Stack
from playmolt_cli.local.supervisor import FILL_SECONDS

from bench.processes import tree_seconds

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 180
STOP_SECONDS = 90
FED_SECONDS = 180
SETTLED_SECONDS = 20


def _until_answers(url: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:  # noqa: S310 -- our own server on this machine
                if answer.status < 500:
                    return
        except OSError as error:
            if getattr(error, "code", 500) < 500:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{url} did not answer in {START_SECONDS} s")


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="playmolt-bench-", ignore_cleanup_errors=True) as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@contextmanager
def _process(arguments: list[str], environment: dict[str, str], url: str = "") -> Iterator["subprocess.Popen[bytes]"]:
    """Start a child process; enter the context once `url` answers."""
    process = subprocess.Popen(
        arguments, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        if url:
            _until_answers(url, process)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


class Platforms:
    """Starts platforms. The parts of a short run share one, because its figures mean nothing."""

    stack: type[Stack] = Stack
    shared: "Callable[[], Platform] | None" = None

    @classmethod
    @contextmanager
    def sharing(cls) -> Iterator[None]:
        """Inside the context, `platform` gives one shared platform of this checkout, which starts at the first use."""
        if cls.shared:
            yield
            return
        with ExitStack() as stack:
            cls.shared = cache(lambda: stack.enter_context(_new(HERE, {})))
            try:
                yield
            finally:
                cls.shared = None


class Checkout(NamedTuple):
    """A checkout of this repository, and the Python of its .venv."""

    root: Path
    python: str

    def command(self, *words: str | Path) -> list[str]:
        """The command line of the checkout's `playmolt`."""
        return [self.python, "-P", "-m", "playmolt_cli", *map(str, words)]

    def playmolt(self, *words: str | Path, environment: Mapping[str, str] | None = None) -> str:
        """Run the checkout's `playmolt` to its end and return its output."""
        variables = {**os.environ, **(environment or {})}
        done = subprocess.run(
            self.command(*words), cwd=self.root, env=variables, check=True, capture_output=True, text=True
        )
        return done.stdout

    @contextmanager
    def up(self, data: Path, options: tuple[str, ...], environment: Mapping[str, str]) -> Iterator[None]:
        """Run the checkout's `up` on a folder. Its run.json may differ from ours, except for `pid` and `ready`."""
        Folder(data).make()
        arguments = ["up", "--data", str(data), "--port", "0", "--spectator-port", "0", *options]
        process = child.spawn(
            self.command(*arguments), log=data / "logs" / "up.log", environment={**os.environ, **environment},
            death_signal=signal.SIGTERM,
        )  # fmt: skip
        try:
            _until_ready(data, process)
            yield
        finally:
            child.end(process, signal.SIGTERM, STOP_SECONDS)


HERE = Checkout(ROOT, sys.executable)


def _until_ready(data: Path, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            run = running(data)
        except FileNotFoundError:
            run = {}
        if run.get("ready") and run.get("pid") == process.pid:
            return
        time.sleep(0.05)
    raise RuntimeError(f"`up` did not become ready:\n{(data / 'logs' / 'up.log').read_text('utf-8')[-4000:]}")


@contextmanager
def product(
    data: Path, *options: str, environment: Mapping[str, str] | None = None, checkout: Checkout = HERE
) -> Iterator[int]:
    """Run `playmolt up` with its defaults and this environment; give the gateway's port."""
    variables = {"PLAYMOLT_FILL_SECONDS": str(FILL_SECONDS), **(environment or {})}
    here = checkout is HERE
    with Platforms.stack(data, options, variables) if here else checkout.up(data, options, variables):
        yield int(running(data)["gateway"].rpartition(":")[2])


class Platform(NamedTuple):
    """The folder and the gateway's port of a running platform."""

    data: Path
    port: int


@contextmanager
def _new(checkout: Checkout, environment: Mapping[str, str]) -> Iterator[Platform]:
    with folder() as data, product(data, environment=environment, checkout=checkout) as port:
        yield Platform(data, port)


@contextmanager
def platform(checkout: Checkout = HERE, environment: Mapping[str, str] = MappingProxyType({})) -> Iterator[Platform]:
    """Run `playmolt up` on a new folder, or use the shared platform."""
    if Platforms.shared and checkout is HERE:
        yield Platforms.shared()
        return
    with _new(checkout, environment) as new:
        yield new


@contextmanager
def naive(database_url: str, workers: int = 2, app: str = "bench.naive:app") -> Iterator[int]:
    """Run the naive handler, or another app, on `workers` workers."""
    port = free_port()
    workers = 1 if Platforms.shared else workers
    arguments = [
        sys.executable,
        "-m",
        "uvicorn",
        app,
        "--port",
        str(port),
        "--workers",
        str(workers),
        "--no-access-log",
    ]
    with _process(arguments, {"BENCH_DATABASE_URL": database_url}, f"http://127.0.0.1:{port}/docs"):
        yield port


@contextmanager
def floor(data: Path, database_url: str, kind: str) -> Iterator[int]:
    """Run `bench.floor` of kind `insert` or `append` with its own NATS; give the gateway's port."""
    port = free_port()
    with Nats(data / "floor") as nats:
        environment = {"BENCH_NATS_URL": nats.url, "BENCH_DATABASE_URL": database_url}
        engine = [sys.executable, "-m", "bench.floor", "engine", kind]
        gateway = [sys.executable, "-m", "bench.floor", "gateway", str(port)]
        with _process(engine, environment), _process(gateway, environment, f"http://127.0.0.1:{port}/"):
            yield port


def running(data: Path) -> dict[str, Any]:
    """The run.json of a running platform."""
    run: dict[str, Any] = json.loads((data / "run.json").read_text("utf-8"))
    return run


def processes(data: Path) -> set[int]:
    """The pids of a running `up` and of its services, because services of a fork server are not descendants of `up`."""
    run = running(data)
    return {run["pid"], *run["processes"].values()}


def positions(data: Path) -> dict[str, int]:
    """The last positions of the log and the feeds of a running platform."""
    run = running(data)
    asked = urllib.request.Request(  # noqa: S310 -- our own server on this machine
        f"{run['gateway']}/api/admin/lag", headers={"Authorization": f"Bearer {run['operator_key']}"}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 -- as above
        found: dict[str, int] = json.load(answer)
    return found


def events_behind(data: Path) -> int:
    """How many events the feeds of a running platform are behind its log."""
    found = positions(data)
    return found["log"] - min(found["events"], found["spectate"])


def until_fed(data: Path) -> None:
    """Wait until the feeds of a running platform have all events."""
    end = time.monotonic() + FED_SECONDS
    while events_behind(data) > 0:
        if time.monotonic() > end:
            raise TimeoutError(f"the feeds are behind the log for more than {FED_SECONDS} s")
        time.sleep(0.05)


def until_settled(data: Path) -> None:
    """Wait until a running platform has done the work that follows its start, at most `SETTLED_SECONDS`."""
    end, roots = time.monotonic() + SETTLED_SECONDS, processes(data)
    used = tree_seconds(*roots)
    while time.monotonic() < end:
        time.sleep(0.5)
        before, used = used, tree_seconds(*roots)
        if used - before < 0.1:
            break


class ProcessorTime:
    """CPU seconds of all processes of a running platform within the context, until its feeds have all events."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.seconds = 0.0

    def __enter__(self) -> Self:
        until_fed(self._data)
        self._began = tree_seconds(*processes(self._data))
        return self

    def __exit__(self, *_: object) -> None:
        until_fed(self._data)
        self.seconds = tree_seconds(*processes(self._data)) - self._began


def spectator_port(data: Path) -> int:
    """The port of a running platform's spectator."""
    return int(running(data)["spectator"].rsplit(":", 1)[1])


def database_url(data: Path) -> str:
    """The URL of a running platform's Postgres."""
    return str(running(data)["database_url"])

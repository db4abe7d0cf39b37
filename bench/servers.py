"""The two servers that are compared, as processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playmolt_cli.local.embedded import Nats
from playmolt_cli.local.stack import Stack
from playmolt_cli.local.supervisor import FILL_SECONDS

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


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
    """A child, once its URL answers."""
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
    """How a platform is started."""

    stack: type[Stack] = Stack


@contextmanager
def product(data: Path, *options: str, environment: dict[str, str] | None = None) -> Iterator[int]:
    """`playmolt up` as shipped, but for what the environment says; gives the gateway's port."""
    shipped = {"PLAYMOLT_FILL_SECONDS": str(FILL_SECONDS)}
    with Platforms.stack(data, options, {**shipped, **(environment or {})}) as stack:
        yield int(stack.run.gateway.rpartition(":")[2])


@contextmanager
def naive(database_url: str, workers: int = 2, app: str = "bench.naive:app") -> Iterator[int]:
    """What a user would write; `bench.tuned:app` is by one who tunes."""
    port = free_port()
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
    """The hops of `bench.floor`, as `insert` or `append`, on a NATS of their own; gives the port."""
    port = free_port()
    with Nats(data / "floor") as nats:
        environment = {"BENCH_NATS_URL": nats.url, "BENCH_DATABASE_URL": database_url}
        engine = [sys.executable, "-m", "bench.floor", "engine", kind]
        gateway = [sys.executable, "-m", "bench.floor", "gateway", str(port)]
        with _process(engine, environment), _process(gateway, environment, f"http://127.0.0.1:{port}/"):
            yield port


def events_behind(data: Path) -> int:
    """How far the feeds of a running `up` are behind its log."""
    run = json.loads((data / "run.json").read_text("utf-8"))
    asked = urllib.request.Request(  # noqa: S310 -- our own server on this machine
        f"{run['gateway']}/api/admin/lag", headers={"Authorization": f"Bearer {run['operator_key']}"}
    )
    with urllib.request.urlopen(asked, timeout=5) as answer:  # noqa: S310 -- as above
        lag = json.load(answer)
    return int(lag["log"]) - min(int(lag["events"]), int(lag["spectate"]))


def spectator_port(data: Path) -> int:
    """The port of a running `up`'s spectator."""
    run = json.loads((data / "run.json").read_text("utf-8"))
    return int(run["spectator"].rsplit(":", 1)[1])


def database_url(data: Path) -> str:
    """The Postgres of a running `up`."""
    return str(json.loads((data / "run.json").read_text("utf-8"))["database_url"])

"""`playmolt up` keeps the platform alive: with real processes, really killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playmolt.client import Client
from playmolt_cli.local import probe
from playmolt_cli.local.embedded import free_port
from playmolt_schemas.identifiers import ENGINES

from core.tests.waiting import suspend
from tests.platforms import Stack

StackFactory = Callable[..., Stack]
RESTART_SECONDS = 120.0
CHILDREN = (
    "postgres",
    "nats",
    "evm-1",
    "relay-1",
    "house-1",
    *(f"{service}-1" for service in ENGINES),
    "gateway-1",
    "spectator-1",
)


def _eventually(happened: Callable[[], bool], seconds: float, what: str) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("name", CHILDREN)
def test_a_killed_child_is_started_again_and_the_platform_is_ready_again(running: Stack, name: str) -> None:
    before = running.kill(name)
    _eventually(
        lambda: running.run.processes.get(name, before) not in (before, None), RESTART_SECONDS, f"{name} stays away"
    )
    health = [f"{running.run.gateway}/readyz", *running.run.health.values()]
    _eventually(
        lambda: all(probe.ready(url).ready for url in health), RESTART_SECONDS, f"not ready after {name} was killed"
    )
    _eventually(lambda: set(running.run.processes) == set(CHILDREN), RESTART_SECONDS, "another child stays away")


def test_nobody_is_refused_while_the_gateway_restarts(running: Stack) -> None:
    url = running.run.gateway
    running.kill("gateway-1")
    with urlopen(Request(f"{url}/healthz"), timeout=60) as answer:  # noqa: S310 -- our own gateway
        assert answer.status == 200


def test_a_second_up_on_the_folder_is_refused_in_one_line(running: Stack) -> None:
    second = _up("--data", str(running.folder.path))
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert f"in use by process {running.run.pid}" in second.stderr


def test_a_taken_port_is_refused_in_one_line(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        second = _up("--data", str(folder / "data"), "--port", str(taken.getsockname()[1]))
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert "Choose another port" in second.stderr


def test_a_faulty_catalogue_is_refused_with_every_fault_before_anything_starts(folder: Path) -> None:
    catalogue = folder / "models.toml"
    catalogue.write_text('[models.one]\nbase_url = ""\nmodel = ""\n')
    up = _up("--data", str(folder / "data"), PLAYMOLT_MODELS=str(catalogue))
    assert up.returncode == 2
    assert "Traceback" not in up.stderr
    assert {fault for fault in ("models.one.base_url", "models.one.model") if fault in up.stderr}
    assert "ready" not in up.stdout


def _up(*options: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "playmolt_cli", "up", *options]
    environment = {**os.environ, "DATABASE_URL": "", "NATS_URL": "", **variables}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


def test_where_everything_is_stands_in_a_file_for_its_owner_alone(running: Stack) -> None:
    path = running.folder.path / "run.json"
    assert path.stat().st_mode & 0o077 == 0
    told = json.loads(path.read_text())
    assert told["pid"] == running.run.pid
    assert told["operator_key"] == running.folder.operator_key_file.read_text().strip()


def test_sigterm_leaves_no_process_and_replicas_share_their_ports(stack: StackFactory) -> None:
    up = stack("--gateways", "2", "--spectators", "2", "--engines", "2")
    run = up.run
    assert len(run.processes) == len(("postgres", "nats", "evm", "relay", "house")) + 2 * len(
        (*ENGINES, "gateway", "spectator")
    )
    for service, url in (("gateway", run.gateway), ("spectator", run.spectator)):
        for name in (f"{service}-1", f"{service}-2"):
            suspend(run.processes[name])
            _eventually(
                lambda url=url: probe.ready(f"{url}/readyz").ready, 60,
                f"the other {service} answers while {name} stands still",
            )  # fmt: skip
            os.kill(run.processes[name], signal.SIGCONT)
    pids = [run.pid, *run.processes.values()]
    assert up.process is not None
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(60) == 0
    _eventually(lambda: all(map(_gone, pids)), 60, "a process was left")
    assert up.folder.run() is None
    said = up.log.read_text()
    assert "did not stop in time" not in said
    assert "ended with" not in said


def test_no_child_outlives_a_killed_supervisor_and_the_next_up_goes_on_with_every_game(
    stack: StackFactory, folder: Path, clients: ExitStack
) -> None:
    first = stack()
    players = [clients.enter_context(Client(first.run.gateway)) for _ in range(5)]
    for number, player in enumerate(players):
        player.register(f"player {number}")
    seats = [player.join("ox") for player in players[:4]]
    before = players[0].state(seats[0].game_id)
    key = first.run.operator_key
    pids = list(first.run.processes.values())
    assert first.process is not None
    first.process.kill()
    first.process.wait(60)
    _eventually(lambda: all(map(_gone, pids)), 60, "a child survived")

    second = stack(data=folder / "data")
    assert second.run.operator_key == key
    again = [clients.enter_context(Client(second.run.gateway, player.key)) for player in players]
    assert again[0].state(seats[0].game_id) == before
    assert again[4].join("ox").game_id == seats[0].game_id
    state = again[0].state(seats[0].game_id)
    assert state["phase"] == "first_choice"
    again[0].act(seats[0].game_id, {"type": "first_choice", "choice": "O", "comment": "still here"})
    assert again[0].state(seats[0].game_id)["version"] > state["version"]

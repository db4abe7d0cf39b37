"""A service that is started when its port is called."""

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from playmolt_cli.local.services import CliSettings, OnDemand, laboratory_environment, service_settings


class Forks:
    """A fork server whose processes end when a test says so."""

    def __init__(self) -> None:
        self.started: list[Sequence[str]] = []
        self.pid = 7
        self.returncode: int | None = None

    def start(self, name: str, module: str, arguments: Sequence[str], **_: object) -> "Forks":
        self.started.append([name, module, *arguments])
        self.returncode = None
        return self

    def poll(self) -> int | None:
        return self.returncode


@pytest.fixture
def port() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def test_it_starts_with_the_first_call_and_again_after_it_was_idle(port: socket.socket, tmp_path: Path) -> None:
    forks, said = Forks(), list[Any]()
    lab = OnDemand("agora-lab", "module", port, tmp_path / "log", {}, cast("Any", forks), again_seconds=0.0)
    lab.tend(lambda *line: said.append(line))
    assert (forks.started, lab.pid) == ([], None)
    with socket.create_connection(port.getsockname()):
        lab.tend(lambda *line: said.append(line))
        lab.tend(lambda *line: said.append(line))
        assert (forks.started, lab.pid) == ([["agora-lab", "module", "--fd", str(port.fileno())]], 7)
        forks.returncode = 0
        lab.tend(lambda *line: said.append(line))
        assert (len(forks.started), said) == (2, [])
        forks.returncode = -9
        lab.tend(lambda *line: said.append(line))
    assert (len(forks.started), len(said)) == (3, 1)


def test_the_laboratory_gets_the_login_of_readers_and_no_secret_but_its_key() -> None:
    common = CliSettings(
        database_url="postgresql://owner@h/d", laboratory_key="key", operator_key="op", evm_deployer_key="0x1",
        seal_keys="keys", nats_password="nats",
    )  # fmt: skip
    own = laboratory_environment(common, {"reader": "postgresql://reader:pw@h/d"})
    assert (own["DATABASE_URL"], own["PLAYMOLT_DATABASE_ROLE"]) == ("postgresql://reader:pw@h/d", "playmolt_reader")
    assert own["PLAYMOLT_LAB_KEY"] == "key"
    assert not {"op", "0x1", "keys", "nats"} & {*own.values()}


@pytest.mark.parametrize("service", ["gateway", "ox-engine", "agora-runner", "relay", "spectator", "house"])
def test_the_runner_alone_has_the_key_of_the_laboratory(service: str) -> None:
    found = service_settings(service, CliSettings(laboratory_key="key"), {})
    assert bool(found.laboratory_key) is (service == "agora-runner")

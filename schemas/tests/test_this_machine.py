"""Which URLs name this machine."""

import socket
from pathlib import Path

import pytest
from playmolt_schemas.this_machine import names_this_machine

LOOPBACK = (
    "127.0.0.1", "127.0.0.2", "127.255.255.254", "127.1", "2130706433", "0x7f.1", "0x7f000001", "017700000001",
    "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::1%25lo]", "0.0.0.0",  # noqa: S104 -- compared, not bound
    "[::]", "localhost", "LocalHost",
    "localhost.", "games.localhost", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021",
)  # fmt: skip
ELSEWHERE = (
    "example.com", "localhost.example.com", "127.0.0.1.example.com", "192.0.2.7", "[2001:db8::7]", "224.0.0.1",
    "face", "[::ffff:192.0.2.7]", "1270.0.0.1",
)  # fmt: skip


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_is_this_machine_in_every_spelling(host: str) -> None:
    assert names_this_machine(f"http://{host}:8080/v1")
    assert names_this_machine(f"https://user:secret@{host}")


@pytest.mark.parametrize("host", ELSEWHERE)
def test_other_hosts_are_not_this_machine(host: str) -> None:
    assert not names_this_machine(f"http://{host}:8080/v1")


@pytest.mark.parametrize("url", ["", "nonsense", "http://", "http://[", "http://[::1"])
def test_an_invalid_url_is_not_this_machine(url: str) -> None:
    assert not names_this_machine(url)


def test_the_host_name_is_this_machine_short_and_with_its_domain() -> None:
    name = socket.gethostname()
    for host in (name, name.upper(), f"{name}.", name.partition(".")[0]):
        assert names_this_machine(f"http://{host}:4222")


def test_the_hosts_file_names_this_machine_and_others(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.1.1 box.example box # ours\n192.0.2.7 far.example\n::1%lo six.example\nbroken line\n")
    named = ("box.example", "BOX", "six.example")
    assert all(names_this_machine(f"http://{host}", hosts) for host in named)
    assert not any(names_this_machine(f"http://{host}", hosts) for host in ("far.example", "ours", "line"))
    assert not names_this_machine("http://box.example", tmp_path / "missing")


def test_addresses_of_this_machines_interfaces_are_this_machine() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.7", 9))
        except OSError:
            pytest.skip("this machine has no interface but loopback")
        assert names_this_machine(f"http://{probe.getsockname()[0]}:8080")

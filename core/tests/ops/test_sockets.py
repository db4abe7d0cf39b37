"""`::` is every address of both families, and of the one there is on a machine without IPv6."""

import socket

import pytest
from playmolt_core.ops.process import ANY, listening

V4, V6 = "127.0.0.1", "::1"


def reached(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=60).close()
    except OSError:
        return False
    return True


def test_every_address_is_taken_of_both_families() -> None:
    with listening(ANY, 0) as sock:
        port = sock.getsockname()[1]
        assert reached(V4, port)
        assert reached(V6, port) is socket.has_dualstack_ipv6()


def test_without_ipv6_it_is_every_address_of_the_other_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    with listening(ANY, 0) as sock:
        assert sock.family is socket.AF_INET
        assert sock.getsockname()[0] == "0.0.0.0"  # noqa: S104 -- compared
        assert reached(V4, sock.getsockname()[1])


def test_one_address_is_one_address() -> None:
    with listening(V4, 0) as sock:
        assert sock.getsockname()[0] == V4

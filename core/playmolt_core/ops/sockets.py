"""Where a service listens: on a socket of its own, or on one that replicas on a machine share."""

import socket
from typing import Final

BACKLOG: Final = 4096
ANY: Final = "::"
"""Every address of the machine, of both families where it has both."""


def listening(host: str, port: int, fd: int | None = None) -> socket.socket:
    """The listening socket: the one inherited as `fd`, or a new one (port 0: a free one); raises OSError."""
    sock = _bound(host, port) if fd is None else socket.socket(fileno=fd)
    sock.setblocking(False)
    return sock


def _bound(host: str, port: int) -> socket.socket:
    if host == ANY and not socket.has_dualstack_ipv6():
        host = "0.0.0.0"  # noqa: S104 -- what `::` says on a machine without IPv6
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=host == ANY)

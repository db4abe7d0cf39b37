"""Where a service listens: on a socket of its own, or on one that replicas on a machine share."""

import socket
from typing import Final

BACKLOG: Final = 4096


def listening(host: str, port: int, fd: int | None = None) -> socket.socket:
    """The listening socket: the one inherited as `fd`, or a new one (port 0: a free one); raises OSError."""
    if fd is None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.create_server((host, port), family=family, backlog=BACKLOG)
    else:
        sock = socket.socket(fileno=fd)
    sock.setblocking(False)
    return sock

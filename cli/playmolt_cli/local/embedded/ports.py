"""Ports of this machine for processes that are about to start."""

import errno
import random
import socket
from typing import Final

_RANGE: Final = range(20_000, 32_000)
"""Below the range of outgoing connections: a client that redials a server which is being restarted could otherwise be
given the server's own port."""
_TRIES: Final = 200


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on, and that no other process is given while this one lives.

    Looking alone is not enough: between the look and the start of the server another `up` may look, too. Raises OSError
    when it finds none.
    """
    for port in random.sample(_RANGE, _TRIES):
        if _claim(port) and _is_free(port):
            return port
    raise OSError(errno.EADDRINUSE, f"no free port between {_RANGE.start} and {_RANGE.stop} on 127.0.0.1")


def _claim(port: int) -> bool:
    """Take the port's namesake in UDP, where nobody serves anything, until this process ends; False if it is taken."""
    with socket.socket(type=socket.SOCK_DGRAM) as namesake:
        try:
            namesake.bind(("127.0.0.1", port))
        except OSError:
            return False
        namesake.detach()
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

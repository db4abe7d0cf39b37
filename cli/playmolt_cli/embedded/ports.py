"""Ports of this machine for processes that are about to start."""

import errno
import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import Final, TextIO

_RANGE: Final = range(20_000, 32_000)
"""Below the range of outgoing connections: a client that redials a server which is being restarted could otherwise be
given the server's own port."""
_TRIES: Final = 200
_held: list[TextIO] = []


def free_port() -> int:
    """Give a port of 127.0.0.1 that nothing listens on, and that no other process is given while this one lives.

    Looking alone is not enough: between the look and the start of the server another `up` may look, too. Raises OSError
    when it finds none.
    """
    for port in random.sample(_RANGE, _TRIES):
        if (lock := _lock(port)) is None:
            continue
        if _is_free(port):
            _held.append(lock)
            return port
        lock.close()
    raise OSError(errno.EADDRINUSE, f"no free port between {_RANGE.start} and {_RANGE.stop} on 127.0.0.1")


def _lock(port: int) -> TextIO | None:
    folder = Path(tempfile.gettempdir()) / f"playmolt-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = (folder / str(port)).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

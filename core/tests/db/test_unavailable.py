"""Which errors mean that the database is unavailable."""

import errno
import socket

import asyncpg
import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.pool import unavailable


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"),
        ConnectionResetError(),
        BrokenPipeError(),
        TimeoutError(),
        OSError(errno.EHOSTUNREACH, "No route to host"),
        OSError("Multiple exceptions: [Errno 111] Connect call failed"),
        socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
        FileNotFoundError(errno.ENOENT, "No such file or directory"),  # a Unix socket without a server names no file
        asyncpg.CannotConnectNowError("the database system is starting up"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_a_connection_is_unavailability(error: Exception) -> None:
    with pytest.raises(LogUnavailable), unavailable():
        raise error


@pytest.mark.parametrize("kind", [FileNotFoundError, PermissionError, IsADirectoryError])
def test_an_error_of_a_file_is_a_bug(kind: type[OSError]) -> None:
    with pytest.raises(kind), unavailable():
        raise kind(errno.ENOENT, "no such thing", "/a/file")

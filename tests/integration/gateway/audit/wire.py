"""Connections on which the test chooses every byte, and the CPU time and memory of the server processes."""

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.integration.gateway.rows import Platform

SECONDS = 60.0
SERVERS = ("gateway", "spectator", "evm")
IDLE_SECONDS = 12
HALF_A_BODY = b"POST /api/agents HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
SLOW = {
    "half a head": ("gateway", b"GET /healthz HTTP/1.1\r\nA", 10),
    "half a head of a watcher": ("spectator", b"GET /healthz HTTP/1.1\r\nA", 10),
    "half a body": ("gateway", HALF_A_BODY, 30),
    "nothing": ("gateway", b"", IDLE_SECONDS),
    "nothing of a watcher": ("spectator", b"", IDLE_SECONDS),
}
"""Name → server, incomplete request, and the seconds for which the server waits for more."""
_TICKS = os.sysconf("SC_CLK_TCK")


def address(platform: Platform, server: str) -> tuple[str, int]:
    run = platform.stack.run
    bases = {"gateway": run.gateway, "spectator": run.spectator}
    where = urlsplit(bases.get(server) or run.health[f"{server}-1"])
    assert where.hostname
    assert where.port
    return where.hostname, where.port


def process(platform: Platform, server: str) -> int:
    return platform.stack.run.processes[f"{server}-1"]


class Wire:
    """One connection. To a server that counts by address, each `source` is a different address."""

    def __init__(self, to: tuple[str, int], sent: bytes = b"", source: str = "127.0.0.1") -> None:
        self._socket = socket.create_connection(to, timeout=SECONDS, source_address=(source, 0))
        self.write(sent)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def write(self, sent: bytes) -> bool:
        """Send bytes; return whether the other end, or its kernel, accepted all of them."""
        with suppress(ConnectionError):
            self._socket.sendall(sent)
            return True
        return False

    def pour(self, piece: bytes, most: int) -> int:
        """Send a piece repeatedly until the other end accepts no more; return the number of bytes sent."""
        sent = 0
        while sent < most and self.write(piece):
            sent += len(piece)
        return sent

    def read(self) -> bytes:
        """The next bytes; b"" at the end."""
        with suppress(ConnectionError):
            return self._socket.recv(65_536)
        return b""

    def answer(self) -> bytes:
        """Read one answer that has a Content-Length."""
        got = b""
        while b"\r\n\r\n" not in got and (more := self.read()):
            got += more
        head, _, body = got.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        while length and len(body) < int(length[1]) and (more := self.read()):
            body += more
        return head + b"\r\n\r\n" + body

    def rest(self) -> bytes:
        """Read everything up to the end of the connection."""
        got = b""
        while more := self.read():
            got += more
        return got

    def is_open(self) -> bool:
        self._socket.settimeout(0.05)
        try:
            return self.read() != b""
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(SECONDS)


class Slow:
    """A connection with an incomplete request, and the time at which it was sent."""

    def __init__(self, platform: Platform, what: str) -> None:
        server, said, self.patience = SLOW[what]
        self.began = time.monotonic()
        self.wire = Wire(address(platform, server), said, "127.0.0.21")


def request(method: str, path: str, *headers: str, body: bytes = b"", host: str = "127.0.0.1") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def statuses(answer: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d\d\d) ", answer)]


def _peak(pid: int) -> int:
    """The peak memory of a process."""
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text("ascii"), re.MULTILINE)
    assert found
    return int(found[1]) * 1024


@contextmanager
def grows_by_less_than(most: int, pid: int) -> Iterator[None]:
    before = _peak(pid)
    yield
    assert _peak(pid) - before < most


def processor_seconds(pid: int) -> float:
    """The CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS

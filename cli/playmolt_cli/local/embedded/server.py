"""Base of the embedded servers: start, wait, stop, kill, restart on the same port."""

import errno
import random
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from playmolt_cli.local.embedded import child
from playmolt_cli.terminal.failures import ExpectedError

_RANGE: Final = range(20_000, 32_000)
"""Below the ephemeral range: otherwise a client that reconnects to a restarting server could get the server's own
port."""
_TRIES: Final = 200


def free_port(candidates: range = _RANGE) -> int:
    """A free port of 127.0.0.1, reserved against other callers of this function while this process runs.

    A check alone is not enough: another `up` could pick the same port before the server starts. Raises OSError if no
    port is free.
    """
    for _ in range(_TRIES):
        port = random.choice(candidates)  # noqa: S311 -- no secret
        if _claim(port) and _is_free(port):
            return port
    raise OSError(errno.EADDRINUSE, f"no free port between {candidates.start} and {candidates.stop} on 127.0.0.1")


def _claim(port: int) -> bool:
    """Reserve the port by binding the UDP port of that number until this process ends; False if it is taken."""
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


START_SECONDS = 60.0
STOP_SECONDS = 10.0
_LAST_LINES = 5


class ServerError(ExpectedError):
    """A server did not start; the message has the last lines of its log."""


class Server(ABC):
    """A server process with its data in `folder`. As a context manager it starts on entry and stops on exit."""

    name: str
    stop_signal: int = signal.SIGTERM

    def __init__(self, folder: Path | str, port: int = 0) -> None:
        self.folder = Path(folder).resolve()
        self.port = port
        self._settled = port != 0
        self.log = self.folder / "log"
        """The server's log file."""
        self.process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """URL for clients."""

    @abstractmethod
    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the process and return at once."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether this process (not another one on its port) accepts clients; blocks for at most a second."""

    def stalled(self) -> bool:
        """Whether the process runs but cannot recover by itself."""
        return False

    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the process on its port (a free one the first time) and return at once."""
        self.port = self.port or free_port()
        self.process = self.spawn()
        return self.process

    def start(self, seconds: float = START_SECONDS) -> Self:
        """Start and wait until it answers. Raises ServerError after `seconds`.

        Restarts a process that ends early: a previous server on this folder may still be stopping, or another program
        may have taken the port.
        """
        if self.alive():
            return self
        try:
            self._start(time.monotonic() + seconds)
        except BaseException:
            self.kill()
            raise
        self._settled = True
        return self

    def _start(self, until: float) -> None:
        self.launch()
        trouble = ""
        while not self.answers():
            if time.monotonic() > until:
                raise ServerError(trouble or self.trouble("does not respond"))
            if not self.alive():
                trouble = self.trouble("keeps exiting")
                time.sleep(0.2)
                self._leave_taken_port()
                self.launch()
            time.sleep(0.01)

    def trouble(self, what: str) -> str:
        """An error message with the last lines of the log."""
        lines = self.log.read_text("utf-8", errors="replace").splitlines() if self.log.exists() else []
        return "\n  ".join([f"{self.name} {what}; log: {self.log}", *lines[-_LAST_LINES:]])

    def _leave_taken_port(self) -> None:
        if self._settled:
            return
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                self.port = 0
        except OSError:
            return

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """Stop cleanly; kill after `seconds`. False if it was killed. Stopping twice does nothing."""
        return self.process is None or child.end(self.process, self.stop_signal, seconds)

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(STOP_SECONDS)

    def restart(self) -> Self:
        """Stop and start again on the same port with the same data."""
        self.stop()
        return self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

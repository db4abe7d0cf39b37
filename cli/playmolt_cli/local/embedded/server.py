"""What the embedded servers share: start and wait, stop, kill, restart on the same port."""

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


START_SECONDS = 30.0
STOP_SECONDS = 10.0
_LAST_LINES = 5


class ServerError(ExpectedError):
    """A server did not start; the message says what it wrote last and where its log is."""


class Server(ABC):
    """A server process with its data in `folder`. Also a context manager: started inside, stopped after."""

    name: str
    stop_signal: int = signal.SIGTERM

    def __init__(self, folder: Path | str, port: int = 0) -> None:
        self.folder = Path(folder).resolve()
        self.port = port
        self._settled = port != 0
        self.log = self.folder / "log"
        """The file that holds what the server wrote."""
        self.process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients connect."""

    @abstractmethod
    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the process and return at once."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether this very process takes clients now; waits a second at most."""

    def stalled(self) -> bool:
        """Whether the process lives and will never take clients again by itself."""
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

        A process that ends early is started again: the former server on this folder may still be going down, and
        another program may have taken the free port in the meantime.
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
                raise ServerError(trouble or self.trouble("does not answer"))
            if not self.alive():
                trouble = self.trouble("does not stay up")
                time.sleep(0.2)
                self._leave_taken_port()
                self.launch()
            time.sleep(0.01)

    def trouble(self, what: str) -> str:
        """Announce what is wrong, with the last lines of the log."""
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
        """Stop cleanly; kill after `seconds`. False when it had to be killed. Stopping twice does nothing."""
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

"""A process that has imported every service once, and of which each is forked.

Eleven interpreters would import much the same libraries: that was most of what the start of a platform cost. What is
forked is as a process of its own: its environment, its log, its session. What one is told, secrets among it, it reads
itself: the server, whose memory the others get, never has it.
"""

import gc
import os
import runpy
import selectors
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from fcntl import F_DUPFD, fcntl
from importlib import import_module
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from types import FrameType
from typing import Final

import msgspec

from playmolt_cli.local.embedded import child
from playmolt_cli.local.embedded.child import PYTHON, UTF8

_START_SECONDS: Final = 60.0
"""Within this a process is there, on a machine that is busy with the imports, too."""
_STOP_SECONDS: Final = 5.0
_CHUNK: Final = 65_536
_MOST_FDS: Final = 8
_ROOM: Final = 16_384
"""Bytes for the environment of a fork where /proc shows it."""


class _ForkRequest(msgspec.Struct, frozen=True):
    """What is run, as `python -m MODULE ARGUMENTS`, with descriptors to be had by the numbers `fds`."""

    name: str
    module: str
    arguments: list[str]
    environment: dict[str, str]
    fds: list[int]


class _Forked(msgspec.Struct, frozen=True, tag=True):
    pid: int


class _Ended(msgspec.Struct, frozen=True, tag=True):
    """`status` as Popen.returncode has it."""

    pid: int
    status: int


_read_report = msgspec.json.Decoder(_Forked | _Ended).decode


class Fork:
    """A process that was forked, with the members of a Popen that a supervisor uses."""

    def __init__(self, pid: int, server: "ForkServer") -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        """The status it ended with, negative for a signal; None while it runs."""
        if self.returncode is None:
            self._server.poll()
        return self.returncode

    def send_signal(self, signum: int) -> None:
        """Signal it unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signum)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, seconds: float) -> int:
        """Raises TimeoutExpired."""
        until = time.monotonic() + seconds
        while (status := self.poll()) is None:
            if time.monotonic() > until:
                raise TimeoutExpired(str(self.pid), seconds)
            time.sleep(0.01)
        return status


class ForkServer:
    """Starts services by their modules, which it imports as soon as it is begun.

    Whoever dies takes those along whom it began: the caller this server, this server its forks.
    """

    def __init__(self, modules: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self._modules = modules
        self._log = log
        self._environment = environment
        self._process: Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._said = b""
        self._forks: dict[int, Fork] = {}

    def begin(self) -> None:
        """Begin to import, and wait for nothing. Raises OSError."""
        self._channel_to_server()

    def _channel_to_server(self) -> socket.socket:
        if self._channel is not None and self._process is not None and self._process.poll() is None:
            return self._channel
        self.end()
        mine, its = socket.socketpair()
        with its:
            command = [*PYTHON, "-m", "playmolt_cli.local.forkserver", str(its.fileno()), *self._modules]
            told = {**self._environment, "ROOM": " " * _ROOM}
            self._process = child.spawn(command, log=self._log, environment=told, fds=[its.fileno()])
        self._channel = mine
        return mine

    def start(
        self, name: str, module: str, arguments: Sequence[str], *, log: Path, environment: Mapping[str, str],
        fds: Sequence[int] = (),
    ) -> Fork:  # fmt: skip
        """Run a module as `child.spawn` would run `python -m`; `name` is what `top` and `ps -e` show.

        Raises OSError when it cannot be done now.
        """
        channel = self._channel_to_server()
        order = _ForkRequest(name, module, [*arguments], {**environment, **UTF8}, [*fds])
        channel.settimeout(_START_SECONDS)
        mine, its = socket.socketpair()
        with mine:
            with its, child.log_of(log) as out:
                socket.send_fds(channel, [b"1"], [its.fileno(), out.fileno(), *fds])
            fork = self._forked(channel)
            mine.settimeout(_START_SECONDS)
            mine.sendall(msgspec.json.encode(order))
        return fork

    def poll(self) -> None:
        """Note which forks have ended; does not wait."""
        if self._channel is not None:
            self._read_reports(self._channel, 0)

    def end(self) -> None:
        """End the server, and what it began."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            child.end(self._process, signal.SIGTERM, _STOP_SECONDS)
            self._process = None
        self._kill_orphans()

    def _forked(self, channel: socket.socket) -> Fork:
        until = time.monotonic() + _START_SECONDS
        while (left := until - time.monotonic()) > 0:
            for report in self._read_reports(channel, left):
                if isinstance(report, _Forked):
                    self._forks[report.pid] = fork = Fork(report.pid, self)
                    return fork
            if self._channel is None:
                raise OSError(f"the fork server has ended; {self._log} says why")
        self.end()  # an answer that comes later would be taken for another's
        raise OSError(f"the fork server did not answer within {_START_SECONDS:.0f} s")

    def _read_reports(self, channel: socket.socket, seconds: float) -> Sequence[_Forked | _Ended]:
        """What the server says within some seconds, or has said; what has ended is noted."""
        channel.settimeout(seconds)
        try:
            said = channel.recv(_CHUNK)
        except (TimeoutError, BlockingIOError):
            return []
        except OSError:
            said = b""
        if not said:
            channel.close()
            self._channel = None
            self._kill_orphans()
            return []
        *lines, self._said = (self._said + said).split(b"\n")
        reports = [_read_report(line) for line in lines]
        for report in reports:
            if isinstance(report, _Ended) and (fork := self._forks.pop(report.pid, None)):
                fork.returncode = report.status
        return reports

    def _kill_orphans(self) -> None:
        """Whom nobody watches any more is ended: nobody would poll of it, nor start it again."""
        self._said = b""
        for fork in self._forks.values():
            fork.returncode = -signal.SIGKILL
            with suppress(ProcessLookupError):
                os.kill(fork.pid, signal.SIGKILL)
        self._forks.clear()


class _ForkLoop:
    """The server's side."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    def serve(self) -> Sequence[int]:
        """Fork as told. Gives the descriptors that came for it in a fork, and none once nobody tells any more."""
        woken, wakes = socket.socketpair()
        for end in (woken, wakes):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, _nothing)
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        with closing(selectors.DefaultSelector()) as selector, woken, wakes:
            selector.register(self._channel, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is woken:
                        woken.recv(_CHUNK)
                        self._reap()
                        continue
                    said, fds, _, _ = socket.recv_fds(self._channel, 1, _MOST_FDS)
                    if not said or self._fork(fds):
                        signal.set_wakeup_fd(-1)
                        return fds

    def _fork(self, fds: Sequence[int]) -> bool:
        """Whether this is the fork."""
        arm = child.die_with(os.getpid(), signal.SIGKILL)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            arm()
            return True
        for fd in fds:
            os.close(fd)
        self._report(_Forked(pid))
        return False

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._report(_Ended(ended[0], os.waitstatus_to_exitcode(ended[1])))

    def _report(self, report: _Forked | _Ended) -> None:
        self._channel.sendall(msgspec.json.encode(report) + b"\n")


def _nothing(_: int, __: FrameType | None) -> None:
    """Signals only wake the loop."""


def _become(orders: int, out: int, *given: int) -> _ForkRequest:
    """Make of this fork the process that was ordered."""
    with socket.socket(fileno=orders) as channel, channel.makefile("rb") as told:
        order = msgspec.json.decode(told.read(), type=_ForkRequest)
    for number in (1, 2):
        os.dup2(out, number)
    os.close(out)
    # Out of the way first: one of them may have come under the number that another is to have.
    moved = [fcntl(fd, F_DUPFD, max(order.fds) + 1) for fd in given]
    for fd in given:
        os.close(fd)
    for fd, number in zip(moved, order.fds, strict=True):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(order.environment)
    sys.argv = [order.module, *order.arguments]
    child.show_as(order.name, [*PYTHON, "-m", *sys.argv], order.environment)
    return order


def _main(fd: int, modules: Sequence[str]) -> None:
    gc.disable()  # what is imported stays: looking through it again and again is a seventh of the work
    for module in modules:
        main = import_module(f"{module}.__main__").__name__
        del sys.modules[main]  # it will be run as `__main__`
    gc.freeze()  # the forks share what is here; a collection would copy all of it
    gc.enable()
    with socket.socket(fileno=fd) as channel:
        fds = _ForkLoop(channel).serve()
    if fds:
        order = _become(*fds)
        runpy.run_module(order.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:])

"""A fork server: it imports every service once and forks each service from that image.

Separate interpreters would each import the same libraries, which took most of the platform's start time. A service with
other work that every fork would repeat has a function `preload` in its `__main__`. A fork has its own environment, log
and session. It reads its own configuration, secrets included, from a private socket: the server, whose memory every
fork shares, never sees a secret.
"""

import gc
import os
import runpy
import select
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
from playmolt_core.ops.children import die_with, leave, show_as

from playmolt_cli.local.embedded import child
from playmolt_cli.local.embedded.child import PYTHON, UTF8

_START_SECONDS: Final = 60.0
"""Longest wait for a fork, including on a machine that is still busy with the imports."""
_STOP_SECONDS: Final = 5.0
_CHUNK: Final = 65_536
_MOST_FDS: Final = 8
_ROOM: Final = 16_384
"""Bytes reserved so that /proc can show a fork's own environment."""


class _ForkRequest(msgspec.Struct, frozen=True):
    """Run `python -m MODULE ARGUMENTS`; the descriptors that are sent along get the numbers in `fds`."""

    name: str
    module: str
    arguments: list[str]
    environment: dict[str, str]
    fds: list[int]


class _Forked(msgspec.Struct, frozen=True, tag=True):
    pid: int


class _Ended(msgspec.Struct, frozen=True, tag=True):
    """`status` is as in Popen.returncode."""

    pid: int
    status: int


_read_report = msgspec.json.Decoder(_Forked | _Ended).decode


class Fork:
    """A forked process, with those members of Popen that the supervisor uses."""

    def __init__(self, pid: int, server: "ForkServer") -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        """Exit status, negative for a signal; None while the process runs."""
        if self.returncode is None:
            self._server.poll()
        return self.returncode

    def send_signal(self, signum: int) -> None:
        """Send a signal unless the process has ended."""
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
    """The caller's side: starts services by module name. The server imports all modules as soon as it starts.

    When the caller dies, the kernel ends the server; when the server dies, the kernel ends its forks.
    """

    def __init__(
        self, modules: Sequence[str], log: Path, environment: Mapping[str, str], channel: socket.socket | None = None
    ) -> None:
        """`channel` leads to a server that runs already; when that server ends, a new one replaces it."""
        self._modules = modules
        self._log = log
        self._environment = environment
        self._process: Popen[bytes] | None = None
        self._channel = channel
        self._partial = b""
        self._forks: dict[int, Fork] = {}

    def begin(self) -> None:
        """Start importing and return at once. Raises OSError."""
        self._channel_to_server()

    def _channel_to_server(self) -> socket.socket:
        if self._channel is not None and (self._process is None or self._process.poll() is None):
            return self._channel
        self.end()
        mine, its = socket.socketpair()
        with its:
            command = [*PYTHON, "-m", "playmolt_cli.local.forkserver", str(its.fileno()), *self._modules]
            env = {**self._environment, "ROOM": " " * _ROOM}
            self._process = child.spawn(command, log=self._log, environment=env, fds=[its.fileno()])
        self._channel = mine
        return mine

    def start(
        self, name: str, module: str, arguments: Sequence[str], *, log: Path, environment: Mapping[str, str],
        fds: Sequence[int] = (),
    ) -> Fork:  # fmt: skip
        """Run a module as `child.spawn` runs `python -m`; `top` and `ps -e` show it as `name`.

        Raises OSError if the process cannot be started.
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
        """Record which forks have ended, without waiting."""
        if self._channel is not None and select.select([self._channel], (), (), 0)[0]:
            self._read_reports(self._channel, 0)

    def reports(self) -> Sequence[socket.socket]:
        """What is readable when a fork has ended."""
        return () if self._channel is None else (self._channel,)

    def end(self) -> None:
        """End the server and its forks."""
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
                raise OSError(f"the fork server has ended; see {self._log}")
        self.end()  # a late answer would be taken for that of the next request
        raise OSError(f"the fork server did not answer within {_START_SECONDS:.0f} s")

    def _read_reports(self, channel: socket.socket, seconds: float) -> Sequence[_Forked | _Ended]:
        """Read the reports that arrive within `seconds`, and record which forks have ended."""
        channel.settimeout(seconds)
        try:
            received = channel.recv(_CHUNK)
        except (TimeoutError, BlockingIOError):
            return []
        except OSError:
            received = b""
        if not received:
            channel.close()
            self._channel = None
            self._kill_orphans()
            return []
        *lines, self._partial = (self._partial + received).split(b"\n")
        reports = [_read_report(line) for line in lines]
        for report in reports:
            if isinstance(report, _Ended) and (fork := self._forks.pop(report.pid, None)):
                fork.returncode = report.status
        return reports

    def _kill_orphans(self) -> None:
        """Kill orphaned children; nothing would restart them."""
        self._partial = b""
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
        """Fork on request. In a fork, returns the descriptors sent for it; in the server, empty when the caller is
        gone."""
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
                    received, fds, _, _ = socket.recv_fds(self._channel, 1, _MOST_FDS)
                    if not received or self._fork(fds):
                        signal.set_wakeup_fd(-1)
                        return fds

    def _fork(self, fds: Sequence[int]) -> bool:
        """Fork; True in the child."""
        arm = die_with(os.getpid(), signal.SIGKILL)
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
    """A handler so that the signal wakes the selector."""


def _become(orders: int, out: int, *given: int) -> _ForkRequest:
    """Turn this fork into the requested process."""
    with socket.socket(fileno=orders) as channel, channel.makefile("rb") as reader:
        order = msgspec.json.decode(reader.read(), type=_ForkRequest)
    for number in (1, 2):
        os.dup2(out, number)
    os.close(out)
    # Move them out of the way first: one may hold the number that another needs.
    moved = [fcntl(fd, F_DUPFD, max(order.fds) + 1) for fd in given]
    for fd in given:
        os.close(fd)
    for fd, number in zip(moved, order.fds, strict=True):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(order.environment)
    sys.argv = [order.module, *order.arguments]
    show_as(order.name, [*PYTHON, "-m", *sys.argv], order.environment)
    return order


def _run(module: str) -> int:
    """Run a module to its end and return the exit status of the process."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    return status & 0xFF


def _main(fd: int, modules: Sequence[str]) -> None:
    gc.disable()  # imported modules stay; collecting during the imports costs a seventh of the time
    for module in modules:
        main = import_module(f"{module}.__main__")
        if preload := getattr(main, "preload", None):
            preload()
        del sys.modules[main.__name__]  # it runs as `__main__` later
    gc.freeze()  # the forks share these pages; a collection would copy them
    gc.enable()
    with socket.socket(fileno=fd) as channel:
        fds = _ForkLoop(channel).serve()
    if fds:
        order = _become(*fds)
        sys.modules.pop(order.module, None)  # a new interpreter would not have imported it
        leave(_run(order.module))


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:])

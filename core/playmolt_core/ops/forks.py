"""Processes that begin with their modules imported: each is a fork of one process, the origin, which has imported them.

Imports are most of what it costs to start a process. The origin runs nothing itself. It ends with its owner, or after a
while without forks, and its forks end with it. A fork that its owner no longer refers to is killed. A fork reads its
order, secrets included, from a private pipe: the origin, whose memory every fork shares, never sees a secret.
"""

import asyncio
import gc
import os
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from fcntl import F_DUPFD, fcntl
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from playmolt_core.ops.children import die_with, leave, log_of, show_as

START_SECONDS: Final = 60.0
"""Longest wait for a fork, including on a machine that is still busy with the imports."""
IDLE_SECONDS: Final = 10.0
"""Longer saves the second that numeric libraries take to import, and keeps their 50 MB."""
_STOP_SECONDS: Final = 5.0
_MOST_FDS: Final = 16
_COMMAND_ROOM: Final = 256
_ENVIRONMENT_ROOM: Final = 16_384
"""Bytes reserved so that /proc can show a fork's own command and environment."""
_ROOM: Final = "ROOM"


class _Order(msgspec.Struct, frozen=True):
    """Run `python -m MODULE ARGUMENTS`. The descriptors that are sent along get the numbers in `fds`."""

    name: str
    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str] | None
    fds: Sequence[int]


class Fork:
    """A forked process, which leads a session of its own, with those members of Popen that supervisors use."""

    def __init__(self, pid: int, report: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._report = report
        self._lock = threading.Lock()
        self._awaited = False

    def __del__(self) -> None:
        self._report.close()

    def fileno(self) -> int:
        """What is readable when the process has ended."""
        return self._report.fileno()

    def poll(self) -> int | None:
        """Exit status, negative for a signal; None while the process runs."""
        with self._lock:
            if self.returncode is None:
                try:
                    line = self._report.recv(64)
                except BlockingIOError:
                    return None
                except OSError:
                    line = b""
                self.returncode = int(line or -signal.SIGKILL)
                if not line:  # the origin has ended; only on Linux have its forks ended, too
                    _kill(self.pid)
                if not self._awaited:
                    self._report.close()
        return self.returncode

    def send_signal(self, signum: int) -> None:
        """Send a signal unless the process has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signum)

    def kill(self) -> None:
        """Kill it and the processes that it has started, unless it has ended."""
        if self.poll() is None:
            _kill(self.pid)

    def wait(self, seconds: float) -> int:
        """Raises TimeoutExpired."""
        until = time.monotonic() + seconds
        while (status := self.poll()) is None:
            left = until - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(str(self.pid), seconds)
            readable = select.poll()
            readable.register(self, select.POLLIN)
            readable.poll(left * 1000)
        return status

    async def ended(self) -> int:
        """Wait for its end and return its status. One task may wait, once."""
        if (status := self.poll()) is not None:
            return status
        self._awaited = True
        loop, readable = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self, readable.set)
        try:
            while (status := self.poll()) is None:
                await readable.wait()
                readable.clear()
        finally:
            loop.remove_reader(self)
            self._report.close()
        return status

    async def end(self, ending: "asyncio.Task[int]") -> None:
        """Kill it unless it has ended, and await `ended`, which is under way, also if cancelled meanwhile."""
        self.kill()
        cancelled: asyncio.CancelledError | None = None
        while not ending.done():
            try:
                await asyncio.wait({ending})
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled


class ForkServer:
    """The owner's side: starts an origin when one is needed, and has it fork. Threads may share it."""

    def __init__(
        self, modules: Sequence[str] = (), *, log: Path | None = None, environment: Mapping[str, str] | None = None,
        channel: socket.socket | None = None, idle_seconds: float = 0.0,
    ) -> None:  # fmt: skip
        """The origin imports the `__main__` of the modules as soon as it starts, and does their other work that every
        fork would repeat: the function `preload` there. `channel` leads to an origin that runs already; when that one
        ends, a new one replaces it. An origin without forks ends after `idle_seconds`; 0: never.
        """
        self._modules = modules
        self._log = log
        self._environment = environment
        self._channel = channel
        self._idle_seconds = idle_seconds
        self._origin: subprocess.Popen[bytes] | None = None
        self._forks: list[Fork] = []
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Start importing and return at once. Raises OSError."""
        with self._lock:
            self._channel_to_origin()

    def _channel_to_origin(self) -> socket.socket:
        if self._channel is not None and (self._origin is None or self._origin.poll() is None):
            return self._channel
        self._end()
        mine, its = socket.socketpair()
        with ExitStack() as undo, its:
            undo.enter_context(mine)
            words = [str(its.fileno()), str(self._idle_seconds), " " * _COMMAND_ROOM, *self._modules]
            environment = os.environ if self._environment is None else self._environment
            with nullcontext() if self._log is None else log_of(self._log) as output:
                self._origin = subprocess.Popen(
                    [sys.executable, "-P", "-m", __name__, *words], stdin=subprocess.DEVNULL, stdout=output,
                    stderr=output, pass_fds=[its.fileno()], start_new_session=True,
                    env={**environment, _ROOM: " " * _ENVIRONMENT_ROOM},
                )  # fmt: skip
            undo.pop_all()
        self._channel = mine
        return mine

    def start(
        self, name: str, module: str, arguments: Sequence[str], *, log: Path | None = None,
        fds: Mapping[int, int] = MappingProxyType({}), environment: Mapping[str, str] | None = None,
        libraries: Iterable[str] = (),
    ) -> Fork:  # fmt: skip
        """Run `python -m MODULE ARGUMENTS`; `top` and `ps -e` show it as `name`.

        Its output goes to `log`. `fds` are our descriptors by the numbers that they have in the fork. `libraries` are
        modules that the origin imports first. Without an environment the fork has the origin's. Raises OSError if the
        process cannot be started.
        """
        with ExitStack() as stack:
            output = () if log is None else (1, 2)
            given = {number: stack.enter_context(log_of(log)).fileno() for number in output if log} | dict(fds)
            order = _Order(name, module, arguments, environment, [*given])
            with self._lock:
                try:
                    fork = self._forked(order, libraries, [*given.values()])
                except ConnectionError:  # the origin may have ended since the last fork
                    fork = self._forked(order, libraries, [*given.values()])
                self._forks = [*self.running(), fork]
        return fork

    def _forked(self, order: _Order, libraries: Iterable[str], fds: Sequence[int]) -> Fork:
        """Raises ConnectionError if the origin has ended."""
        channel = self._channel_to_origin()
        report, its_report = socket.socketpair()
        orders, its_orders = socket.socketpair()
        with ExitStack() as undo, orders:
            undo.enter_context(report)
            try:
                with its_report, its_orders:
                    socket.send_fds(channel, [b"1"], [its_report.fileno(), its_orders.fileno(), *fds])
                orders.settimeout(START_SECONDS)
                orders.sendall(" ".join(libraries).encode() + b"\n" + msgspec.json.encode(order))
                orders.shutdown(socket.SHUT_WR)
                report.settimeout(START_SECONDS)
                pid = _line(report)
            except ConnectionError:
                pid = b""
            if not pid:
                self._leave_origin()
                raise ConnectionResetError(f"the fork server has ended; see {self._log or 'the log of this process'}")
            report.setblocking(False)
            undo.pop_all()
        return Fork(int(pid), report)

    def _leave_origin(self) -> None:
        """Have the next start begin another one."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def poll(self) -> None:
        """Note which forks have ended."""
        for fork in self.running():
            fork.poll()

    def running(self) -> Sequence[Fork]:
        """The forks whose end is not known."""
        return [one for one in self._forks if one.returncode is None]

    def end(self) -> None:
        """End the origin and its forks."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        for fork in self._forks:
            fork.kill()
        self._leave_origin()
        if self._origin is not None:
            if not self._forks:  # otherwise it ends when they have ended
                self._origin.terminate()
            try:
                self._origin.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._origin.kill()
                self._origin.wait()
            self._origin = None
        for fork in self._forks:
            with suppress(subprocess.TimeoutExpired):
                fork.wait(_STOP_SECONDS)
        self._forks.clear()


class AsyncForkServer:
    """A fork server whose owner is an event loop."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._server = ForkServer(idle_seconds=idle_seconds)

    async def start(
        self, module: str, *arguments: str, libraries: tuple[str, ...] = (), streams: tuple[int, int, int]
    ) -> Fork:
        """Run a module, whose imports and libraries are there already, with these standard streams. Raises OSError."""
        # A caller that is cancelled closes its streams, and others may get their numbers before the thread uses them.
        fds = [os.dup(fd) for fd in streams]
        starting = asyncio.create_task(asyncio.to_thread(self._start, module, arguments, (module, *libraries), fds))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_discard)
            raise

    def _start(self, module: str, arguments: Sequence[str], libraries: Sequence[str], fds: Sequence[int]) -> Fork:
        try:
            name, numbered = module.rpartition(".")[2], dict(enumerate(fds))
            return self._server.start(name, module, arguments, fds=numbered, libraries=libraries)
        finally:
            for fd in fds:
                os.close(fd)

    async def close(self) -> None:
        """End the origin and its forks."""
        await asyncio.to_thread(self._server.end)


def _discard(starting: "asyncio.Task[Fork]") -> None:
    if not starting.cancelled() and starting.exception() is None:
        starting.result().kill()


def _kill(pid: int) -> None:
    """Kill a process and those of its session; one that was forked just now has none of its own yet."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


class _Origin:
    def __init__(self, channel: socket.socket, idle_seconds: float) -> None:
        self._channel = channel
        self._idle_seconds = idle_seconds
        self._running: dict[int, socket.socket] = {}
        self._has_forked = False
        self._selector = selectors.DefaultSelector()

    def serve(self) -> Sequence[int] | None:
        """Fork on request. In a fork, returns the descriptors sent for it; in the origin, None when it has to end."""
        woken, wakes = socket.socketpair()
        for end in (woken, wakes):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # so that the signal wakes the selector
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._channel, selectors.EVENT_READ)
        self._selector.register(woken, selectors.EVENT_READ)
        while True:
            idle = bool(self._idle_seconds) and self._has_forked and not self._running
            ready = self._selector.select(self._idle_seconds if idle else None)
            if idle and not ready:
                return None
            for key, _ in ready:
                if key.fileobj is woken:
                    woken.recv(4096)
                    self._reap()
                elif key.fileobj is not self._channel:
                    self._selector.unregister(key.fileobj)
                    _kill(key.data)  # its owner is gone; it is reaped as others are
                elif not (fds := socket.recv_fds(self._channel, 1, _MOST_FDS)[1]):
                    self._kill_all()
                    return None
                elif self._fork(*fds):
                    signal.set_wakeup_fd(-1)
                    for end in (woken, wakes, self._channel, *self._running.values()):
                        end.close()
                    self._selector.close()
                    return fds[1:]

    def _fork(self, report: int, orders: int, *given: int) -> bool:
        """Fork; True in the fork."""
        with socket.socket(fileno=os.dup(orders)) as source:  # the rest is for the fork alone
            for module in _line(source).decode().split():
                import_module(module)
        gc.freeze()  # the forks share these pages; a collection would copy them
        arm = die_with(os.getpid(), signal.SIGKILL)
        with warnings.catch_warnings():
            # Of the threads that some libraries start when they are imported: their forks do without.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            arm()
            os.close(report)
            return True
        for fd in (orders, *given):
            os.close(fd)
        self._running[pid] = socket.socket(fileno=report)
        self._has_forked = True
        self._selector.register(self._running[pid], selectors.EVENT_READ, pid)
        with suppress(OSError):  # the owner may be gone
            self._running[pid].sendall(b"%d\n" % pid)
        return False

    def _kill_all(self) -> None:
        for pid in self._running:
            _kill(pid)
        with suppress(ChildProcessError):
            while True:
                os.wait()

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                report = self._running.pop(ended[0])
                with suppress(KeyError):
                    self._selector.unregister(report)
                with report, suppress(OSError):
                    report.sendall(b"%d\n" % os.waitstatus_to_exitcode(ended[1]))


def _line(source: socket.socket) -> bytes:
    """A line, and no byte of what follows it. Less than one if the other side has ended."""
    line = bytearray()
    while (byte := source.recv(1)) not in (b"\n", b""):
        line += byte
    return bytes(line)


def _become(orders: int, *given: int) -> _Order:
    """Turn this fork into the process that its order names."""
    with socket.socket(fileno=orders) as channel, channel.makefile("rb") as reader:
        order = msgspec.json.decode(reader.read(), type=_Order)
    # Move them out of the way first: one may hold the number that another needs.
    moved = [fcntl(fd, F_DUPFD, max(order.fds) + 1) for fd in given]
    for fd in given:
        os.close(fd)
    for fd, number in zip(moved, order.fds, strict=True):
        os.dup2(fd, number)
        os.close(fd)
    if order.environment is not None:
        os.environ.clear()
        os.environ.update(order.environment)
    os.environ.pop(_ROOM, None)
    sys.argv = [order.module, *order.arguments]
    show_as(order.name, [sys.executable, "-P", "-m", *sys.argv], os.environ)
    return order


def _run(module: str) -> int:
    """Run a module to its end and return the exit status of the process."""
    sys.modules.pop(module, None)  # a new interpreter would not have imported it
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


def _main(fd: int, idle_seconds: float, modules: Sequence[str]) -> None:
    gc.disable()  # imported modules stay; collecting during the imports costs a seventh of the time
    for module in modules:
        main = import_module(f"{module}.__main__")
        if preload := getattr(main, "preload", None):
            preload()
        del sys.modules[main.__name__]  # it runs as `__main__` later
    fds = _Origin(socket.socket(fileno=fd), idle_seconds).serve()
    if fds is None:
        leave(0)
    gc.enable()
    leave(_run(_become(*fds).module))


if __name__ == "__main__":
    _main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[4:])

"""Programs that begin with their libraries imported: each is a fork of a process, the origin, that has imported them.

Imports are most of what a short program costs. The origin starts with the first program, imports what each program
names and runs nothing itself. It ends after a while without programs, and with its owner. A program whose owner no
longer waits for it is killed.
"""

import asyncio
import gc
import os
import selectors
import signal
import socket
import sys
import warnings
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from typing import Final

import msgspec

from playmolt_core.ops.children import die_with, leave, show_as

IDLE_SECONDS: Final = 60.0
"""How long the origin waits for another program."""
_FDS: Final = 4
_ROOM: Final = 256
"""Bytes reserved so that /proc can show a program's own command."""


class _Order(msgspec.Struct, frozen=True):
    """Import the libraries, then run `main(*arguments)` of `module`."""

    module: str
    libraries: tuple[str, ...]
    arguments: tuple[str, ...]


class Program:
    """A forked program, which leads a process group of its own."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pid = pid
        self._reader = reader
        self._writer = writer

    async def wait(self) -> int:
        """Exit status, negative for a signal."""
        line = b""
        with suppress(ConnectionError):
            line = await self._reader.readline()
        self._writer.close()
        return int(line) if line else -signal.SIGKILL  # without a line the origin was killed

    async def end(self, waiting: "asyncio.Task[int]") -> None:
        """Kill it and what it has started unless it has ended, and wait for its end, also if cancelled meanwhile."""
        if not waiting.done():
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        cancelled: asyncio.CancelledError | None = None
        while not waiting.done():
            try:
                await asyncio.wait({waiting})
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled


class Forks:
    """The owner's side, in one event loop."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._channel: socket.socket | None = None
        self._origin: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def start(
        self, module: str, *arguments: str, libraries: tuple[str, ...] = (), streams: tuple[int, int, int]
    ) -> Program:
        """Run `main(*arguments)` of a module, which imports these libraries late, with these standard streams.

        Raises OSError.
        """
        order = _Order(module, libraries, arguments)
        async with self._lock:
            try:
                return await self._forked(order, streams)
            except ConnectionError:  # it may have ended after the last program
                await self.close()
                return await self._forked(order, streams)

    async def close(self) -> None:
        """End the origin and its programs."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._origin is not None:
            await self._origin.wait()
            self._origin = None

    async def _forked(self, order: _Order, streams: Sequence[int]) -> Program:
        channel = self._channel = self._channel or await self._begin()
        mine, its = socket.socketpair()
        with its:
            reader, writer = await asyncio.open_unix_connection(sock=mine)
            try:
                writer.write(msgspec.json.encode(order) + b"\n")
                socket.send_fds(channel, [b"1"], [its.fileno(), *streams])
                its.close()
                line = await reader.readline()
            except BaseException:
                writer.close()
                raise
        if not line:
            writer.close()
            raise ConnectionResetError("the origin of the forks has ended; the log of this process says why")
        return Program(int(line), reader, writer)

    async def _begin(self) -> socket.socket:
        """Start the origin; the channel to it."""
        mine, its = socket.socketpair()
        with ExitStack() as undo, its:
            undo.enter_context(mine)
            self._origin = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", __name__, str(its.fileno()), str(self._idle_seconds), " " * _ROOM,
                stdin=asyncio.subprocess.DEVNULL, pass_fds=[its.fileno()], start_new_session=True,
            )  # fmt: skip
            undo.pop_all()
        return mine


class _Origin:
    """The origin's side."""

    def __init__(self, channel: socket.socket, idle_seconds: float) -> None:
        self._channel = channel
        self._idle_seconds = idle_seconds
        self._running: dict[int, socket.socket] = {}
        self._has_run = False
        self._selector = selectors.DefaultSelector()

    def serve(self) -> tuple[_Order, Sequence[int]] | None:
        """Returns in a program, with its streams; in the origin, None when its time is over."""
        woken, wakes = socket.socketpair()
        for end in (woken, wakes):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._channel, selectors.EVENT_READ)
        self._selector.register(woken, selectors.EVENT_READ)
        while True:
            idle = self._has_run and not self._running
            ready = self._selector.select(self._idle_seconds if idle else None)
            if idle and not ready:
                return None
            for key, _ in ready:
                if key.fileobj is woken:
                    woken.recv(4096)
                    self._reap()
                elif key.fileobj is not self._channel:
                    self._abandoned(key.data)
                elif not (fds := socket.recv_fds(self._channel, 1, _FDS)[1]):
                    self._kill_all()
                    return None
                elif order := self._forked(fds):
                    signal.set_wakeup_fd(-1)
                    for end in (woken, wakes, self._channel, *self._running.values()):
                        end.close()
                    self._selector.close()
                    return order, fds[1:]

    def _forked(self, fds: Sequence[int]) -> _Order | None:
        """Fork; the order in the program."""
        report = socket.socket(fileno=fds[0])
        with report.makefile("rb") as lines:
            order = msgspec.json.decode(lines.readline(), type=_Order)
        for needed in (order.module, *order.libraries):
            import_module(needed)
        gc.freeze()  # the programs share these pages; a collection would copy them
        arm = die_with(os.getpid(), signal.SIGKILL)
        with warnings.catch_warnings():
            # Of the threads that some libraries start when they are imported: their programs do without.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if not pid:
            arm()
            os.setpgid(0, 0)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            report.close()
            return order
        with suppress(OSError):  # both do it, so that neither has to wait
            os.setpgid(pid, pid)
        for fd in fds[1:]:
            os.close(fd)
        self._running[pid] = report
        self._has_run = True
        self._selector.register(report, selectors.EVENT_READ, pid)
        with suppress(OSError):
            report.sendall(b"%d\n" % pid)
        return None

    def _abandoned(self, pid: int) -> None:
        """Kill a program whose owner is gone; it is reaped as others are."""
        self._selector.unregister(self._running[pid])
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                report = self._running.pop(ended[0])
                with suppress(KeyError):
                    self._selector.unregister(report)
                with report, suppress(OSError):
                    report.sendall(b"%d\n" % os.waitstatus_to_exitcode(ended[1]))

    def _kill_all(self) -> None:
        for pid in self._running:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while True:
                os.wait()


def _run(order: _Order, streams: Sequence[int]) -> int:
    """Run a program to its end and return its exit status."""
    show_as(order.module.rpartition(".")[2], [sys.executable, "-m", order.module, *order.arguments], os.environ)
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    try:
        sys.modules[order.module].main(*order.arguments)
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _main(fd: int, idle_seconds: float) -> None:
    gc.disable()
    begun = _Origin(socket.socket(fileno=fd), idle_seconds).serve()
    if begun is not None:
        gc.enable()
        leave(_run(*begun) & 0xFF)


if __name__ == "__main__":
    _main(int(sys.argv[1]), float(sys.argv[2]))

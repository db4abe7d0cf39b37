"""Forks the workers of pytest-xdist from one process, which has imported the product and the tests.

Otherwise each worker would import them itself, at the same time as the others. pytest-xdist starts each worker as a
process with its own streams; that process hands its streams to a fork and waits until the fork ends.
"""

import ast
import inspect
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, Final, NoReturn

import pytest
from playmolt_cli.local.embedded import child
from playmolt_core.ops.children import die_with, leave
from playmolt_core.ops.forks import Fork, ForkServer

from tests import platforms
from tests.room import RUN, SHARED

_STOP_SECONDS: Final = 10.0
_PROGRAM: Final = f"""
import sys
sys.path.insert(0, {str(platforms.ROOT)!r})
from tests import workers
workers.serve(*sys.argv[1:])
"""


def _hand_over() -> None:
    """The program that pytest-xdist starts: hand the streams to a fork, and end when the fork ends."""
    import os
    import signal
    import socket
    import sys

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the worker as well
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(sys.argv[1])
    socket.send_fds(channel, [b"1"], [0, 1, 2])
    os.close(0)
    os.close(1)  # otherwise the reader would not see the end of the stream
    channel.recv(1)
    os._exit(0)


class Workers:
    """A plugin of the process that distributes the tests."""

    _forks: ForkServer | None = None
    _server: Fork | None = None
    _origin: subprocess.Popen[bytes] | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: Sequence[Any]) -> None:
        """Start the process from which workers are forked, and a fork server that has imported only the product."""
        SHARED.mkdir(mode=0o755, exist_ok=True)
        path = str(SHARED / "workers")
        self._forks = platforms.new_forks(SHARED / "forks.log")
        self._forks.begin()
        mine, its = socket.socketpair()
        with mine, its, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            fds = [listener.fileno(), mine.fileno()]
            self._origin = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *map(str, fds), *map(str, config.invocation_params.args)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=fds,
                env={**os.environ, "PYTEST_XDIST_TESTRUNUID": RUN},
                preexec_fn=die_with(os.getpid(), signal.SIGKILL),  # noqa: PLW1509 -- no thread runs yet
            )  # fmt: skip
            try:
                self._server = platforms.fork_server(self._forks, its)
            except OSError:  # the first run compiles all modules and may exceed the time limit
                self._server = platforms.fork_server(self._forks, its)
        program = f"{inspect.getsource(_hand_over)}\n_hand_over()"
        for spec in specs:
            spec.python = shlex.join([sys.executable, "-ISc", program, path])

    def pytest_unconfigure(self) -> None:
        if self._origin is not None:
            child.end(self._origin, signal.SIGTERM, _STOP_SECONDS)
        if self._server is not None:
            with suppress(subprocess.TimeoutExpired):  # wait, so that `time` counts all platforms
                self._server.wait(_STOP_SECONDS)
        if self._forks is not None:
            self._forks.end()


class _ImportsOnly:
    """Imports every test of a run without creating items; each worker creates its own."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self) -> Sequence[pytest.Item]:
        return []

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Remove a module whose import failed: it stays in `sys.modules`, and a worker would not see the error."""
        report = yield
        if report.failed:
            for name, module in [*sys.modules.items()]:
                if getattr(module, "__file__", None) == str(collector.path):
                    del sys.modules[name]
        return report


def _import_tests(arguments: Sequence[str]) -> None:
    """Import all modules that a worker would import. A worker reports those whose import fails."""
    pytest.main([*arguments, "--collect-only", "-qq", "-n0", "-p", "no:cacheprovider"], plugins=[_ImportsOnly()])
    if "hypothesis" in sys.modules:
        from hypothesis import find, strategies
        from hypothesis.errors import NoSuchExample

        with suppress(NoSuchExample):  # makes Hypothesis read the constants of all imported modules once
            find(strategies.integers(), lambda _: False)


def _reap(_: int, __: FrameType | None) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _end(_: int, __: FrameType | None) -> None:
    with suppress(ChildProcessError):
        while True:
            os.wait()
    leave(0)


_SIGNALS: Final = {signal.SIGCHLD: _reap, signal.SIGTERM: _end, signal.SIGINT: signal.SIG_IGN}


def _fork_workers(listener: socket.socket, forks: ForkServer) -> None:
    """Fork a worker for each connection; return in each worker."""
    kept = {number: signal.signal(number, handler) for number, handler in _SIGNALS.items()}
    arm = die_with(os.getpid(), signal.SIGKILL)
    while True:
        connection, _ = listener.accept()
        _, streams, _, _ = socket.recv_fds(connection, 1, 3)
        mine, its = socket.socketpair()
        with its:
            platforms.fork_server(forks, its)
        if not os.fork():
            break
        for fd in (connection.detach(), mine.detach(), *streams):
            os.close(fd)
    for number, handler in kept.items():
        signal.signal(number, handler)
    arm()
    connection.detach()  # the kernel closes it at the end of this process
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    platforms.use_server(mine)


def serve(listener: str, channel: str, *arguments: str) -> NoReturn:
    """Import the tests that the arguments select, then fork workers; in each fork, run the worker."""
    _import_tests(arguments)
    with socket.socket(fileno=int(listener)) as listening, socket.socket(fileno=int(channel)) as forks:
        _fork_workers(listening, platforms.new_forks(SHARED / "forks.log", forks))
    with open(0, encoding="utf-8", closefd=False) as stream:
        source = ast.literal_eval(stream.readline())
    exec(source, {"__name__": "__main__"})  # noqa: S102 -- pytest-xdist sends a new interpreter its program
    leave(0)

"""`playmolt up` as a child process, for the demo and the tests."""

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from playmolt_cli.local.embedded import child
from playmolt_cli.local.embedded.child import PYTHON
from playmolt_cli.local.folder import Folder, Run
from playmolt_cli.local.services import Process
from playmolt_cli.local.supervisor import READY_SECONDS, NotReadyError
from playmolt_cli.terminal.failures import Failure

_STOP_SECONDS = 90.0


@contextmanager
def operator_platform(
    url: str | None, key: str | None, folder: Path, operator_key: str, *, engine: str
) -> Iterator[tuple[str, str]]:
    """The gateway and the operator key of a platform: at `url`, or on a data folder.

    If none runs on the folder, one is started with this engine alone.

    Raises Failure and NotReadyError.
    """
    if url is not None:
        if not (key or operator_key):
            raise Failure("Set the operator key of that platform with --key or PLAYMOLT_OPERATOR_KEY.")
        yield url, key or operator_key
        return
    run = Folder(folder).run()
    if run is not None and engine not in run.engines:
        raise Failure(
            f"{folder} is in use by a command that started only {', '.join(run.engines)}. Wait for its end, or choose"
            " another folder with --data."
        )
    if run is not None:
        yield run.gateway, key or run.operator_key
        return
    with Stack(folder, ("--only", engine)) as stack:
        yield stack.run.gateway, stack.run.operator_key


class Stack:
    """`playmolt up` on a folder, on free ports. Also a context manager: ready inside, stopped after.

    `options` are further options of `up`, `environment` further variables.
    """

    def __init__(self, folder: Path, options: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> None:
        self.folder = Folder(folder)
        self._options = options
        # The demo and the tests seat their own agents; house bots must not fill their games.
        self._environment = {"PLAYMOLT_FILL_SECONDS": "0", **os.environ, **(environment or {})}
        self.process: Process | None = None

    @property
    def log(self) -> Path:
        """Output of `up`."""
        return self.folder.log("up")

    @property
    def run(self) -> Run:
        """Current URLs, credentials and process ids; raises NotReadyError if `up` is not running."""
        run = self.folder.run()
        if run is None:
            raise NotReadyError(f"`up` is not running on {self.folder.path}; its output:\n{self._output()}")
        return run

    def start(self, seconds: float = READY_SECONDS + 10) -> Self:
        """Start and wait until `up` is ready; raises NotReadyError with its output."""
        self.folder.make()
        arguments = ["up", "--data", str(self.folder.path), "--port", "0", "--spectator-port", "0", *self._options]
        self.process = self.launch(arguments, self._environment)
        until = time.monotonic() + seconds
        while not ((run := self.folder.run()) and run.pid == self.process.pid and run.ready):
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise NotReadyError(f"`up` did not become ready; its output:\n{self._output()}")
            time.sleep(0.05)
        return self

    def launch(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Process:
        """Start `playmolt ARGUMENTS` and return at once."""
        command = [*PYTHON, "-m", "playmolt_cli", *arguments]
        return child.spawn(command, log=self.log, environment=environment, death_signal=signal.SIGTERM)

    def _output(self) -> str:
        return self.log.read_text("utf-8", errors="replace")[-4000:] if self.log.exists() else "(none)"

    def stop(self) -> bool:
        """Stop cleanly as SIGTERM does; False when it had to be killed."""
        return self.process is None or child.end(self.process, signal.SIGTERM, _STOP_SECONDS)

    def kill(self, name: str) -> int:
        """SIGKILL one child by its name in run.json (`gateway-1`, `nats` …); returns its process id.

        Waits for a child that is about to be restarted; raises NotReadyError if it does not come.
        """
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until:
            pid = self.run.processes.get(name)
            with suppress(ProcessLookupError):
                if pid is not None:
                    os.kill(pid, signal.SIGKILL)
                    return pid
            time.sleep(0.05)
        raise NotReadyError(f"{name} was not restarted; the output of `up`:\n{self._output()}")

    def kill_tree(self) -> None:
        """SIGKILL `up` and every child of it at once, as a crash of the machine would; return when all have ended."""
        pids = self.run.processes.values()
        if self.process is None:
            return
        for pid in (self.process.pid, *pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(_STOP_SECONDS)
        until = time.monotonic() + _STOP_SECONDS
        while any(map(_runs, pids)) and time.monotonic() < until:
            time.sleep(0.01)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _runs(pid: int) -> bool:
    """Whether any thread of a process runs and may hold its ports and files (Linux)."""
    states = []
    with suppress(OSError):  # a process or a thread that has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                stat = Path(f"/proc/{pid}/task/{thread}/stat").read_text("utf-8")
                states.append(stat.rpartition(") ")[2][0])
    return any(state not in "ZX" for state in states)

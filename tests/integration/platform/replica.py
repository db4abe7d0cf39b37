"""A further service process for an `up`, started in the same way as its own."""

import signal
import subprocess
import time
from typing import Self

from playmolt_cli.local import probe
from playmolt_cli.local.embedded import free_port
from playmolt_core.ops.forks import Fork

from tests.integration.processes import environment_of
from tests.platforms import Stack, start

SECONDS = 90


class Replica:
    """Runs a module with the environment of one of the `up`'s processes, on another port; ready within the context.

    `port` names the environment variable of that port.
    """

    def __init__(self, stack: Stack, like: str, module: str, port: str, **environment: str) -> None:
        number = free_port()
        self.url = f"http://127.0.0.1:{number}"
        self._environment = {**environment_of(stack, like), port: str(number), **environment}
        self._module = module
        self.log = stack.folder.log(f"{like}-replica")
        self.process: Fork | None = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        ended = self.process is not None and self.process.poll() is not None
        self._stop()
        assert not ended, f"it ended by itself: {self.log.read_text()[-4000:]}"

    def roll(self) -> None:
        """Replace the process as a rollout does."""
        assert self._stop() == 0, self.log.read_text()[-2000:]
        self._start()

    def _start(self) -> None:
        self.process = start("replica", self._module, [], log=self.log, environment=self._environment)
        end = time.monotonic() + SECONDS
        while not probe.ready(f"{self.url}/readyz?self").ready:
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            assert time.monotonic() < end, self.log.read_text()[-2000:]
            time.sleep(0.05)

    def _stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait(SECONDS)

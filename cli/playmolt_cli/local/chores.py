"""Commands that `up` runs by itself from time to time, each as a process of its own, one at a time of each."""

import math
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from playmolt_cli.local.embedded import child
from playmolt_cli.local.forkserver import Fork, ForkServer

Tell = Callable[[str, str], None]


class Chore:
    """`playmolt ARGUMENTS`, every `seconds` from `begin` on; 0: never."""

    def __init__(
        self, name: str, arguments: Sequence[str], seconds: float, log: Path, environment: Mapping[str, str],
        forks: ForkServer,
    ) -> None:  # fmt: skip
        self.name = name
        self._arguments = arguments
        self._seconds = seconds
        self._log = log
        self._environment = environment
        self._forks = forks
        self._at = math.inf
        self._process: Fork | None = None

    def begin(self) -> None:
        """Run it at the next `tend`, if ever."""
        if self._seconds:
            self._at = time.monotonic()

    def tend(self, tell: Tell) -> None:
        """Start it when it is time."""
        if time.monotonic() < self._at:
            return
        self._at = time.monotonic() + self._seconds
        if self._process is not None and self._process.poll() is None:
            return
        if self._process is not None and self._process.returncode:
            tell(self.name, f"failed; log: {self._log}")
        try:
            self._process = self._forks.start(
                self.name, "playmolt_cli", self._arguments, log=self._log, environment=self._environment
            )
        except OSError as error:
            tell(self.name, f"cannot be started: {error}")

    def end(self, seconds: float) -> None:
        """Have it end within `seconds`."""
        if self._process is not None:
            child.end(self._process, signal.SIGTERM, seconds)

"""Commands that `up` runs by itself from time to time, each as a process of its own, one at a time of each."""

import math
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from playmolt_cli.local.embedded import child
from playmolt_cli.local.embedded.child import PYTHON

Tell = Callable[[str, str], None]


class Chore:
    """`playmolt ARGUMENTS`, every `seconds` from `begin` on; 0: never."""

    def __init__(
        self, name: str, arguments: Sequence[str], seconds: float, log: Path, environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self._command = [*PYTHON, "-m", "playmolt_cli", *arguments]
        self._seconds = seconds
        self._log = log
        self._environment = environment
        self._at = math.inf
        self._process: subprocess.Popen[bytes] | None = None

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
            self._process = child.spawn(
                self._command, log=self._log, environment=dict(self._environment), death_signal=signal.SIGTERM
            )
        except OSError as error:
            tell(self.name, f"cannot be started: {error}")

    def end(self, seconds: float) -> None:
        """Have it end within `seconds`."""
        if self._process is not None:
            child.end(self._process, signal.SIGTERM, seconds)

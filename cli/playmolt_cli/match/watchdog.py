"""A bot in this process that does not come back is interrupted: its answer has a bound like that of any other."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

SECONDS: Final = 60.0
_LOOKS: Final = 20
"""How often the time of a call is looked at while it runs."""


class TookTooLong(BaseException):
    """Raised inside a bot that took too long; no `except Exception` of its own holds it."""


class Watchdog:
    """Interrupts what runs in the main thread for longer than it may. Entering costs next to nothing."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._since: float | None = None

    @contextmanager
    def on_guard(self) -> Iterator[None]:
        """Watch calls while the body runs, which has to be in the main thread."""
        before = signal.signal(signal.SIGUSR1, self._interrupt)
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(over, threading.get_ident()), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            signal.signal(signal.SIGUSR1, before)

    def begin(self) -> None:
        self._since = time.monotonic()

    def end(self) -> None:
        self._since = None

    def _overdue(self) -> bool:
        since = self._since
        return since is not None and time.monotonic() - since > self.seconds

    def _watch(self, over: threading.Event, main: int) -> None:
        while not over.wait(self.seconds / _LOOKS):
            if self._overdue():
                with suppress(ProcessLookupError):
                    signal.pthread_kill(main, signal.SIGUSR1)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self._overdue():
            self._since = None
            raise TookTooLong

"""A clock that a test moves on, for what memory counts by a clock of its own."""

import time


class Clock:
    """Runs like any other; what has to pass without anything happening passes at once."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        self._ahead += seconds

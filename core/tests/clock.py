"""A clock that a test can advance, for implementations in memory that use their own clock."""

import time


class Clock:
    """Runs like any other clock, but a test can skip time in which nothing happens."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        self._ahead += seconds

"""How replicas share out the runs: a replica with more runs waits longer before it takes another."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

STEP_SECONDS: Final = 0.25
MOST_SECONDS: Final = 3.0
"""A replica alone takes every run after this long."""
_FORGET: Final = 5000


class LoadBalancer:
    """What this replica has in hand, and since when it knows of runs that it left to others so far."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._in_hand: set[str] = set()
        self._seen: dict[str, float] = {}

    def leaves_to_others(self, run: str) -> bool:
        now = self._clock()
        if len(self._seen) > _FORGET:
            self._seen.clear()
        waited = now - self._seen.setdefault(run, now)
        return waited < min(MOST_SECONDS, STEP_SECONDS * len(self._in_hand))

    @contextmanager
    def hold(self, run: str) -> Iterator[None]:
        self._seen.pop(run, None)
        self._in_hand.add(run)
        try:
            yield
        finally:
            self._in_hand.discard(run)

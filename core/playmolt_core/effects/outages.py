"""Times in which the platform could not accept actions, so that deadlines do not blame bots for outages.

`MemoryOutages` is the in-memory counterpart of `playmolt_core.effects.postgres`; both pass one contract suite.
"""

import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, Protocol

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.ops.process import next_tick

BEAT_SECONDS: Final = 1.0
SILENCE_SECONDS: Final = 3.0
"""If no engine of a type has reported for so long that it accepts actions, it is an outage."""


class Outages(Protocol):
    """All methods raise LogUnavailable."""

    async def beat(self, game: str) -> None:
        """Report that actions of a game type are accepted now."""
        ...

    async def lost(self, game: str, since: datetime) -> float | None:
        """The seconds since then in which actions could not be accepted; None during an outage."""
        ...


async def beating(outages: Outages, game: str, able: Callable[[], Awaitable[bool]]) -> None:
    """Report periodically that actions are accepted, while they are."""
    while True:
        try:
            if await able():
                await outages.beat(game)
        except LogUnavailable:  # no actions are accepted now
            pass
        await next_tick(BEAT_SECONDS)


class MemoryOutages:
    def __init__(self, clock: Callable[[], float] = time.time, silence: float = SILENCE_SECONDS) -> None:
        self._clock = clock
        self._silence = silence
        self._last: dict[str, float] = {}
        self._outages: dict[str, list[tuple[float, float]]] = {}

    async def beat(self, game: str) -> None:
        now = self._clock()
        last = self._last.get(game, now)
        if now - last > self._silence:
            self._outages.setdefault(game, []).append((last, now))
        self._last[game] = now

    async def lost(self, game: str, since: datetime) -> float | None:
        last, start = self._last.get(game), since.timestamp()
        if last is None or self._clock() - last > self._silence:
            return None
        return sum(max(0.0, ended - max(began, start)) for began, ended in self._outages.get(game, ()))

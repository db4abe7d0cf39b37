"""Moves the projections along the log: each finished game counts once, whatever is killed when."""

import asyncio
from functools import partial
from typing import Final

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.pool import Pool
from playmolt_core.db.projections import PgProjections, clear, move
from playmolt_core.log.port import EventLog
from playmolt_core.log.reading import CHUNK
from playmolt_core.ops.telemetry import log as logger
from playmolt_core.relay.relay import FIRST_PAUSE, LONGEST_PAUSE, POLL_SECONDS
from playmolt_core.relay.results import finished_games
from playmolt_core.relay.standings import enter, enter_and_rate, rate_all

_KEEP_EVERY: Final = 1_000
"""Events without a result after which the position is stored: a commit for each would cost more than reading them
again."""

_log = logger("projector")


class Projector:
    """Applies the log to the projections. Any number may run: a chunk counts only for the one that stores it first."""

    def __init__(self, log: EventLog, pool: Pool) -> None:
        self._log = log
        self._pool = pool
        self._projections = PgProjections(pool)
        self._stored: int | None = None
        self._level = False
        """Whether the last step came to where the log ended then: under load each commit would be asked after alone."""
        self._awake = asyncio.Event()
        self._moved = asyncio.Condition()
        self.position = 0
        """The projections hold everything up to here."""
        self.ready = False
        """Whether the last step succeeded."""

    def wake(self) -> None:
        self._awake.set()

    async def run(self) -> None:
        """Apply until cancelled; what fails is tried again after a pause that grows to a bound."""
        pause = FIRST_PAUSE
        while True:
            try:
                moved = await self.step()
            except LogUnavailable as error:
                self.ready, self._stored = False, None
                _log.warning("projector_waits", detail=str(error)[:300])
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            self.ready, pause = True, FIRST_PAUSE
            if not moved or self._level:
                await self._sleep()

    async def _sleep(self) -> None:
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._awake.wait()
        except TimeoutError:
            return
        finally:
            self._awake.clear()

    async def step(self) -> bool:
        """Apply the next chunk; False when there was none. Raises LogUnavailable."""
        if self._stored is None:
            self._stored = await self._projections.position()
            if self._stored is None:
                self._stored = await rebuild(self._pool, self._log)
                _log.info("projections_rebuilt", position=self._stored)
            await self._reach(self._stored)
        newest = await self._log.position()
        if newest <= self.position:
            return False
        read = await self._log.results(self.position, CHUNK)
        # A game that ended since `newest` was read belongs to the next chunk: counted here, it would count twice.
        entries = [entry for entry in read if entry.record.position <= newest]
        position = entries[-1].record.position if len(entries) == CHUNK else newest
        games = list(finished_games(entries))
        if games or position - self._stored >= _KEEP_EVERY:
            apply = partial(enter_and_rate, games=games)
            if not await self._projections.advance(self._stored, position, apply):
                self._stored, self._level = None, False  # another projector moved it
                return True
            self._stored = position
        self._level = position == newest
        await self._reach(position)
        return True

    async def _reach(self, position: int) -> None:
        async with self._moved:
            self.position = position
            self._moved.notify_all()

    async def sync(self, seconds: float) -> bool:
        """Wait until everything committed before this call is applied; False when it is not after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                wanted = await self._log.position()
                self.wake()
                async with self._moved:
                    await self._moved.wait_for(lambda: self.position >= wanted)
        except TimeoutError:
            return False
        return True


async def rebuild(pool: Pool, log: EventLog) -> int:
    """Make the projections anew from the log and give the position they hold; readers see the old ones until then.

    Needs two connections of the pool.
    """
    async with pool.transaction() as connection:
        await clear(connection)
        position, after = await log.position(), 0
        while entries := await log.results(after, CHUNK):
            await enter(connection, finished_games(entry for entry in entries if entry.record.position <= position))
            after = entries[-1].record.position
        await rate_all(connection)
        await move(connection, position)
    return position

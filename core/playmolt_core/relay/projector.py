"""Advances the projections along the log: each finished game counts exactly once, despite any crash."""

import asyncio
from functools import partial
from typing import Final

from playmolt_schemas.shards import Places, write_places

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.pool import Pool
from playmolt_core.db.projections import PgProjections, clear, move
from playmolt_core.log.port import ShardReader
from playmolt_core.log.reading import CHUNK, places, results_to
from playmolt_core.ops.process import set_before_tick
from playmolt_core.ops.telemetry import log as logger
from playmolt_core.relay.relay import FIRST_PAUSE, LONGEST_PAUSE, POLL_SECONDS
from playmolt_core.relay.results import FinishedGame, finished_games
from playmolt_core.relay.standings import enter_and_rate

_KEEP_EVERY: Final = 1_000
"""Events without a result after which the position is stored: to commit each position costs more than to read them
again."""

_TOGETHER: Final = 10_000
"""Games that a rebuild rates before it stores them: a result that is stored without its rating is written twice."""

_log = logger("projector")


class Projector:
    """Applies the log to the projections. Any number may run: only the first to store a chunk applies it."""

    def __init__(self, log: ShardReader, pool: Pool, *, poll_seconds: float = POLL_SECONDS) -> None:
        self._log = log
        self._pool = pool
        self._poll_seconds = poll_seconds
        self._projections = PgProjections(pool)
        self._stored: list[int] | None = None
        self._level = False
        """Whether the last step reached the end of the log: then it pauses, or it would poll for every commit."""
        self._awake = asyncio.Event()
        self._level_shards: set[int] = set()
        """Those that end where the projections do, as far as was noted since the last poll."""
        self._moved = asyncio.Condition()
        self.places: Places = (0,) * log.shards
        """The projections include everything up to here."""
        self.ready = False
        """Whether the last step succeeded."""

    def wake(self) -> None:
        self._awake.set()

    def note_end(self, shard: int, position: int) -> None:
        """Note that a shard ends here now. A poll is needless when all shards were noted and there is nothing new."""
        if position > self.places[shard]:
            self._awake.set()
        else:
            self._level_shards.add(shard)

    async def run(self) -> None:
        """Apply until cancelled; failures are retried after a pause that grows up to a bound."""
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
        """Wait until there is something new, or until the next poll is needed."""
        noted = True
        while noted:
            self._level_shards.clear()
            woken = await set_before_tick(self._awake, self._poll_seconds)
            self._awake.clear()
            noted = not woken and len(self._level_shards) == self._log.shards

    async def step(self) -> bool:
        """Apply the next chunk of each shard; False if there was none. Raises LogUnavailable."""
        if self._stored is None:
            held_to = await self._projections.places()
            if held_to is None:
                held_to = await rebuild(self._pool, self._log)
                _log.info("projections_rebuilt", position=write_places(held_to))
            self._stored = list(held_to)
            await self._reach(held_to)
        self._level = True
        moved = [await self._step(shard, self._stored) for shard in range(self._log.shards)]
        if None in moved:  # another projector moved a shard
            self._stored, self._level = None, False
        return any(each is not False for each in moved)

    async def _step(self, shard: int, stored: list[int]) -> bool | None:
        """As `step`, for one shard; None if another projector moved it."""
        newest, reached = await self._log.position(shard), self.places[shard]
        if newest <= reached:
            return False
        read = await self._log.results(reached, CHUNK, shard)
        # A game that ended after `newest` was read belongs to the next chunk; here it would count twice.
        entries = [entry for entry in read if entry.record.position <= newest]
        position = entries[-1].record.position if len(entries) == CHUNK else newest
        games = list(finished_games(entries))
        if games or position - stored[shard] >= _KEEP_EVERY:
            apply = partial(enter_and_rate, games=games)
            if not await self._projections.advance(stored[shard], position, apply, shard):
                return None
            stored[shard] = position
        self._level &= position == newest
        await self._reach((*self.places[:shard], position, *self.places[shard + 1 :]))
        return True

    async def _reach(self, reached: Places) -> None:
        async with self._moved:
            self.places = reached
            self._moved.notify_all()

    async def sync(self, seconds: float) -> bool:
        """Wait until everything committed before this call is applied; False after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                wanted = await places(self._log)
                self.wake()
                async with self._moved:
                    await self._moved.wait_for(
                        lambda: all(at >= end for at, end in zip(self.places, wanted, strict=True))
                    )
        except TimeoutError:
            return False
        return True


async def rebuild(pool: Pool, log: ShardReader, *, together: int = _TOGETHER) -> Places:
    """Rebuild the projections from the log and return the place up to which they include it.

    Until then readers see the old ones. Needs two connections of the pool.
    """
    async with pool.transaction() as connection:
        await clear(connection)
        ends, games = await places(log), list[FinishedGame]()
        async for entries in results_to(log, ends):
            games += finished_games(entries)
            if len(games) >= together:
                await enter_and_rate(connection, games)
                games = []
        await enter_and_rate(connection, games)
        for shard, position in enumerate(ends):
            await move(connection, position, shard)
    return ends

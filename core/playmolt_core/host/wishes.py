"""What the world owes the games of this engine: deadlines passed in time, work done by workers under leases.

Every replica looks, and hears of its own commits at once; the log lets one answer to a wish through.
"""

import asyncio
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from playmolt_core import tracing
from playmolt_core.decider import DeadlinePassed, Decider, Wish
from playmolt_core.host.entry import Snapshot
from playmolt_core.host.errand import Errand, Wishless, Worker
from playmolt_core.host.freshness import Freshness
from playmolt_core.host.writes import Writes
from playmolt_core.llm.leases import LeaseLost, Leases, holding
from playmolt_core.log.port import EventLog, LogUnavailable
from playmolt_core.telemetry import log, where

_log = log("wishes")
LOOK_SECONDS = 0.5
_AT_ONCE = 500
_DEADLINE = "deadline"
LEASE_SECONDS = 15.0
_PAUSE_SECONDS = 1.0
_PAUSE_MOST = 60.0
_DRAIN_SECONDS = 5.0


class Wishes:
    """Looks for wishes and has them fulfilled. `workers` maps a kind of wish to who fulfils it, under a lease each."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        fresh: Freshness,
        writes: Writes,
        *,
        workers: Mapping[str, Worker] | None = None,
        leases: Leases | None = None,
        at_once: int = 64,
    ) -> None:
        self._decider = decider
        self._log = event_log
        self._fresh = fresh
        self._writes = writes
        self._workers = workers or {}
        self._leases = leases
        self._room = asyncio.Semaphore(at_once)
        self._holder = uuid.uuid4().hex
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._stopping = False
        if self._workers:
            writes.on_due = self._hear

    @property
    def under_way(self) -> int:
        """Wishes in hand."""
        return len(self._under_way)

    async def run(self) -> None:
        """Look twice a second."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look(datetime.now(UTC))
            except LogUnavailable as error:
                _log.warning("log_away", detail=str(error)[:300])

    async def look(self, now: datetime) -> None:
        """Take up every wish that is due."""
        for stream in await self._log.due(self._decider.game, now, _AT_ONCE):
            await self._look_at(stream, now)

    async def stop(self) -> None:
        """Take up no more wishes; finish what is in hand if it is quick, else leave it to the next holder."""
        self._stopping = True
        tasks = list(self._under_way.values())
        if tasks:
            await asyncio.wait(tasks, timeout=_DRAIN_SECONDS)
        for task in tasks:
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.gather(*tasks, return_exceptions=True)

    def _hear(self, stream: str) -> None:
        """Look at a stream right after its commit, without asking the log: memory is as new as the commit."""
        snapshot = self._fresh.present(stream)
        if snapshot is not None:
            self._take_up_all(stream, snapshot, datetime.now(UTC))

    async def _look_at(self, stream: str, now: datetime) -> None:
        try:
            snapshot = await self._fresh.snapshot(stream)
        except LogUnavailable:
            raise
        except Exception as error:  # a stored event that does not fold: the other games go on
            _log.error("stream_unreadable", stream=stream, error=type(error).__name__, traceback=where(error))
            return
        if snapshot is not None:
            self._take_up_all(stream, snapshot, now)

    def _take_up_all(self, stream: str, snapshot: Snapshot, now: datetime) -> None:
        if self._stopping:
            return
        try:
            wishes = self._decider.wants(snapshot.state)
        except Exception as error:  # a bug in rules: neither the commit that told of it nor other games may end with it
            _log.error("wishes_unreadable", stream=stream, error=type(error).__name__, traceback=where(error))
            return
        for wish in wishes:
            if wish.due <= now and (wish.lease or wish.id) not in self._under_way:
                self._take_up(stream, wish)

    def _take_up(self, stream: str, wish: Wish) -> None:
        if wish.kind == _DEADLINE:
            work = self._pass_deadline(stream, wish)
        elif wish.kind in self._workers and self._leases is not None:
            work = self._fulfil(stream, wish, self._workers[wish.kind], self._leases)
        else:
            return
        task, name = asyncio.create_task(work), wish.lease or wish.id
        self._under_way[name] = task
        task.add_done_callback(lambda _: self._under_way.pop(name, None))

    async def _pass_deadline(self, stream: str, wish: Wish) -> None:
        errand = Errand(stream, wish, None, 1, self._writes, self._fresh)
        try:
            await errand.tell(DeadlinePassed(wish_id=wish.id))
        except Wishless as refused:
            _log.warning("deadline_refused", stream=stream, status=refused.status)

    async def _fulfil(self, stream: str, wish: Wish, worker: Worker, leases: Leases) -> None:
        """Fulfil a wish under its lease. What goes wrong is tried again, ever more slowly, as the next attempt."""
        attempt = 1
        try:
            async with self._room:
                lease = await leases.take(wish.lease or wish.id, self._holder, LEASE_SECONDS)
                if lease is None:
                    return
                attempt = lease.attempt
                async with holding(leases, lease, LEASE_SECONDS):
                    snapshot = await self._fresh.snapshot(stream)
                    if snapshot is None or all(other.id != wish.id for other in self._decider.wants(snapshot.state)):
                        return
                    with tracing.fulfilling(wish.kind, stream, attempt):
                        await worker(
                            Errand(stream, wish, snapshot, attempt, self._writes, self._fresh, lambda: self._stopping)
                        )
                    return
        except Wishless as refused:
            _log.warning("wish_refused", stream=stream, kind=wish.kind, status=refused.status, detail=refused.detail)
        except (LogUnavailable, LeaseLost) as error:
            _log.warning("wish_put_off", stream=stream, kind=wish.kind, error=type(error).__name__)
        except Exception as error:  # a bug in a worker must not take the other games of this engine down
            _log.error(
                "worker_failed", stream=stream, kind=wish.kind, error=type(error).__name__, traceback=where(error)
            )
        await asyncio.sleep(min(_PAUSE_SECONDS * 2 ** min(attempt - 1, 6), _PAUSE_MOST))

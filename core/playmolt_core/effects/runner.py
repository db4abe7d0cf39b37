"""Runs pending effects: due deadlines, and workers under leases.

Every replica polls the log and is notified of its own commits; the log accepts only one answer per effect.
"""

import asyncio
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Generic

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.effects.leased_effect import (
    CommandRefused,
    CommittedStreams,
    LeasedEffect,
    Submit,
    Worker,
    effect_command_id,
)
from playmolt_core.effects.leases import LeaseLost, Leases, holding
from playmolt_core.effects.outages import Outages
from playmolt_core.game.decider import DeadlinePassed, Decider, Effect, Refused, S
from playmolt_core.game.fold import Snapshot
from playmolt_core.log.port import Archived, GameIndex
from playmolt_core.ops import tracing
from playmolt_core.ops.process import next_tick
from playmolt_core.ops.telemetry import log, where
from playmolt_core.vault.vault import Erased

_log = log("effects")
POLL_SECONDS = 0.5
_AT_ONCE = 500
_TOGETHER = 32
"""One query reads the versions of so many due streams; more would delay the reads of actions."""
_DEADLINE = "deadline"
LEASE_SECONDS = 15.0
_PAUSE_SECONDS = 1.0
_PAUSE_MOST = 60.0
_DRAIN_SECONDS = 5.0


class EffectRunner(Generic[S]):
    """Carries out effects when they are due. `workers` maps a kind to its worker; each effect runs under a lease."""

    def __init__(
        self,
        decider: Decider[S],
        event_log: GameIndex,
        streams: CommittedStreams[S],
        submit: Submit,
        *,
        workers: Mapping[str, Worker] | None = None,
        leases: Leases | None = None,
        outages: Outages | None = None,
        at_once: int = 64,
    ) -> None:
        self._decider = decider
        self._log = event_log
        self._streams = streams
        self._submit = submit
        self._workers = workers or {}
        self._leases = leases
        self._outages = outages
        self._room = asyncio.Semaphore(at_once)
        self._holder = uuid.uuid4().hex
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    @property
    def under_way(self) -> int:
        return len(self._under_way)

    async def run(self) -> None:
        while True:
            await next_tick(POLL_SECONDS)
            try:
                await self.poll(datetime.now(UTC))
            except LogUnavailable as error:
                _log.warning("log_away", detail=str(error)[:300])

    async def poll(self, now: datetime) -> None:
        due = await self._log.due(self._decider.game, now, _AT_ONCE)
        for start in range(0, len(due), _TOGETHER):
            await asyncio.gather(*(self._check(stream, now) for stream in due[start : start + _TOGETHER]))

    async def stop(self, drain_seconds: float = _DRAIN_SECONDS) -> None:
        """Start no more effects. Finish running ones if they are quick, otherwise leave them to the next holder."""
        self._stopping = True
        tasks = list(self._under_way.values())
        if tasks:
            await asyncio.wait(tasks, timeout=drain_seconds)
        for task in tasks:
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.gather(*tasks, return_exceptions=True)

    def check_committed(self, stream: str) -> None:
        """Check a stream right after its commit, without reading the log, because memory is up to date."""
        snapshot = self._streams.present(stream) if self._workers else None
        if snapshot is not None:
            self._take_up_all(stream, snapshot, datetime.now(UTC))

    async def _check(self, stream: str, now: datetime) -> None:
        try:
            snapshot = await self._streams.snapshot(stream)
        except LogUnavailable:
            raise
        except (Archived, Erased):
            return  # archived or erased since the poll
        except Exception as error:  # a stored event that does not fold: other games continue
            _log.error("stream_unreadable", stream=stream, error=type(error).__name__, traceback=where(error))
            return
        if snapshot is not None:
            self._take_up_all(stream, snapshot, now)

    def _take_up_all(self, stream: str, snapshot: Snapshot[S], now: datetime) -> None:
        if self._stopping:
            return
        try:
            effects = self._decider.effects(snapshot.state)
        except Exception as error:  # a bug in rules must not affect the commit or other games
            _log.error("effects_unreadable", stream=stream, error=type(error).__name__, traceback=where(error))
            return
        for effect in effects:
            if effect.due <= now and (effect.lease or effect.id) not in self._under_way:
                self._take_up(stream, effect)

    def _take_up(self, stream: str, effect: Effect) -> None:
        if effect.kind == _DEADLINE:
            work = self._pass_deadline(stream, effect)
        elif effect.kind in self._workers and self._leases is not None:
            work = self._fulfil(stream, effect, self._workers[effect.kind], self._leases)
        else:
            return
        task, name = asyncio.create_task(work), effect.lease or effect.id
        self._under_way[name] = task
        task.add_done_callback(lambda _: self._under_way.pop(name, None))

    def _owed(self, snapshot: Snapshot[S], effect_id: str) -> Effect | None:
        return next((each for each in self._decider.effects(snapshot.state) if each.id == effect_id), None)

    async def _pass_deadline(self, stream: str, effect: Effect) -> None:
        lost = await self._lost(effect)
        if lost is None:
            await asyncio.sleep(_PAUSE_SECONDS)
            return
        command = DeadlinePassed(effect_id=effect.id, lost_ms=round(1000 * lost))
        passed = await self._submit(stream, command, effect_command_id(effect.id))
        if isinstance(passed, Refused):
            _log.warning("deadline_refused", stream=stream, code=passed.code.wire)

    async def _lost(self, effect: Effect) -> float | None:
        """The seconds in which agents could not act since the deadline began; None during an outage or if unknown."""
        if self._outages is None or not isinstance(effect.payload, datetime):
            return 0
        try:
            return await self._outages.lost(self._decider.game, effect.payload)
        except LogUnavailable as error:
            _log.warning("log_away", detail=str(error)[:300])
            return None

    async def _fulfil(self, stream: str, effect: Effect, worker: Worker, leases: Leases) -> None:
        """Carry out an effect under its lease; failures are retried with a growing pause, as the next attempt."""
        attempt = 1
        try:
            async with self._room:
                lease = await leases.take(effect.lease or effect.id, self._holder, LEASE_SECONDS)
                if lease is None:
                    return
                attempt = lease.attempt
                async with holding(leases, lease, LEASE_SECONDS):
                    snapshot = await self._streams.snapshot(stream)
                    now = self._owed(snapshot, effect.id) if snapshot else None
                    if snapshot is None or now is None:
                        return
                    leased = LeasedEffect(
                        stream, now, snapshot, attempt, self._submit, self._streams, lambda: self._stopping
                    )
                    with tracing.fulfilling(effect.kind, stream, attempt):
                        await worker(leased)
                    return
        except CommandRefused as refused:
            _log.warning("effect_refused", stream=stream, kind=effect.kind, detail=str(refused))
        except (Archived, Erased):
            return  # no effects remain
        except (LogUnavailable, LeaseLost) as error:
            _log.warning("effect_put_off", stream=stream, kind=effect.kind, error=type(error).__name__)
        except Exception as error:  # a bug in a worker must not affect other games of this engine
            _log.error(
                "worker_failed", stream=stream, kind=effect.kind, error=type(error).__name__, traceback=where(error)
            )
        await asyncio.sleep(min(_PAUSE_SECONDS * 2 ** min(attempt - 1, 6), _PAUSE_MOST))

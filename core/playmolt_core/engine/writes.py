"""Deciding and committing: calls in, one transaction for whatever waits, answers after the commit."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from playmolt_schemas.codes import MISMATCH, Code
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.identifiers import SESSION_TYPES

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.api_requests import BadBody, api_request
from playmolt_core.engine.cached_stream import fresh_stream, number_of
from playmolt_core.engine.commit_queue import CommitQueue, Group
from playmolt_core.engine.pending_call import ARCHIVED_GAME, PendingCall, Submission, refuse_busy
from playmolt_core.engine.planning import Need, Plan, Planner, body_of
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Accepted, Command, Decider, Refused
from playmolt_core.log.port import Archived, EventLog, RecordTooLarge
from playmolt_core.ops import tracing
from playmolt_core.ops.metrics import SIZES, Histogram
from playmolt_core.ops.telemetry import log, trace_id, where
from playmolt_core.settings import Settings

_log = log("writes")
_MAX_TRIES = 12
_CALM_TRIES = 3
_AWAY_SECONDS = 0.2


def _nobody(_: Answer) -> None:
    """A submission answers its future."""


class Writes:
    """The writing half of an engine. Every call it takes is answered, at the latest with `unavailable`."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        streams: StreamCache,
        settings: Settings,
        on_commit: Callable[[], None],
        api: GameApi[Any] | None = None,
    ) -> None:
        self._decider = decider
        self._log = event_log
        self._streams = streams
        self._settings = settings
        self._on_commit = on_commit
        config = {"phase_deadline_seconds": settings.phase_deadline_seconds}
        self._planner = Planner(decider, streams.get, partial(datetime.now, UTC), config, api=api)
        self._api = api
        self._on_due: Callable[[str], None] = lambda _: None
        self._queue = CommitQueue()
        self._queued = asyncio.Event()
        self._parked: defaultdict[str, list[PendingCall]] = defaultdict(list)
        self._settled: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)
        self._tasks: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self.commits = 0
        self.committed_commands = 0
        self.batch_sizes = Histogram(SIZES)
        self.batch_seconds = Histogram()

    @property
    def under_way(self) -> int:
        """Calls taken and not answered yet."""
        return self._under_way

    def take(self, work: PendingCall) -> None:
        """Take a call: decide it now if memory allows, answer it after its commit."""
        if self._under_way >= self._settings.queue_commands:
            refuse_busy(work)
            return
        self._under_way += 1
        self._attempt(work)

    async def submit(self, stream: str, command: Command, command_id: str) -> Accepted | Refused:
        """See `effects.ports.Submit`."""
        outcome: asyncio.Future[Accepted | Refused] = asyncio.get_running_loop().create_future()
        call = Call(0, "act", stream, command_id=command_id)
        self.take(Submission(call, _nobody, command, outcome=outcome))
        return await outcome

    def hear_due(self, on_due: Callable[[str], None]) -> None:
        """Call back after each commit that leaves a stream with effects."""
        self._on_due = on_due

    def when_settled(self, stream: str, then: Callable[[], None]) -> None:
        """Call back after the next commit of a stream that has uncommitted changes."""
        self._settled[stream].append(then)

    async def run(self) -> None:
        """Commit for ever."""
        while True:
            await self._queued.wait()
            batch = self._queue.cut(self._settings.batch_commands)
            if batch:
                await self._commit(batch)
            elif not self._queue:
                self._queued.clear()

    async def drain(self, seconds: float) -> None:
        """Wait until everything taken is answered, at most `seconds`."""
        end = time.monotonic() + seconds
        while self._under_way and time.monotonic() < end:  # noqa: ASYNC110 -- once in a life; an event is set per answer
            await asyncio.sleep(0.01)

    def _answer(self, work: PendingCall, status: int, body: bytes) -> None:
        self._under_way -= 1
        work.answer(status, body)

    def _refuse_busy(self, work: PendingCall) -> None:
        self._under_way -= 1
        refuse_busy(work)

    def _attempt(self, work: PendingCall) -> None:
        if 0 < work.call.deadline_ms < time.time() * 1000:  # nobody waits for the answer any more
            self._refuse_busy(work)
            return
        started = time.time_ns() if tracing.sampled(work.call.trace) else 0
        try:
            planned = self._planner.plan(work)
        except BadBody as error:
            self._under_way -= 1
            work.refuse(Code.INVALID_REQUEST, f"The body does not fit: {error}.")
            return
        except Exception as error:  # a bug in rules must not take the other games of this engine down
            kind, frames = type(error).__name__, where(error)
            name = trace_id(work.call.trace)
            _log.error(
                "decision_failed", op=work.call.op, target=work.call.target, error=kind, traceback=frames, trace_id=name
            )
            self._refuse_busy(work)
            return
        if started:
            facts: tracing.Attributes = {
                "playmolt.op": work.call.op,
                "playmolt.target": work.call.target,
                "playmolt.try": work.tries,
            }
            tracing.record(work.call.trace, f"decide {self._decider.game}", started, facts)
        if isinstance(planned, Plan):
            self._gather(work, planned)
        elif isinstance(planned, Need):
            self._park(work, planned.stream)
        else:
            self._repeat(work, planned.stream)

    def _gather(self, work: PendingCall, plan: Plan) -> None:
        if not plan.changes:
            self._under_way -= 1
            plan.answer(work)
            return
        for change in plan.changes:
            if self._streams.get(change.entry.stream) is None:
                self._streams.put(change.entry)
        if plan.remember_on is not None:
            plan.remember_on.seen.add(number_of(work.call.command_id))
        self._queue.add(work, plan)
        self._queued.set()

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _park(self, work: PendingCall, stream: str) -> None:
        """Let a call wait for its stream to be read; one read serves all that wait."""
        self._parked[stream].append(work)
        if len(self._parked[stream]) == 1:
            self._spawn(self._read(stream))

    async def _read(self, stream: str) -> None:
        try:
            entry = await self._streams.read(stream)
        except LogUnavailable:
            await asyncio.sleep(_AWAY_SECONDS)
            self._again(self._parked.pop(stream, ()))
            return
        except Archived:
            for work in self._parked.pop(stream, ()):
                self._go_on_without(work, stream)
            return
        except Exception as error:  # a stored event that does not fold: this game is refused, the others go on
            _log.error("stream_unreadable", stream=stream, error=type(error).__name__, traceback=where(error))
            for work in self._parked.pop(stream, ()):
                self._refuse_busy(work)
            return
        if entry is not None and self._streams.get(stream) is None:
            self._streams.put(entry)
        for work in self._parked.pop(stream, ()):
            if entry is not None or self._opened(work, stream):
                self._attempt(work)
            else:
                self._under_way -= 1
                self._refuse_unknown(work)

    def _go_on_without(self, work: PendingCall, stream: str) -> None:
        """Refuse a call about an archived stream; one that only passes by it, as a join does, is decided without it."""
        if work.call.target != stream:
            work.archived |= {stream}
            self._attempt(work)
            return
        self._under_way -= 1
        if self._decider.game in SESSION_TYPES:
            self._refuse_unknown(work)
        else:
            work.refuse(Code.NOT_FOUND, ARCHIVED_GAME)

    def _refuse_unknown(self, work: PendingCall) -> None:
        try:
            refused = self._planner.unknown(work)
        except BadBody as error:
            work.refuse(Code.INVALID_REQUEST, f"The body does not fit: {error}.")
        else:
            work.refuse(refused.code, refused.detail, refused.errors)

    def _opened(self, work: PendingCall, stream: str) -> bool:
        """Make room for a stream that a call may open."""
        try:
            opens = self._planner.opens(work)
        except BadBody:
            return False
        if opens and self._streams.get(stream) is None:
            self._streams.put(fresh_stream(self._decider, stream))
        return opens

    def _repeat(self, work: PendingCall, stream: str) -> None:
        """Answer a repeated command with its remembered outcome, once that is committed."""
        entry = self._streams.get(stream)
        if entry is not None and entry.uncommitted:
            self.when_settled(stream, lambda: self._attempt(work))
        else:
            self._spawn(self._recall(work, stream))

    async def _recall(self, work: PendingCall, stream: str) -> None:
        try:
            outcome = await self._log.outcome(stream, work.call.command_id)
        except LogUnavailable:
            await asyncio.sleep(_AWAY_SECONDS)
            self._again([work])
            return
        if outcome is None:
            # Memory was ahead of a commit that failed: read afresh.
            self._streams.drop(stream)
            self._again([work])
        elif outcome.fingerprint != work.call.fingerprint:
            self._under_way -= 1
            work.refuse(Code.IDEMPOTENCY_MISMATCH, MISMATCH)
        elif work.call.op == "tell":
            self._tell_again(work, stream, outcome.body)
        else:
            self._answer(work, 200, outcome.body)

    def _tell_again(self, work: PendingCall, stream: str, body: bytes) -> None:
        """Repeat the answer of a game's own call: as remembered, or from what the stream has come to meanwhile."""
        entry, request = self._streams.get(stream), api_request(work.call)
        if body:
            self._answer(work, 201 if self._api and request.route in self._api.opens else 200, body)
        elif entry is None:
            self._again([work])
        else:
            reply = self._planner.answer(entry.committed.state, request)
            if isinstance(reply, Refused) and reply.code is Code.UNAVAILABLE:
                # What it asked for could not be had, and a refusal is not remembered: the repeat is a new try.
                work.afresh = True
                self._again([work])
            elif isinstance(reply, Refused):
                self._under_way -= 1
                work.refuse(reply.code, reply.detail, reply.errors)
            else:
                self._answer(work, reply.status, body_of(reply))

    async def _commit(self, batch: list[Group]) -> None:
        started = time.time_ns()
        try:
            statuses = await self._log.append([group.unit() for group in batch])
        except LogUnavailable as error:
            _log.warning("append_failed", games=len(batch), detail=str(error)[:300])
            await self._lose(batch)
            return
        except RecordTooLarge:
            await self._isolate(batch)
            return
        self.commits += 1
        self.batch_sizes.observe(sum(len(group.answers) for group in batch))
        self.batch_seconds.observe((time.time_ns() - started) / 1e9)
        if tracing.on():
            self._trace(batch, started)
        failed = []
        for group, status in zip(batch, statuses, strict=True):
            if status == "appended":
                self._finish(group)
            else:
                failed.append(group)
        self._on_commit()
        if failed:
            self._again(self._forget(failed))

    def _trace(self, batch: list[Group], started: int) -> None:
        works = [work for group in batch for work in group.works()]
        for work in works:
            if tracing.sampled(work.call.trace):
                facts: tracing.Attributes = {
                    "playmolt.target": work.call.target,
                    "playmolt.commit.commands": len(works),
                }
                tracing.record(work.call.trace, "commit", started, facts)

    def _finish(self, group: Group) -> None:
        self.committed_commands += len(group.answers)
        for stream, change in group.changes.items():
            change.entry.committed = change.head
            change.entry.uncommitted -= 1
            if self._settled:
                self._notify(stream)
            if change.due is not None:
                self._on_due(stream)
        self._under_way -= len(group.answers)
        for work, plan in group.answers:
            plan.answer(work)

    def _notify(self, stream: str) -> None:
        for then in self._settled.pop(stream, ()):
            then()

    def _forget(self, groups: list[Group]) -> list[PendingCall]:
        """Drop the streams of groups that were not stored, with what gathered on top of them; give their calls."""
        works = [work for group in groups for work in group.works()]
        streams = [stream for group in groups for stream in group.changes]
        for stream in streams:
            self._streams.drop(stream)
        resting = self._queue.take_touching(streams)
        if resting:
            works += self._forget(resting)
        for stream in streams:
            self._notify(stream)
        return works

    async def _lose(self, batch: list[Group]) -> None:
        """The database is away and whether the batch is stored is unknown: start again from what it will say."""
        works = self._forget(batch) + self._forget(self._queue.take_all())
        for work in works:
            work.tries = 0
        await asyncio.sleep(_AWAY_SECONDS)
        self._again(works)

    async def _isolate(self, batch: list[Group]) -> None:
        """Find the group with a record too large for the log; it alone is refused."""
        if len(batch) > 1:
            for group in batch:
                await self._commit([group])
            return
        _log.error("record_too_large", streams=list(batch[0].changes))
        for work in self._forget(batch):
            self._under_way -= 1
            work.refuse(Code.BODY_TOO_LARGE, "What this would store is over the log's limit for one record.")

    def _again(self, works: Iterable[PendingCall]) -> None:
        """Decide calls afresh; after many conflicts with a pause, and never without end."""
        for work in works:
            work.tries += 1
            if work.tries > _MAX_TRIES:
                self._refuse_busy(work)
            elif work.tries <= _CALM_TRIES:
                self._attempt(work)
            else:
                pause = random.uniform(0, 0.005 * 2**work.tries)  # noqa: S311 -- spreads rivals apart, guards nothing
                asyncio.get_running_loop().call_later(min(pause, 0.5), self._attempt, work)

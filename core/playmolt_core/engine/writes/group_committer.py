"""Group commit: one transaction for all queued plans, while the next batch fills; calls are answered after it."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import Fault

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.engine.stream_cache import RETRY_SECONDS, StreamCache
from playmolt_core.engine.writes.commit_queue import CommitQueue, Group
from playmolt_core.engine.writes.plans import Plan
from playmolt_core.game.decider import Refused
from playmolt_core.log.port import AppendStatus, EventLog, RecordTooLarge
from playmolt_core.ops import tracing
from playmolt_core.ops.metrics import SIZES, Histogram
from playmolt_core.ops.telemetry import log

_log = log("committing")
_TOO_LARGE = Refused(Code.BODY_TOO_LARGE, "The record would exceed the size limit of the log. Send less data.")


OnCommit = Callable[[Collection[int]], None]
"""Called after each commit with the shards that were written."""


class GroupCommitter:
    """Stores plans in batches of at most `batch_commands`. Calls that conflicted or were lost go to `again`."""

    def __init__(
        self,
        event_log: EventLog,
        streams: StreamCache,
        batch_commands: int,
        on_commit: OnCommit,
        again: Callable[[Iterable[PendingCall]], None],
    ) -> None:
        self._log = event_log
        self._streams = streams
        self._on_commit = on_commit
        self._again = again
        self._on_due: Callable[[str], None] = lambda _: None
        self._on_fault: Callable[[PendingCall, Plan, Fault], None] = lambda pending, plan, _: plan.answer(pending)
        self._queue = CommitQueue(batch_commands, event_log.shards)
        self._queued = asyncio.Event()
        self._settled: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)
        self.commits = 0
        self.committed_commands = 0
        self.batch_sizes = Histogram(SIZES)
        self.batch_seconds = Histogram()

    def add(self, pending: PendingCall, plan: Plan) -> None:
        """Queue a plan that was decided on the current heads; its call is answered after the commit."""
        self._queue.add(pending, plan)
        self._queued.set()

    def on_effects_due(self, on_due: Callable[[str], None]) -> None:
        """Register a callback for each commit after which a stream has effects."""
        self._on_due = on_due

    def on_fault(self, on_fault: Callable[[PendingCall, Plan, Fault], None]) -> None:
        """Register who answers calls that count as a fault."""
        self._on_fault = on_fault

    def when_settled(self, stream: str, then: Callable[[], None]) -> None:
        """Call back once the uncommitted changes of a stream are committed or discarded."""
        self._settled[stream].append(then)

    async def run(self) -> None:
        """Commit until cancelled."""
        while True:
            await self._queued.wait()
            batch = self._queue.cut()
            if batch:
                await self._commit(batch)
            elif not self._queue:
                self._queued.clear()

    async def _commit(self, batch: list[Group]) -> None:
        started = time.time_ns()
        try:
            statuses = await self._log.append([group.unit() for group in batch])
        except LogUnavailable as error:
            _log.warning("append_failed", games=len(batch), detail=str(error)[:300])
            await self._lose(batch)
        except RecordTooLarge:
            await self._isolate(batch)
        else:
            self._count(batch, started)
            self._settle(batch, statuses)

    def _count(self, batch: list[Group], started: int) -> None:
        self.commits += 1
        self.batch_sizes.observe(sum(len(group.answers) for group in batch))
        self.batch_seconds.observe((time.time_ns() - started) / 1e9)
        if tracing.on():
            _trace(batch, started)

    def _settle(self, batch: list[Group], statuses: Sequence[AppendStatus]) -> None:
        conflicts = []
        for group, status in zip(batch, statuses, strict=True):
            if status == "appended":
                self._finish(group)
            else:
                conflicts.append(group)
        self._on_commit(frozenset[int]().union(*(group.shards(self._log.shards) for group in batch)))
        if conflicts:
            self._again(self._forget(conflicts))

    def _finish(self, group: Group) -> None:
        self.committed_commands += len(group.answers)
        for stream, change in group.changes.items():
            change.entry.committed = change.head
            change.entry.uncommitted -= 1
            self._streams.settle(change.entry)
            if self._settled:
                self._notify(stream)
            if change.due is not None:
                self._on_due(stream)
        for pending, plan in group.answers:
            if plan.fault is None:
                plan.answer(pending)
            else:
                self._on_fault(pending, plan, plan.fault)

    def _notify(self, stream: str) -> None:
        for then in self._settled.pop(stream, ()):
            then()

    def _forget(self, groups: list[Group]) -> list[PendingCall]:
        """Drop the streams of groups that were not stored, with all groups that depend on them; returns their calls."""
        calls = [pending for group in groups for pending in group.calls()]
        streams = [stream for group in groups for stream in group.changes]
        for stream in streams:
            self._streams.drop(stream)
        dependent = self._queue.take_touching(streams)
        if dependent:
            calls += self._forget(dependent)
        for stream in streams:
            self._notify(stream)
        return calls

    async def _lose(self, batch: list[Group]) -> None:
        """The database is unavailable and it is unknown whether the batch is stored: decide all calls again."""
        calls = self._forget(batch) + self._forget(self._queue.take_all())
        for pending in calls:
            pending.tries = 0
        await asyncio.sleep(RETRY_SECONDS)
        self._again(calls)

    async def _isolate(self, batch: list[Group]) -> None:
        """Find the group with a record that is too large for the log, and refuse only that group."""
        if len(batch) > 1:
            for group in batch:
                await self._commit([group])
            return
        _log.error("record_too_large", streams=list(batch[0].changes))
        for pending in self._forget(batch):
            pending.refuse(_TOO_LARGE)


def _trace(batch: list[Group], started: int) -> None:
    calls = [pending.call for group in batch for pending in group.calls()]
    for call in calls:
        if tracing.sampled(call.trace):
            facts: tracing.Attributes = {"playmolt.target": call.target, "playmolt.commit.commands": len(calls)}
            tracing.record(call.trace, "commit", started, facts)

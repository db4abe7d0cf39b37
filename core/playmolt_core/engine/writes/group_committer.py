"""Group commit: one transaction for all queued plans, while the next batch fills; calls are answered after it."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal

from playmolt_schemas.envelopes import Call
from playmolt_schemas.identifiers import rfc3339

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.feed import Committed
from playmolt_core.engine.messages import lobby_message
from playmolt_core.engine.stream_cache import RETRY_SECONDS, StreamCache
from playmolt_core.engine.writes.commit_queue import CommitQueue, Group
from playmolt_core.engine.writes.plans import Change, Plan
from playmolt_core.log.port import Appended, EventLog, RecordTooLarge
from playmolt_core.ops import tracing
from playmolt_core.ops.metrics import SIZES, Histogram
from playmolt_core.ops.telemetry import log

_log = log("committing")
CommitStatus = Literal["stored", "conflict", "lost", "too_large"]
"""What became of a plan. `lost`: the database was unavailable, and it is unknown whether the plan was stored."""
Settle = Callable[[CommitStatus], None]
OnCommit = Callable[[Sequence[Committed]], None]
"""Called after each commit with what was stored."""


class GroupCommitter:
    """Stores plans in batches of at most `batch_commands`."""

    def __init__(self, event_log: EventLog, streams: StreamCache, batch_commands: int, on_commit: OnCommit) -> None:
        self._log = event_log
        self._streams = streams
        self._on_commit = on_commit
        self._on_due: Callable[[str], None] = lambda _: None
        self._queue = CommitQueue(batch_commands, event_log.shards)
        self._queued = asyncio.Event()
        self._waiting: defaultdict[str, list[asyncio.Future[None]]] = defaultdict(list)
        self.commits = 0
        self.committed_commands = 0
        self.batch_sizes = Histogram(SIZES)
        self.batch_seconds = Histogram()

    def add(self, call: Call, plan: Plan, settle: Settle) -> None:
        """Queue a plan that was decided on the current heads; `settle` is called once."""
        self._queue.add(call, plan, settle)
        self._queued.set()

    def on_effects_due(self, on_due: Callable[[str], None]) -> None:
        """Register a callback for each commit after which a stream has effects."""
        self._on_due = on_due

    async def settled(self, stream: str) -> bool:
        """Wait until the uncommitted changes of a stream are committed or discarded; False if there are none."""
        entry = self._streams.get(stream)
        if entry is None or not entry.uncommitted:
            return False
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[stream].append(settled)
        await settled
        return True

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
            results = await self._log.append([group.unit() for group in batch])
        except LogUnavailable as error:
            _log.warning("append_failed", games=len(batch), detail=str(error)[:300])
            lost = self._forget(batch) + self._forget(self._queue.take_all())
            await asyncio.sleep(RETRY_SECONDS)
            _settle(lost, "lost")
        except RecordTooLarge:
            await self._isolate(batch)
        else:
            self._count(batch, started)
            self._finish(batch, results)

    def _count(self, batch: list[Group], started: int) -> None:
        self.commits += 1
        self.batch_sizes.observe(sum(len(group.commands) for group in batch))
        self.batch_seconds.observe((time.time_ns() - started) / 1e9)
        if tracing.on():
            _trace(batch, started)

    def _finish(self, batch: list[Group], results: Sequence[Appended | None]) -> None:
        conflicts = [group for group, firsts in zip(batch, results, strict=True) if firsts is None]
        commits: list[Committed] = []
        for group, firsts in zip(batch, results, strict=True):
            if firsts is None:
                continue
            self.committed_commands += len(group.commands)
            for first, change in zip(firsts, group.changes.values(), strict=True):
                self._advance(change)
                if change.records:
                    commits.append(_committed(first, change))
            _settle([group], "stored")
        self._on_commit(commits)
        if conflicts:
            _settle(self._forget(conflicts), "conflict")

    def _advance(self, change: Change) -> None:
        entry = change.entry
        entry.committed = change.head
        entry.uncommitted -= 1
        self._streams.settle(entry)
        if self._waiting:
            self._notify(entry.stream)
        if change.due is not None:
            self._on_due(entry.stream)

    def _notify(self, stream: str) -> None:
        for settled in self._waiting.pop(stream, ()):
            if not settled.done():
                settled.set_result(None)

    def _forget(self, groups: list[Group]) -> list[Group]:
        """Drop the streams of groups that were not stored; returns the groups with all that depend on them."""
        streams = [stream for group in groups for stream in group.changes]
        for stream in streams:
            self._streams.drop(stream)
        dependent = self._queue.take_touching(streams)
        forgotten = groups + (self._forget(dependent) if dependent else [])
        for stream in streams:
            self._notify(stream)
        return forgotten

    async def _isolate(self, batch: list[Group]) -> None:
        """Find the group with a record that is too large for the log, and refuse only that group."""
        if len(batch) > 1:
            for group in batch:
                await self._commit([group])
            return
        _log.error("record_too_large", streams=list(batch[0].changes))
        _settle(self._forget(batch), "too_large")


def _settle(groups: Sequence[Group], status: CommitStatus) -> None:
    for group in groups:
        for command in group.commands:
            command.settle(status)


def _committed(first: int, change: Change) -> Committed:
    game, stream = change.entry.decider.game, change.entry.stream
    before, after = change.before.summary if change.before.version else None, change.head.summary
    lobby = None
    if game != "lobby" and before != after:
        lobby = lobby_message(game, stream, before, after, rfc3339(change.records[-1].at))
    return Committed(stream, first, change.records, after.invite, lobby)


def _trace(batch: list[Group], started: int) -> None:
    calls = [command.call for group in batch for command in group.commands]
    for call in calls:
        if tracing.sampled(call.trace):
            facts: tracing.Attributes = {"playmolt.target": call.target, "playmolt.commit.commands": len(calls)}
            tracing.record(call.trace, "commit", started, facts)

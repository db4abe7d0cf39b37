"""Group commit: one transaction for all queued plans, while the next batch fills; calls are answered after it."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

import msgspec
from playmolt_schemas.envelopes import Call
from playmolt_schemas.shards import shard_of

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.cached_stream import CachedStream, number_of
from playmolt_core.engine.feed import StoredRecords
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.engine.stream_cache import RETRY_SECONDS, StreamCache
from playmolt_core.engine.writes.plans import Change, Plan
from playmolt_core.log.port import Appended, Appender, Outcome, RecordTooLarge, Unit
from playmolt_core.ops import tracing
from playmolt_core.ops.metrics import SIZES, Histogram
from playmolt_core.ops.telemetry import log
from playmolt_core.vault.stream_key import fingerprint_under

_log = log("committing")
Failure = Literal["conflict", "lost"]
"""Why a plan was not stored. `lost`: the database was unavailable, and it is unknown whether the plan was stored."""
CommitStatus = Failure | Literal["stored", "too_large"]
OnCommit = Callable[[Sequence[StoredRecords]], None]
"""Called after each commit with what was stored."""
_REMEMBERED: Final = (200, 201)
"""Statuses of answers with a stored body; other repeats are answered from the current state of the stream."""


class QueuedCommand(NamedTuple):
    pending: PendingCall
    plan: Plan
    settle: Callable[[CommitStatus], None] | None
    """Gets the status. Without it, the committer answers the call once the plan is stored."""


class Group(msgspec.Struct, eq=False):
    """Commands that commit or fail together because they share a stream, in the order of their decisions."""

    changes: dict[str, Change] = {}
    commands: list[QueuedCommand] = []
    outcomes: list[Outcome] = []
    full: bool = False
    """Another group depends on it, so it accepts no more commands."""

    def unit(self) -> Unit:
        return Unit(streams=[change.to_append() for change in self.changes.values()], outcomes=self.outcomes)


class GroupCommitter:
    """Stores plans in batches of at most `batch_commands`, and answers their calls."""

    def __init__(self, event_log: Appender, streams: StreamCache, batch_commands: int, on_commit: OnCommit) -> None:
        self._log = event_log
        self._streams = streams
        self._on_commit = on_commit
        self.on_due: Callable[[str], None] = lambda _: None
        """Called for a stream that has effects due after a commit."""
        self.on_failure: Callable[[PendingCall, CommitStatus], None] = lambda pending, _: pending.refuse_busy()
        """Called for a call whose plan was not stored."""
        self._queue = CommitQueue(batch_commands, event_log.shards)
        self._queued = asyncio.Event()
        self.commits = 0
        self.committed_commands = 0
        self.batch_sizes = Histogram(SIZES)
        self.batch_seconds = Histogram()

    def add(self, pending: PendingCall, plan: Plan, settle: Callable[[CommitStatus], None] | None = None) -> None:
        """Queue a plan that was decided on the current heads."""
        command = QueuedCommand(pending, plan, settle)
        if not plan.changes:  # it depends on nothing stored
            self._settle([command], "stored")
            return
        for change in plan.changes:
            if self._streams.get(change.entry.stream) is None:
                self._streams.put(change.entry)
        if plan.remember_on is not None:
            plan.remember_on.seen.add(number_of(pending.call.command_id))
        self._queue.add(command)
        self._queued.set()

    async def run(self) -> None:
        """Commit until cancelled."""
        while True:
            await self._queued.wait()
            self._queued.clear()
            while batch := self._queue.cut():
                await self._commit(batch)

    async def _commit(self, batch: list[Group]) -> None:
        started = time.time_ns()
        try:
            results = await self._log.append([group.unit() for group in batch])
        except LogUnavailable as error:
            _log.warning("append_failed", games=len(batch), detail=str(error)[:300])
            lost = self._forget(batch) + self._forget(self._queue.take_all())
            await asyncio.sleep(RETRY_SECONDS)
            self._settle(lost, "lost")
        except RecordTooLarge:
            if len(batch) == 1:
                _log.error("record_too_large", streams=list(batch[0].changes))
                self._settle(self._forget(batch), "too_large")
                return
            for group in batch:  # only the group with that record is refused
                await self._commit([group])
        else:
            self.commits += 1
            self.batch_sizes.observe(sum(len(group.commands) for group in batch))
            self.batch_seconds.observe((time.time_ns() - started) / 1e9)
            if tracing.on():
                _trace(batch, started)
            self._finish(batch, results)

    def _finish(self, batch: list[Group], results: Sequence[Appended | None]) -> None:
        conflicts: list[Group] = []
        commits: list[StoredRecords] = []
        now = datetime.now(UTC)
        for group, firsts in zip(batch, results, strict=True):
            if firsts is None:
                conflicts.append(group)
                continue
            self.committed_commands += len(group.commands)
            for first, change in zip(firsts, group.changes.values(), strict=True):
                entry = change.entry
                entry.committed = change.head
                entry.uncommitted -= 1
                self._streams.settle(entry)
                if change.due is not None and change.due <= now:
                    self.on_due(entry.stream)
                if change.records:
                    before = change.before.summary if change.before.version else None
                    commits.append(StoredRecords(entry.stream, first, change.records, before, change.head.summary))
            self._settle(group.commands, "stored")
        self._on_commit(commits)
        if conflicts:
            self._settle(self._forget(conflicts), "conflict")

    def _forget(self, groups: list[Group]) -> list[QueuedCommand]:
        """Drop the streams of groups that were not stored; returns their commands and all that depend on them."""
        streams = [stream for group in groups for stream in group.changes]
        for stream in streams:
            self._streams.drop(stream)
        dependent = self._queue.take_touching(streams)
        commands = [command for group in groups for command in group.commands]
        return commands + (self._forget(dependent) if dependent else [])

    def _settle(self, commands: Iterable[QueuedCommand], status: CommitStatus) -> None:
        for command in commands:
            if command.settle is not None:
                command.settle(status)
            elif status == "stored":
                command.plan.answer(command.pending)
            else:
                self.on_failure(command.pending, status)


class CommitQueue:
    """The groups of the next commits, by the streams that they change; a group has at most `limit` commands.

    A change of a full group's stream starts a new group that depends on it. A batch belongs to one shard, or to the two
    shards of its groups, so that writers of different shards never wait for each other.
    """

    def __init__(self, limit: int, shards: int = 1) -> None:
        self._limit = limit
        self._shards = shards
        self._newest: dict[str, Group] = {}
        self._groups: dict[Group, None] = {}

    def add(self, command: QueuedCommand) -> None:
        """Add a command and advance the heads of its streams. Groups that share a stream with it merge."""
        plan = command.plan
        group = self._group_for(plan)
        for change in plan.changes:
            entry = change.entry
            earlier = group.changes.get(entry.stream)
            if earlier is None:
                group.changes[entry.stream] = change
                self._newest[entry.stream] = group
                entry.uncommitted += 1
            else:
                earlier.extend(change)
            entry.head = change.head
            if change.records:
                entry.due = change.due
        group.commands.append(command)
        if plan.remember_on is not None and not plan.follows:
            group.outcomes.append(_outcome(command.pending.call, plan, plan.remember_on))

    def _group_for(self, plan: Plan) -> Group:
        newest = [self._newest.get(change.entry.stream) for change in plan.changes]
        touched = dict.fromkeys(filter(None, newest))
        size = sum(len(group.commands) for group in touched)
        if not touched or size >= self._limit or any(group.full for group in touched):
            for dependency in touched:
                dependency.full = True
            group = Group()
            self._groups[group] = None
            return group
        group, *others = touched
        for other in others:
            self._merge(group, other)
        return group

    def _merge(self, group: Group, other: Group) -> None:
        """No group depends on either, and their dependencies are before them, so the merged group goes to the end."""
        group.changes |= other.changes
        group.commands += other.commands
        group.outcomes += other.outcomes
        for merged in (group, other):
            del self._groups[merged]
        self._groups[group] = None
        for stream in other.changes:
            self._newest[stream] = group

    def cut(self) -> list[Group]:
        """Take whole groups with the shards of the oldest one, oldest first, up to the limit of commands."""
        batch: list[Group] = []
        size = 0
        for group in self._of_one_kind():
            size += len(group.commands)
            if batch and size > self._limit:
                break
            batch.append(group)
        return self._take(batch)

    def _of_one_kind(self) -> Iterator[Group]:
        """The groups with the same shards as the oldest one, except those that depend on a group with other shards."""
        if self._shards == 1:
            yield from self._groups
            return
        wanted: frozenset[int] | None = None
        passed: set[str] = set()
        for group in self._groups:
            shards = frozenset(shard_of(stream, self._shards) for stream in group.changes)
            wanted = wanted or shards
            if shards == wanted and passed.isdisjoint(group.changes):
                yield group
            else:
                passed |= group.changes.keys()

    def take_touching(self, streams: Collection[str]) -> list[Group]:
        """Take the groups that change one of these streams."""
        return self._take([group for group in self._groups if not group.changes.keys().isdisjoint(streams)])

    def take_all(self) -> list[Group]:
        return self._take(list(self._groups))

    def _take(self, groups: list[Group]) -> list[Group]:
        for group in groups:
            del self._groups[group]
            for stream in group.changes:
                if self._newest.get(stream) is group:
                    del self._newest[stream]
        return groups


def _outcome(call: Call, plan: Plan, entry: CachedStream) -> Outcome:
    key, name = entry.key, call.command_id
    body = plan.body if plan.status in _REMEMBERED else b""
    return Outcome(
        stream=entry.stream,
        command_id=name,
        fingerprint=fingerprint_under(key, call.fingerprint),
        body=key.seal_text(f"outcome|{name}", body) if key is not None and body else body,
    )


def _trace(batch: list[Group], started: int) -> None:
    calls = [command.pending.call for group in batch for command in group.commands]
    for call in calls:
        if tracing.sampled(call.trace):
            facts: tracing.Attributes = {"playmolt.target": call.target, "playmolt.commit.commands": len(calls)}
            tracing.record(call.trace, "commit", started, facts)

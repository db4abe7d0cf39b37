"""The queue of the next commit, filled while the current one is in progress (group commit without a timer)."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from playmolt_schemas.envelopes import Call
from playmolt_schemas.shards import shard_of

from playmolt_core.engine.cached_stream import CachedStream
from playmolt_core.engine.writes.plans import Change, Plan
from playmolt_core.log.port import Outcome, Unit
from playmolt_core.vault.stream_key import fingerprint_under

_REMEMBERED = (200, 201)
"""Statuses of answers with a stored body; other repeats are answered from the current state of the stream."""


class QueuedCommand(NamedTuple):
    """A command, and what is called with the status of its commit."""

    call: Call
    settle: Callable[[Any], None]


class Group(msgspec.Struct, eq=False):
    """Commands that commit or fail together because they share a stream, in the order of their decisions."""

    changes: dict[str, Change] = {}
    commands: list[QueuedCommand] = []
    outcomes: list[Outcome] = []
    full: bool = False
    """Another group depends on it, so it accepts no more commands."""

    def absorb(self, other: "Group") -> None:
        """Merge another group, which has no stream in common."""
        self.changes |= other.changes
        self.commands += other.commands
        self.outcomes += other.outcomes

    def unit(self) -> Unit:
        return Unit(streams=[change.to_append() for change in self.changes.values()], outcomes=self.outcomes)

    def shards(self, count: int) -> frozenset[int]:
        """The shards of its streams, given the number of shards."""
        return frozenset(shard_of(stream, count) for stream in self.changes)


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

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, call: Call, plan: Plan, settle: Callable[[Any], None]) -> None:
        """Add a plan, decided on the current heads, and advance the heads. Groups that share a stream with it merge."""
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
        group.commands.append(QueuedCommand(call, settle))
        if plan.remember_on is not None:
            group.outcomes.append(_outcome(call, plan, plan.remember_on))

    def _group_for(self, plan: Plan) -> Group:
        newest = (self._newest.get(change.entry.stream) for change in plan.changes)
        touched = list(dict.fromkeys(group for group in newest if group is not None))
        if not touched or any(group.full for group in touched) or sum(map(_commands, touched)) >= self._limit:
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
        group.absorb(other)
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
            size += _commands(group)
            if batch and size > self._limit:
                break
            batch.append(group)
        else:
            if len(batch) == len(self._groups):
                return self.take_all()
        self._take(batch)
        return batch

    def _of_one_kind(self) -> Iterator[Group]:
        """The groups with the same shards as the oldest one, except those that depend on a group with other shards."""
        if self._shards == 1:
            yield from self._groups
            return
        wanted: frozenset[int] | None = None
        passed: set[str] = set()
        for group in self._groups:
            shards = group.shards(self._shards)
            wanted = wanted or shards
            if shards == wanted and passed.isdisjoint(group.changes):
                yield group
            else:
                passed |= group.changes.keys()

    def take_touching(self, streams: Collection[str]) -> list[Group]:
        """Take the groups that change one of these streams."""
        found = [group for group in self._groups if not group.changes.keys().isdisjoint(streams)]
        self._take(found)
        return found

    def take_all(self) -> list[Group]:
        groups = list(self._groups)
        self._groups.clear()
        self._newest.clear()
        return groups

    def _take(self, groups: Iterable[Group]) -> None:
        for group in groups:
            del self._groups[group]
            for stream in group.changes:
                if self._newest.get(stream) is group:
                    del self._newest[stream]


def _commands(group: Group) -> int:
    return len(group.commands)


def _outcome(call: Call, plan: Plan, entry: CachedStream) -> Outcome:
    key, name = entry.key, call.command_id
    body = plan.body if plan.status in _REMEMBERED else b""
    return Outcome(
        stream=entry.stream,
        command_id=name,
        fingerprint=fingerprint_under(key, call.fingerprint),
        body=key.seal_text(f"outcome|{name}", body) if key is not None and body else body,
        follows=plan.follows,
    )

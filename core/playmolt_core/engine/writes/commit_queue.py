"""What gathers for the next commit while the present one is under way (group commit without a timer)."""

from collections.abc import Iterable, Sequence

import msgspec

from playmolt_core.engine.cached_stream import CachedStream
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.engine.writes.plans import Change, Plan
from playmolt_core.log.port import Outcome, Unit
from playmolt_core.vault.stream_key import fingerprint_under

_REMEMBERED = (200, 201)
"""The answers whose body a repeat gets; any other is answered from what the stream has come to."""


class Group(msgspec.Struct, eq=False):
    """Commands that commit or fail together because they share a stream."""

    changes: dict[str, Change] = {}
    answers: list[tuple[PendingCall, Plan]] = []
    outcomes: list[Outcome] = []

    def absorb(self, other: "Group") -> None:
        """Take over another group; they have no stream in common yet."""
        self.changes |= other.changes
        self.answers += other.answers
        self.outcomes += other.outcomes

    def unit(self) -> Unit:
        return Unit(streams=[change.to_append() for change in self.changes.values()], outcomes=self.outcomes)

    def calls(self) -> Iterable[PendingCall]:
        """The calls of this group in the order they were decided."""
        return (pending for pending, _ in self.answers)


class CommitQueue:
    """The groups of the next commit, found by the streams they touch."""

    def __init__(self) -> None:
        self._group_of: dict[str, Group] = {}
        self._groups: dict[Group, None] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, pending: PendingCall, plan: Plan) -> None:
        """Put a plan, decided on the heads as they are, with the groups that share a stream with it, which become one;
        move the heads on.
        """
        group = self._group_for(plan)
        for change in plan.changes:
            entry = change.entry
            earlier = group.changes.get(entry.stream)
            if earlier is None:
                group.changes[entry.stream] = change
                self._group_of[entry.stream] = group
                entry.uncommitted += 1
            else:
                earlier.extend(change)
            entry.head = change.head
            if change.records:
                entry.due = change.due
        group.answers.append((pending, plan))
        if plan.remember_on is not None:
            group.outcomes.append(_outcome(pending, plan, plan.remember_on))

    def _group_for(self, plan: Plan) -> Group:
        group: Group | None = None
        for change in plan.changes:
            other = self._group_of.get(change.entry.stream)
            if group is None:
                group = other
            elif other is not None and other is not group:
                self._merge(group, other)
        if group is None:
            group = Group()
            self._groups[group] = None
        return group

    def _merge(self, group: Group, other: Group) -> None:
        group.absorb(other)
        del self._groups[other]
        for stream in other.changes:
            self._group_of[stream] = group

    def cut(self, limit: int) -> list[Group]:
        """Take whole groups, oldest first, until `limit` commands are reached."""
        batch: list[Group] = []
        size = 0
        for group in self._groups:
            size += len(group.answers)
            if batch and size > limit:
                self._take(batch)
                return batch
            batch.append(group)
        return self.take_all()

    def take_touching(self, streams: Sequence[str]) -> list[Group]:
        """Take the groups that rest on one of these streams."""
        found = {group: None for stream in streams if (group := self._group_of.get(stream)) is not None}
        self._take(found)
        return list(found)

    def take_all(self) -> list[Group]:
        groups = list(self._groups)
        self._groups.clear()
        self._group_of.clear()
        return groups

    def _take(self, groups: Iterable[Group]) -> None:
        for group in groups:
            del self._groups[group]
            for stream in group.changes:
                del self._group_of[stream]


def _outcome(pending: PendingCall, plan: Plan, entry: CachedStream) -> Outcome:
    key, name = entry.key, pending.call.command_id
    body = plan.body if plan.status in _REMEMBERED else b""
    return Outcome(
        stream=entry.stream,
        command_id=name,
        fingerprint=fingerprint_under(key, pending.call.fingerprint),
        body=key.seal_text(f"outcome|{name}", body) if key is not None and body else body,
        follows=plan.follows,
    )

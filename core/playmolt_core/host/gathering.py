"""What gathers for the next commit while the present one is under way (group commit without a timer)."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from playmolt_schemas.identifiers import is_lobby

from playmolt_core.host.commands import Change, Plan
from playmolt_core.host.entry import Entry, Snapshot
from playmolt_core.host.work import Work
from playmolt_core.log.port import NewRecord, Outcome, StreamAppend, Unit


class _Tail:
    """One stream's part of a group: where it starts, what is added, where it ends."""

    __slots__ = ("after", "due", "entry", "expected", "prev_hash", "records")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.expected = entry.head.version
        self.prev_hash = entry.head.hash
        self.after: Snapshot = entry.head
        self.records: list[NewRecord] = []
        self.due: datetime | None = None

    def append(self, change: Change) -> None:
        if change.records:
            self.records.extend(change.records)
            self.due = change.due
        self.after = change.head

    def to_append(self) -> StreamAppend:
        return StreamAppend(
            stream=self.entry.stream,
            expected=self.expected,
            prev_hash=self.prev_hash,
            records=self.records,
            card=None if is_lobby(self.entry.stream) else self.after.card,
            due=self.due,
        )


class Group:
    """Commands that commit or fail together because they share a stream."""

    __slots__ = ("answers", "outcomes", "tails")

    def __init__(self) -> None:
        self.tails: dict[str, _Tail] = {}
        self.answers: list[tuple[Work, int, bytes]] = []
        self.outcomes: list[Outcome] = []

    def absorb(self, other: "Group") -> None:
        """Take over another group; they have no stream in common yet."""
        self.tails |= other.tails
        self.answers += other.answers
        self.outcomes += other.outcomes

    def add(self, work: Work, plan: Plan) -> None:
        """Add a plan, decided on the heads as this group leaves them, and move the heads on."""
        for change in plan.changes:
            entry = change.entry
            tail = self.tails.get(entry.stream)
            if tail is None:
                tail = self.tails[entry.stream] = _Tail(entry)
                entry.uncommitted += 1
            tail.append(change)
            entry.head = change.head
        self.answers.append((work, plan.status, plan.body))
        if plan.remember_on:
            outcome = Outcome(
                stream=plan.remember_on,
                command_id=work.call.command_id,
                fingerprint=work.call.fingerprint,
                body=plan.remembered,
            )
            self.outcomes.append(outcome)

    def unit(self) -> Unit:
        """Give what is to be stored."""
        return Unit(streams=[tail.to_append() for tail in self.tails.values()], outcomes=self.outcomes)

    def works(self) -> Iterable[Work]:
        """Give the calls of this group in the order they were decided."""
        return (work for work, _, _ in self.answers)


class Gathering:
    """The groups of the next commit, found by the streams they touch."""

    def __init__(self) -> None:
        self._group_of: dict[str, Group] = {}
        self._groups: dict[int, Group] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, work: Work, plan: Plan) -> None:
        """Put a plan with the groups that share a stream with it, which become one."""
        streams = [change.entry.stream for change in plan.changes]
        group: Group | None = None
        for stream in streams:
            other = self._group_of.get(stream)
            if group is None:
                group = other
            elif other is not None and other is not group:
                self._merge(group, other)
        if group is None:
            group = Group()
            self._groups[id(group)] = group
        group.add(work, plan)
        for stream in streams:
            self._group_of[stream] = group

    def _merge(self, group: Group, other: Group) -> None:
        group.absorb(other)
        del self._groups[id(other)]
        for stream in other.tails:
            self._group_of[stream] = group

    def cut(self, limit: int) -> list[Group]:
        """Take whole groups, oldest first, until `limit` commands are reached."""
        batch: list[Group] = []
        size = 0
        for key, group in list(self._groups.items()):
            if batch and size + len(group.answers) > limit:
                break
            size += len(group.answers)
            batch.append(self._take(key, group))
        return batch

    def take_touching(self, streams: Sequence[str]) -> list[Group]:
        """Take the groups that rest on one of these streams."""
        found = {id(group): group for stream in streams if (group := self._group_of.get(stream)) is not None}
        return [self._take(key, group) for key, group in found.items()]

    def take_all(self) -> list[Group]:
        """Take everything."""
        return [self._take(key, group) for key, group in list(self._groups.items())]

    def _take(self, key: int, group: Group) -> Group:
        del self._groups[key]
        for stream in group.tails:
            self._group_of.pop(stream, None)
        return group

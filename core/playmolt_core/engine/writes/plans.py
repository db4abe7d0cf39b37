"""What a call comes to: streams to change and an answer, or what has to be there first."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from playmolt_schemas.game_messages import Fault
from playmolt_schemas.identifiers import SESSION_TYPES

from playmolt_core.engine.cached_stream import CachedStream
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.game.decider import Refused
from playmolt_core.game.snapshot import Snapshot
from playmolt_core.log.port import NewKey, NewRecord, StreamAppend


class Need(msgspec.Struct, frozen=True, gc=False):
    """A stream that has to be in memory first."""

    stream: str


class Repeat(msgspec.Struct, frozen=True, gc=False):
    """The command was decided before: its outcome is remembered on this stream."""

    stream: str


class Recall(msgspec.Struct, frozen=True, gc=False):
    """The command may have been decided before this stream, from version `since` on, was in memory."""

    stream: str
    since: int


class NeedFaults(msgspec.Struct, frozen=True, gc=False):
    """What was counted in a game, which its closing event has to hold."""

    stream: str


class Change:
    """What is to happen to one stream; no records: a decision rests on its version and changes nothing."""

    __slots__ = ("before", "due", "due_before", "entry", "head", "owner", "records")

    def __init__(self, entry: CachedStream) -> None:
        self.entry = entry
        self.before: Snapshot = entry.head
        self.head: Snapshot = entry.head
        self.records: list[NewRecord] = []
        self.due: datetime | None = None
        """When the stream's earliest effect after these records is due."""
        self.due_before = entry.due
        self.owner = ""
        """Who opened a sealed stream, when this change does."""

    def extend(self, later: "Change") -> None:
        """Go on with a change that was decided on this one's head."""
        if later.records:
            self.records += later.records
            self.due = later.due
            self.owner = self.owner or later.owner
        self.head = later.head

    def to_append(self) -> StreamAppend:
        key = self.entry.key
        return StreamAppend(
            stream=self.entry.stream,
            expected=self.before.version,
            prev_hash=self.before.hash,
            records=self.records,
            summary=None if self.entry.decider.game == "lobby" else self.head.summary,
            due=self.due,
            moves=self._moves(),
            key=NewKey(key, self.owner) if key is not None and not self.before.version and self.records else None,
        )

    def _moves(self) -> bool:
        """Whether what a list shows of the stream, or its due time, is another than its row says.

        The row of a session and of what is over always stands at the last record: by it they are erased and archived.
        """
        before, after = self.before.summary, self.head.summary
        if not self.before.version or before != after or after.over or self.due != self.due_before:
            return True
        return self.entry.decider.game in SESSION_TYPES


class Plan(msgspec.Struct, frozen=True, gc=False):
    """What is to be stored in one unit and answered after its commit."""

    changes: Sequence[Change]
    status: int = 200
    body: bytes = b""
    refused: Refused | None = None
    """Why nothing is stored; it is answered in place of status and body."""
    remember_on: CachedStream | None = None
    """The stream, one of those that change, that keeps the outcome; None when a repeat may be decided afresh."""
    follows: bool = False
    """The outcome follows from the records."""

    fault: Fault | None = None
    """What is counted before it is answered."""

    def answer(self, pending: PendingCall) -> None:
        if self.refused is None:
            pending.answer(self.status, self.body)
        else:
            pending.refuse(self.refused)


Planned = Need | NeedFaults | Repeat | Recall | Plan


def refusal(entry: CachedStream, refused: Refused) -> Plan:
    """A refusal rests on the stream's version like any answer: it is sent once that version is known to be current."""
    return Plan((Change(entry),) if entry.head.version else (), refused=refused)

"""The result of planning a call: changes and an answer, or what must be loaded first."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from playmolt_schemas.api import ActionAccepted, EndedGame, Forfeited, Resigned
from playmolt_schemas.identifiers import SESSION_TYPES
from playmolt_schemas.stored.values import Fault

from playmolt_core.engine.cached_stream import CachedStream
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.game.decider import Refused
from playmolt_core.game.fold import Snapshot
from playmolt_core.log.port import NewKey, NewRecord, StreamAppend


class Known(msgspec.Struct, frozen=True):
    """What a call has loaded, apart from streams, while it waits to be planned."""

    archived: frozenset[str] = frozenset()
    """Requested streams that are archived."""
    faults: tuple[Fault, ...] | None = None
    """Faults counted in a game that this call closes; None if not loaded."""
    not_in_log: int | None = None
    """The version of the lobby's snapshot before which the log has no outcome of this command."""
    addresses: tuple[tuple[str, ...], bool] = ((), False)
    """Agents, and whether two of them were registered from one address."""
    conflicted: bool = False
    """A plan of the call was not stored. The log does not store the end of a game without its counted faults, so they
    are loaded only then."""
    afresh: bool = False
    """Decide it again although its outcome is stored, because the outcome had no result."""


NOTHING: Final = Known()


class Need(msgspec.Struct, frozen=True, gc=False):
    """A stream must be loaded first."""

    stream: str


class Repeat(msgspec.Struct, frozen=True, gc=False):
    """The command was already decided; its outcome is stored with this stream.

    If `since` is set, it is only possible, and if so before this version, from which the stream was loaded.
    """

    stream: str
    since: int = 0


class NeedFaults(msgspec.Struct, frozen=True, gc=False):
    """The counted faults of a game must be loaded first, for its closing event."""

    stream: str


class NeedAddresses(msgspec.Struct, frozen=True, gc=False):
    """It must be known whether two of these agents were registered from one address."""

    agents: tuple[str, ...]


class Change:
    """A change of one stream. Without records, the decision only depends on the version of the stream."""

    __slots__ = ("before", "due", "due_before", "entry", "head", "owner", "records")

    def __init__(self, entry: CachedStream) -> None:
        self.entry = entry
        self.before: Snapshot = entry.head
        self.head: Snapshot = entry.head
        self.records: list[NewRecord] = []
        self.due: datetime | None = None
        """When the earliest effect of the stream is due after these records."""
        self.due_before = entry.due
        self.owner = ""
        """The owner of a sealed stream, if this change opens it."""

    def extend(self, later: "Change") -> None:
        """Append a change that was decided on this change's head."""
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
        """Whether the row of the stream must be updated: its list entry or due time changes.

        Rows of sessions and finished streams always follow the last record, because erasure and archiving use them.
        """
        before, after = self.before.summary, self.head.summary
        if not self.before.version or before != after or after.over or self.due != self.due_before:
            return True
        return self.entry.decider.game in SESSION_TYPES


class Plan(msgspec.Struct, frozen=True, gc=False):
    """What to store in one unit, and the answer after the commit."""

    changes: Sequence[Change]
    status: int = 200
    body: bytes = b""
    refused: Refused | None = None
    """The refusal to answer instead of status and body."""
    remember_on: CachedStream | None = None
    """The changed stream that stores the outcome; None if a repeat may be decided again."""
    follows: bool = False
    """The outcome can be derived from the records."""

    fault: Fault | None = None
    """The fault to count before the answer."""

    def answer(self, pending: PendingCall) -> None:
        if self.refused is None:
            pending.answer(self.status, self.body)
        else:
            pending.refuse(self.refused)


def draw_seed() -> str:
    """The seed of a game's or a route's random draws."""
    return str(secrets.randbits(128))


Planned = Need | NeedAddresses | NeedFaults | Repeat | Plan


def refusal(entry: CachedStream, refused: Refused) -> Plan:
    """A refusal depends on the stream's version like any answer; it is sent once the version is known to be current."""
    return Plan((Change(entry),) if entry.head.version else (), refused=refused)


_encode = msgspec.json.encode


def answer(op: str, stream: str, phase: str, version: int, receipt: str | None) -> bytes:
    """The body of a seat's 2xx answer. `receipt` is the hash of the first record; None: the action changed nothing."""
    if op in ("fault", "away"):
        return b"{}"
    if op == "end":
        return _encode(EndedGame(stream, phase, version))
    if op == "resign":
        return _encode(Resigned(version=version, phase=phase))
    if op == "forfeit":
        return _encode(Forfeited(version=version, phase=phase))
    return _encode(ActionAccepted("pass" if receipt is None else "accepted", version, phase, receipt))

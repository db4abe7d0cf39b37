"""The result of planning a call: changes and an answer; the exceptions say what must be loaded first."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final

import msgspec
from playmolt_schemas.api import ActionAccepted, EndedGame, Forfeited, Resigned
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.envelopes import Call
from playmolt_schemas.identifiers import SESSION_TYPES, rfc3339
from playmolt_schemas.records import Metadata
from playmolt_schemas.stored.values import Fault

from playmolt_core.engine.cached_stream import CachedStream
from playmolt_core.engine.messages import message
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.engine.stream_cache import NotLoaded
from playmolt_core.game.decider import PUBLIC, Accepted, Command, Refused
from playmolt_core.game.fold import Snapshot
from playmolt_core.log.chain import chain_record
from playmolt_core.log.port import NewKey, NewRecord, StreamAppend
from playmolt_core.vault.stream_key import hash_of_state, short_fingerprint


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


class Repeat(NotLoaded):
    """The command was already decided; its outcome, stored with this stream, has to be loaded.

    If `since` is set, it is only possible, and if so before this version, from which the stream was loaded.
    """

    def __init__(self, stream: str, since: int = 0) -> None:
        super().__init__(stream)
        self.stream = stream
        self.since = since


class FaultsNotLoaded(NotLoaded):
    """The counted faults of the game have to be loaded, for its closing event."""


class AddressesNotLoaded(NotLoaded):
    """It must be known whether two of these agents were registered from one address."""

    def __init__(self, agents: tuple[str, ...]) -> None:
        super().__init__(agents)
        self.agents = agents


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

    def decide(self, command: Command, at: datetime, call: Call) -> Refused | None:
        """Decide a command and append its events, unless it is refused."""
        decision = self.entry.decider.decide(self.head.state, command, at)
        if isinstance(decision, Refused):
            return decision
        self.append(decision, at, call)
        return None

    def append(self, decided: Accepted, at: datetime, call: Call, *, follows: bool = False) -> None:
        """Append the records of events: folded, encoded, chained by hash.

        `follows`: the answer of the call can be derived from its records.
        """
        if not decided.events:
            return
        entry, head = self.entry, self.head
        decider, key, version, prev_hash = entry.decider, entry.key, head.version, head.hash
        asked = short_fingerprint(key, call.fingerprint) if follows and call.fingerprint else msgspec.UNSET
        states = decided.states or list(
            accumulate(decided.events, lambda state, event: decider.evolve(state, event, at), initial=head.state)
        )[1:]  # fmt: skip
        summary, written = decider.summary(states[-1]), rfc3339(at)
        by, session = call.agent or ("operator" if call.operator else "host"), decider.game in SESSION_TYPES
        for event, state in zip(decided.events, states, strict=True):
            version += 1
            # The owner of a session is only in its first record, so that the owner can share the others.
            actor = "" if session and version > 1 else by
            data, hashed = canonical_json(event), decider.hashes_state(version, closes=event.closes)
            if key is not None:
                data = key.seal_record(version, event.type, event.schema_version, data)
                self.owner, actor = actor or self.owner, ""  # it is stored only in the vault
            lobby = decider.game == "lobby"
            record = chain_record(
                entry.stream, version, prev_hash, at, event.type, event.schema_version, data,
                Metadata(
                    command_id=call.command_id, correlation=call.command_id, causation=call.command_id, actor=actor,
                    trace=call.trace, state_hash=hash_of_state(state, key) if hashed else msgspec.UNSET, request=asked,
                ),
                closes=event.closes,
                public=None if lobby else message(decider, entry.stream, version, written, event, PUBLIC),
                written=written,
                command=call.command_id if follows else "",
            )  # fmt: skip
            self.records.append(record)
            prev_hash = record.hash
        self.head = Snapshot(states[-1], version, prev_hash, at, summary)
        # Computed here and not at the commit, so that failing rules fail only this call.
        effects = decider.effects(states[-1])
        self.due = min(effect.due for effect in effects) if effects else None

    def extend(self, later: "Change") -> None:
        """Append a change that was decided on this change's head."""
        if later.records:
            self.records += later.records
            self.due = later.due
            self.owner = self.owner or later.owner
        self.head = later.head

    def to_append(self) -> StreamAppend:
        entry, before, after = self.entry, self.before, self.head
        key = entry.key if self.records and not before.version else None
        listed = not before.version or before.summary != after.summary or self.due != self.due_before
        return StreamAppend(
            stream=entry.stream,
            expected=before.version,
            prev_hash=before.hash,
            records=self.records,
            summary=None if entry.decider.game == "lobby" else after.summary,
            due=self.due,
            # Rows of sessions and finished streams follow the last record, because erasure and archiving use them.
            moves=listed or after.summary.over or entry.decider.game in SESSION_TYPES,
            key=NewKey(key, self.owner) if key is not None else None,
        )


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
    """The outcome is not stored, because it can be derived from the records."""
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

"""Turns decided events into records: folded, encoded, chained by hash."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.envelopes import Call
from playmolt_schemas.identifiers import SESSION_TYPES, rfc3339
from playmolt_schemas.records import Metadata

from playmolt_core.engine.cached_stream import CachedStream
from playmolt_core.engine.messages import message
from playmolt_core.engine.writes.plans import Change
from playmolt_core.game.decider import PUBLIC, Accepted, Decider, Event
from playmolt_core.game.fold import Snapshot, carries_state_hash
from playmolt_core.log.chain import chain_record
from playmolt_core.log.port import NewRecord
from playmolt_core.vault.stream_key import hash_of_state, short_fingerprint


def append(change: Change, decided: Accepted, at: datetime, call: Call, *, follows: bool = False) -> None:
    """Append events to a change and advance its head.

    `follows`: the answer of the call can be derived from its records.
    """
    if not decided.events:
        return
    entry, head = change.entry, change.head
    decider, version, prev_hash = entry.decider, head.version, head.hash
    states = decided.states or _states(decider, head.state, decided.events, at)
    summary, written = decider.summary(states[-1]), rfc3339(at)
    for event, state in zip(decided.events, states, strict=True):
        version += 1
        actor = _actor(decider.game, version, call)
        if entry.key is not None and actor:
            change.owner, actor = actor, ""  # it is stored only in the vault
        record = _record(entry, version, prev_hash, at, written, state, event, call, actor, follows)
        change.records.append(record)
        prev_hash = record.hash
    change.head = Snapshot(states[-1], version, prev_hash, at, summary)
    # Computed here and not at the commit, so that failing rules fail only this call.
    effects = decider.effects(states[-1])
    change.due = min(effect.due for effect in effects) if effects else None


def _states(decider: Decider[Any], state: Any, events: Sequence[Event], at: datetime) -> list[Any]:
    states = []
    for event in events:
        state = decider.evolve(state, event, at)
        states.append(state)
    return states


def _record(
    entry: CachedStream, version: int, prev_hash: str, at: datetime, written: str, state: Any, event: Event, call: Call,
    actor: str, follows: bool,
) -> NewRecord:  # fmt: skip
    decider = entry.decider
    public = None
    if decider.game != "lobby":
        public = message(decider, entry.stream, version, written, event, PUBLIC)
    hashed = carries_state_hash(decider.game, version, closes=event.closes)
    data, key = canonical_json(event), entry.key
    asked = short_fingerprint(key, call.fingerprint) if follows and call.fingerprint else msgspec.UNSET
    if key is not None:
        data = key.seal_record(version, event.type, event.schema_version, data)
    return chain_record(
        stream=entry.stream,
        version=version,
        prev_hash=prev_hash,
        at=at,
        event_type=event.type,
        schema_version=event.schema_version,
        data=data,
        metadata=_metadata(call, actor, hash_of_state(state, key) if hashed else msgspec.UNSET, asked),
        public=public,
        closes=event.closes,
        written=written,
        command=call.command_id if follows else "",
    )


def _actor(game: str, version: int, call: Call) -> str:
    """The owner of a session is only in its first record, so that the owner can share the others."""
    if version > 1 and game in SESSION_TYPES:
        return ""
    return call.agent or ("operator" if call.operator else "host")


def _metadata(call: Call, actor: str, hashed: str | msgspec.UnsetType, asked: str | msgspec.UnsetType) -> Metadata:
    return Metadata(
        command_id=call.command_id,
        correlation=call.command_id,
        causation=call.command_id,
        actor=actor,
        trace=call.trace,
        state_hash=hashed,
        request=asked,
    )

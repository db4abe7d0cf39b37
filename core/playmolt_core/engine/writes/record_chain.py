"""Turns decided events into records: folded, encoded, chained by hash."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.envelopes import Call
from playmolt_schemas.identifiers import SESSION_TYPES, rfc3339
from playmolt_schemas.records import Metadata
from playmolt_schemas.stored.event import Event

from playmolt_core.engine.messages import message
from playmolt_core.engine.writes.plans import Change
from playmolt_core.game.decider import PUBLIC, Accepted, Decider
from playmolt_core.game.fold import Snapshot, carries_state_hash
from playmolt_core.log.chain import chain_record
from playmolt_core.vault.stream_key import hash_of_state, short_fingerprint


def append(change: Change, decided: Accepted, at: datetime, call: Call, *, follows: bool = False) -> None:
    """Append events to a change and advance its head.

    `follows`: the answer of the call can be derived from its records.
    """
    if not decided.events:
        return
    entry, head = change.entry, change.head
    decider, key, version, prev_hash = entry.decider, entry.key, head.version, head.hash
    asked = short_fingerprint(key, call.fingerprint) if follows and call.fingerprint else msgspec.UNSET
    lobby = decider.game == "lobby"
    states = decided.states or _states(decider, head.state, decided.events, at)
    summary, written = decider.summary(states[-1]), rfc3339(at)
    for event, state in zip(decided.events, states, strict=True):
        version += 1
        # The owner of a session is only in its first record, so that the owner can share the others.
        actor = "" if version > 1 and decider.game in SESSION_TYPES else _actor(call)
        data, hashed = canonical_json(event), carries_state_hash(decider.game, version, closes=event.closes)
        if key is not None:
            data = key.seal_record(version, event.type, event.schema_version, data)
            change.owner, actor = actor or change.owner, ""  # it is stored only in the vault
        record = chain_record(
            stream=entry.stream,
            version=version,
            prev_hash=prev_hash,
            at=at,
            event_type=event.type,
            schema_version=event.schema_version,
            data=data,
            metadata=Metadata(
                command_id=call.command_id,
                correlation=call.command_id,
                causation=call.command_id,
                actor=actor,
                trace=call.trace,
                state_hash=hash_of_state(state, key) if hashed else msgspec.UNSET,
                request=asked,
            ),
            public=None if lobby else message(decider, entry.stream, version, written, event, PUBLIC),
            closes=event.closes,
            written=written,
            command=call.command_id if follows else "",
        )
        change.records.append(record)
        prev_hash = record.hash
    change.head = Snapshot(states[-1], version, prev_hash, at, summary)
    # Computed here and not at the commit, so that failing rules fail only this call.
    effects = decider.effects(states[-1])
    change.due = min(effect.due for effect in effects) if effects else None


def _states(decider: Decider, state: object, events: Sequence[Event], at: datetime) -> list[object]:
    states = []
    for event in events:
        state = decider.evolve(state, event, at)
        states.append(state)
    return states


def _actor(call: Call) -> str:
    return call.agent or ("operator" if call.operator else "host")

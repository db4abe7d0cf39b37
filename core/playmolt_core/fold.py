"""State is the fold of events; its hash says whether two folds agree."""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

import immutables
import msgspec
from playmolt_schemas.records import Record

from playmolt_core.decider import Decider, read_event

S = TypeVar("S")

STATE_HASH_EVERY = 25
"""A record whose version is a multiple of this, and one that closes a game, carries the state's hash."""


def _plain(value: Any) -> Any:
    if isinstance(value, immutables.Map):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} has no place in a state")


_encoder = msgspec.json.Encoder(order="sorted", enc_hook=_plain)


def state_hash(state: object) -> str:
    """Hex SHA-256 of the state's canonical JSON, whatever order its fields are declared in."""
    return hashlib.sha256(_encoder.encode(state)).hexdigest()


def time_of(record: Record) -> datetime:
    """Give the time at which the engine decided the record."""
    return datetime.fromisoformat(record.at)


def step(decider: Decider[S], state: S, record: Record) -> S:
    """Fold one stored record."""
    event = read_event(decider, record.type, record.schema_version, record.data)
    return decider.evolve(state, event, time_of(record))


def fold(decider: Decider[S], stream: str, records: Iterable[Record]) -> S:
    """Fold a stream's records, from the first on."""
    state = decider.initial(stream)
    for record in records:
        state = step(decider, state, record)
    return state

"""State as the fold of events, its hash, and snapshots."""

import hashlib
from datetime import datetime
from typing import Any, Generic

import msgspec
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.records import Record
from rpds import HashTrieMap
from typing_extensions import TypeVar

from playmolt_core.game.decider import Decider, S, read_event

S_co = TypeVar("S_co", covariant=True, default=Any)


def _plain(value: object) -> Any:
    if isinstance(value, HashTrieMap):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} is not allowed in a state")


_encoder = msgspec.json.Encoder(order="sorted", enc_hook=_plain)


def state_json(state: object) -> bytes:
    """The canonical JSON of a state, independent of the order of its fields."""
    return _encoder.encode(state)


def state_hash(state: object) -> str:
    """Hex SHA-256 of `state_json`."""
    return hashlib.sha256(state_json(state)).hexdigest()


def time_of(record: Record) -> datetime:
    """The time at which the engine decided the record."""
    return datetime.fromisoformat(record.at)


def step(decider: Decider[S], state: S, record: Record) -> S:
    """Fold a stored record. Raises LookupError for an unknown type."""
    event = read_event(decider, record.type, record.schema_version, record.data)
    return decider.evolve(state, event, time_of(record))


class Snapshot(msgspec.Struct, Generic[S_co], frozen=True, gc=False):
    """The state with the version, hash and time of its last record."""

    state: S_co
    version: int
    hash: str
    at: datetime
    summary: GameSummary

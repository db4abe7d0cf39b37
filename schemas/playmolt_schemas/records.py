"""The event log's record (api.md, Event log) and how its hash is made."""

import hashlib
from typing import Final

import msgspec

ZERO_HASH: Final = "0" * 64


class Metadata(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who and what caused an event. `state_hash` stands on some records only, so that a replay can be checked, and
    `request` on those of an action that came with an Idempotency-Key: 128 bits of the hash of what was asked."""

    command_id: str
    correlation: str = ""
    causation: str = ""
    actor: str = ""
    trace: str = ""
    state_hash: str | msgspec.UnsetType = msgspec.UNSET
    request: str | msgspec.UnsetType = msgspec.UNSET


class Record(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One record of the log as tooling reads it, field for field."""

    stream: str
    version: int
    position: int
    type: str
    schema_version: int
    data: msgspec.Raw
    metadata: msgspec.Raw
    at: str
    salt: str
    prev_hash: str
    hash: str


class OpenedRecord(Record, frozen=True, gc=False, kw_only=True):
    """A record as it may be shown. Where its data is stored sealed and stands open here, both fields are there."""

    sealed: str | msgspec.UnsetType = msgspec.UNSET
    """What is stored of it: the hash is taken with `data` = `{"sealed": …}`."""
    seal_key: str | msgspec.UnsetType = msgspec.UNSET
    """The record's own key (base64url), which opens `sealed`."""


def stored_data(record: Record) -> bytes:
    """The data of a record as it is stored and hashed."""
    if isinstance(record, OpenedRecord) and record.sealed is not msgspec.UNSET:
        return b'{"sealed":"%b"}' % record.sealed.encode()
    return bytes(record.data)


def record_hash(
    *,
    stream: str,
    version: int,
    type: str,  # noqa: A002 -- the record's own field name
    schema_version: int,
    data: bytes,
    metadata: bytes,
    at: str,
    salt: str,
    prev_hash: str,
) -> str:
    """Hex SHA-256 of `prev_hash` and the RFC 8785 JSON of the record without `hash` and `position`.

    `data` and `metadata` are canonical JSON already; the other fields are ASCII without anything to escape, so the
    canonical form is put together here in key order instead of being encoded a second time.
    """
    head = f'{prev_hash}{{"at":"{at}","data":'.encode()
    tail = (
        f',"prev_hash":"{prev_hash}","salt":"{salt}","schema_version":{schema_version},"stream":"{stream}",'
        f'"type":"{type}","version":{version}}}'
    ).encode()
    return hashlib.sha256(b"".join((head, data, b',"metadata":', metadata, tail))).hexdigest()

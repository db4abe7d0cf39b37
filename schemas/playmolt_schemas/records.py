"""Records of the event log (api.md, Event log) and their hashes."""

import hashlib
from typing import Final

import msgspec

ZERO_HASH: Final = "0" * 64


class Metadata(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who and what caused an event. Some records have `state_hash`, with which a replay can be checked; records of a
    request with an Idempotency-Key have `request`: 128 bits of the hash of the request."""

    command_id: str
    correlation: str = ""
    causation: str = ""
    actor: str = ""
    trace: str = ""
    state_hash: str | msgspec.UnsetType = msgspec.UNSET
    request: str | msgspec.UnsetType = msgspec.UNSET


class Record(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A record of the log as tools read it."""

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
    """A record as shown to its owner. If the stored data is sealed and `data` is decrypted, both fields are present."""

    sealed: str | msgspec.UnsetType = msgspec.UNSET
    """The stored data: the hash covers `data` = `{"sealed": …}`."""
    seal_key: str | msgspec.UnsetType = msgspec.UNSET
    """The record's own key (base64url), which decrypts `sealed`."""
    withheld: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What is missing for this reader, such as `data.text` and `data.choices.2.comment`; texts and names that the
    operator hid are null. The `hash` of an unsealed record is then taken as given: it covers what is missing."""

    @property
    def partial(self) -> bool:
        """Whether its hash cannot be computed from it."""
        return bool(self.withheld) and not self.sealed


def stored_data(record: Record) -> bytes:
    """The data of a record as stored and hashed."""
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

    `data` and `metadata` are already canonical JSON, and the other fields are ASCII that needs no escaping, so the
    canonical form is concatenated in key order instead of being encoded again.
    """
    text = hashed_text(stream, version, type, schema_version, data.decode(), metadata.decode(), at, salt, prev_hash)
    return hashlib.sha256(text.encode()).hexdigest()


def hashed_text(
    stream: str,
    version: int,
    type: str,  # noqa: A002 -- the record's own field name
    schema_version: int,
    data: str,
    metadata: str,
    at: str,
    salt: str,
    prev_hash: str,
) -> str:
    """What `record_hash` hashes, in UTF-8."""
    return (
        f'{prev_hash}{{"at":"{at}","data":{data},"metadata":{metadata},"prev_hash":"{prev_hash}","salt":"{salt}",'
        f'"schema_version":{schema_version},"stream":"{stream}","type":"{type}","version":{version}}}'
    )

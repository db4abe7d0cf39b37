"""The hash chain of a stream: makes and checks its records."""

import hashlib
import os
from datetime import datetime

import msgspec
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.records import Metadata, OpenedRecord, Record, hashed_text, record_hash, stored_data

from playmolt_core.log.port import NewRecord, StoredRecord
from playmolt_core.vault.stream_key import from_text, open_record, record_place

SALT_BYTES = 16


def chain_record(
    stream: str,
    version: int,
    prev_hash: str,
    at: datetime,
    event_type: str,
    schema_version: int,
    data: bytes,
    metadata: Metadata,
    closes: bool,
    public: bytes | None = None,
    written: str = "",
    command: str = "",
) -> NewRecord:
    """Make the record of an event that follows `prev_hash` as number `version`; `data` is canonical JSON.

    `written` is `at` in RFC 3339, if the caller has it already; `command` as in `NewRecord`.
    A fresh salt keeps the hash from confirming guesses about the event.
    """
    salt = os.urandom(SALT_BYTES).hex()
    described = canonical_json(metadata)
    return NewRecord(
        version=version,
        type=event_type,
        schema_version=schema_version,
        data=data,
        metadata=described,
        at=at,
        salt=salt,
        prev_hash=prev_hash,
        hash=record_hash(
            stream=stream,
            version=version,
            type=event_type,
            schema_version=schema_version,
            data=data,
            metadata=described,
            at=written or rfc3339(at),
            salt=salt,
            prev_hash=prev_hash,
        ),
        public=public,
        closes=closes,
        command=command,
    )


def record_text(record: NewRecord) -> str:
    """A record as the functions of the database take it that append one record themselves."""
    head = {
        "version": record.version,
        "type": record.type,
        "schema_version": record.schema_version,
        "at": rfc3339(record.at),
        "salt": record.salt,
        "hash": record.hash,
        "data": msgspec.Raw(record.data),
        "metadata": msgspec.Raw(record.metadata),
    }
    return msgspec.json.encode(head).decode()


def recomputed(record: Record | StoredRecord) -> str:
    """The hash that this record must have; "" if its open data differs from its sealed data."""
    if isinstance(record, StoredRecord):
        text = hashed_text(
            record.stream, record.version, record.type, record.schema_version, record.data, record.metadata,
            record.at, record.salt, record.prev_hash,
        )  # fmt: skip
        return hashlib.sha256(text.encode()).hexdigest()
    plain = not isinstance(record, OpenedRecord)
    if not plain and not shows_what_is_stored(record):
        return ""
    return record_hash(
        stream=record.stream,
        version=record.version,
        type=record.type,
        schema_version=record.schema_version,
        data=bytes(record.data) if plain else stored_data(record),
        metadata=bytes(record.metadata),
        at=record.at,
        salt=record.salt,
        prev_hash=record.prev_hash,
    )


def shows_what_is_stored(record: Record) -> bool:
    """Whether the data of an opened record matches its sealed data; True without a key, as that cannot be checked."""
    if not isinstance(record, OpenedRecord) or record.sealed is msgspec.UNSET or record.seal_key is msgspec.UNSET:
        return True
    place = record_place(record.stream, record.version, record.type, record.schema_version)
    try:
        data = open_record(from_text(record.seal_key), place, record.sealed)
        return canonical_json(msgspec.json.decode(data)) == canonical_json(msgspec.json.decode(record.data))
    except ValueError:
        return False

"""The hash chain of a stream, and the place of an event in it."""

import os
from datetime import datetime

from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.records import Metadata, Record, record_hash, stored_data

from playmolt_core.log.port import NewRecord

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
    public: bytes | None,
    lobby: bytes | None,
    closes: bool,
    written: str = "",
) -> NewRecord:
    """Make the record of an event that follows `prev_hash` as number `version`; `data` is canonical JSON.

    `written` is `at` as rfc3339 writes it, where the caller has that already.
    A fresh salt makes the hash say nothing about the event to whoever does not know it already.
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
        lobby=lobby,
        closes=closes,
    )


def recomputed(record: Record) -> str:
    return record_hash(
        stream=record.stream,
        version=record.version,
        type=record.type,
        schema_version=record.schema_version,
        data=stored_data(record),
        metadata=bytes(record.metadata),
        at=record.at,
        salt=record.salt,
        prev_hash=record.prev_hash,
    )

"""Completes rows of `log.record` to records, as the view `log.event` does, for readers of many: a third of the cost.

The view looks up each record's stream, its type and the previous record. Here a chunk has the previous record already,
and the rest is looked up once for each stream in it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from playmolt_schemas.identifiers import rfc3339_texts
from playmolt_schemas.records import ZERO_HASH, Record

from playmolt_core.log.port import LogEntry, StoredRecord

Row = tuple[
    int, int, int, int, int, str, datetime, bytes, bytes, bytes | None, bytes | None, str | None, bytes | None,
    str | None, str | None, bool,
]  # fmt: skip
"""The columns of the query `forward`: number, version, position, type, schema_version, data, at, salt, hash, prev_hash,
command, actor, request, trace, metadata, closes."""

Origin = tuple[int, int]
"""The number of a stream and a version of it."""
Origins = Mapping[Origin, tuple[str, bytes | None]]
"""The name of the stream and the hash before that version, None for no record; nothing for a stream without a row."""

NUMBER: Final = 0
VERSION: Final = 1
TYPE: Final = 3
AT: Final = 6


def unknown_origins(rows: Iterable[Row]) -> list[Origin]:
    """The records of a chunk that do not follow one of the same stream in it."""
    versions: dict[int, int] = {}
    unknown = []
    for row in rows:
        number, version = row[NUMBER], row[VERSION]
        if versions.get(number) != version - 1:
            unknown.append((number, version))
        versions[number] = version
    return unknown


def records_of(rows: Sequence[Row], types: Mapping[int, str], origins: Origins) -> Iterator[StoredRecord]:
    """The records of a chunk; the stream is "" where it has no row, which only a damaged database does."""
    streams = {number: stream for (number, _), (stream, _) in origins.items()}
    hashes: dict[int, str] = {}
    texts = rfc3339_texts([row[AT] for row in rows])
    for (
        number, version, position, kind, schema_version, data, time, salt, digest, previous,
        command, actor, request, trace, metadata, closes,
    ), at in zip(rows, texts, strict=True):  # fmt: skip
        if (origin := origins.get((number, version))) is not None:
            hashes[number] = ZERO_HASH if origin[1] is None else origin[1].hex()
        before = hashes.get(number, ZERO_HASH) if previous is None else previous.hex()
        hashes[number] = own = digest.hex()
        state_hash: str | msgspec.UnsetType | None = None
        if metadata is not None and metadata.startswith("{"):
            text, state_hash = metadata, msgspec.UNSET
        else:
            caused = "" if command is None else command.hex()
            agent = "" if actor is None else f"agent-{actor}"
            asked = "" if request is None else f'"request":"{request.hex()}",'
            state = "" if metadata is None else f'"state_hash":{metadata},'
            text = (
                f'{{"actor":"{agent}","causation":"{caused}","command_id":"{caused}","correlation":"{caused}",'
                f'{asked}{state}"trace":"{trace or ""}"}}'
            )
            if metadata is not None or trace:
                state_hash = msgspec.UNSET
        yield StoredRecord(
            streams.get(number, ""), version, position, types[kind], schema_version, data, text, at, time, salt.hex(),
            before, own, closes, state_hash,
        )  # fmt: skip


def entry_of(stored: StoredRecord) -> LogEntry:
    """The same record in the form for other readers."""
    record = Record(
        stream=stored.stream,
        version=stored.version,
        position=stored.position,
        type=stored.type,
        schema_version=stored.schema_version,
        data=msgspec.Raw(stored.data.encode()),
        metadata=msgspec.Raw(stored.metadata.encode()),
        at=stored.at,
        salt=stored.salt,
        prev_hash=stored.prev_hash,
        hash=stored.hash,
    )
    return LogEntry(record=record, closes=stored.closes)


def stored_of(entry: LogEntry) -> StoredRecord:
    """The reverse of `entry_of`."""
    record = entry.record
    return StoredRecord(
        record.stream, record.version, record.position, record.type, record.schema_version, bytes(record.data).decode(),
        bytes(record.metadata).decode(), record.at, datetime.fromisoformat(record.at), record.salt, record.prev_hash,
        record.hash, entry.closes,
    )  # fmt: skip

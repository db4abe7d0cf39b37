"""Reads records from files: JSON lines of an export or an archive, plain or compressed with gzip.

A hash covers the canonical form of a record (RFC 8785). Another tool may have written a copy with other spaces or
escapes: it means the same, so it is converted to the canonical form.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import msgspec
from msgspec.structs import replace
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import OpenedRecord, Record

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
R = TypeVar("R", bound=Record)


class NoRecords(ValueError):
    """The file does not contain records as JSON lines, or is cut off."""


def records_in(path: Path) -> Iterator[Record]:
    """Read a file's records in its order. Raises NoRecords and OSError."""
    return records_as(path, OpenedRecord)


def records_as(path: Path, kind: type[R]) -> Iterator[R]:
    """As `records_in`, for a type of record with more fields."""
    decode, read = msgspec.json.Decoder(kind).decode, 0
    try:
        with _opened(path) as lines:
            for line in lines:
                if line.strip():
                    yield _canonical(decode(line))
                    read += 1
    except (msgspec.MsgspecError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise NoRecords(f"{path} does not contain records as JSON lines after the first {read}: {error}") from error


def _canonical(record: R) -> R:
    data, metadata = _form(record.data), _form(record.metadata)
    if (data, metadata) == (bytes(record.data), bytes(record.metadata)):
        return record
    return replace(record, data=msgspec.Raw(data), metadata=msgspec.Raw(metadata))


def _form(value: msgspec.Raw) -> bytes:
    """The canonical form. A value without one stays unchanged; its hash will not match."""
    written = bytes(value)
    try:
        if canonical_json(msgspec.json.decode(written)) == written:
            return written
        return canonical_json(json.loads(written.decode(), object_pairs_hook=_unique, parse_float=_no_float))
    except (ValueError, msgspec.MsgspecError, OverflowError, RecursionError):
        return written


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object has two members of the same name")
    return made


def _no_float(number: str) -> float:
    raise ValueError(f"records contain no number such as {number}")


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        first = file.read(len(_PARQUET))
    if first == _PARQUET:
        raise NoRecords(
            f"{path} is a Parquet file. Records are read from JSON lines: `playmolt log export --out FILE.jsonl`."
        )
    return cast("BinaryIO", gzip.open(path)) if first.startswith(_GZIP) else path.open("rb")

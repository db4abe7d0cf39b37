"""Records in files: JSON lines as an export or an archive has them, plain or compressed with gzip."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
from playmolt_schemas.records import Record

_GZIP = b"\x1f\x8b"
_read = msgspec.json.Decoder(Record).decode


class NoRecords(ValueError):
    """The file does not hold records as JSON lines, or ends in the middle."""


def records_in(path: Path) -> Iterator[Record]:
    """Read a file's records in its order. Raises NoRecords and OSError."""
    read = 0
    try:
        with _opened(path) as lines:
            for line in lines:
                yield _read(line)
                read += 1
    except (msgspec.MsgspecError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise NoRecords(f"{path} does not hold records as JSON lines behind the first {read}: {error}") from error


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        compressed = file.read(len(_GZIP)) == _GZIP
    return cast("BinaryIO", gzip.open(path)) if compressed else path.open("rb")

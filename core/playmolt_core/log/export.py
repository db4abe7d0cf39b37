"""The log for other tools: JSON lines, or Parquet with the extra `playmolt-core[parquet]`. One record a line or row."""

from collections.abc import AsyncIterator, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from playmolt_schemas.records import Record

from playmolt_core.game.decider import Decider
from playmolt_core.log.port import EventLog
from playmolt_core.log.reading import chunks
from playmolt_core.log.verify import rests

Deciders = Mapping[str, Decider[Any]]

_encode = msgspec.json.Encoder().encode


async def exported(
    log: EventLog, deciders: Deciders | None = None, *, running: bool = False
) -> AsyncIterator[list[Record]]:
    """The records in position order, in chunks; streams that are not over only if `running` is asked for.

    What runs holds secrets, and a lobby never ends. What is over but can be opened again is known by its rules, in
    `deciders`. What is left of an archived stream stays out: it is no stream.
    """
    wanted = await _begun(log, deciders or {}, running=running)
    async for entries in chunks(log):
        yield [entry.record for entry in entries if entry.record.stream in wanted]


async def _begun(log: EventLog, deciders: Deciders, *, running: bool) -> set[str]:
    begun: set[str] = set()
    over: dict[str, bool] = {}
    async for entries in chunks(log):
        begun |= {entry.record.stream for entry in entries if entry.record.version == 1}
        over |= {entry.record.stream: entry.closes or rests(deciders, entry.record) for entry in entries}
    return begun if running else {stream for stream in begun if over[stream]}


async def json_lines(log: EventLog, deciders: Deciders | None = None, *, running: bool = False) -> AsyncIterator[bytes]:
    """The export as JSON lines, whole lines in each piece; fields in the order of `Record`."""
    async for records in exported(log, deciders, running=running):
        yield b"".join(_encode(record) + b"\n" for record in records)


async def parquet(log: EventLog, out: Path, deciders: Deciders | None = None, *, running: bool = False) -> int:
    """Write the export to a Parquet file (data and metadata as JSON text) and give the number of records.

    Raises ImportError without the extra.
    """
    pyarrow = import_module("pyarrow")  # only who exports Parquet needs it
    writer_of = import_module("pyarrow.parquet").ParquetWriter
    schema = pyarrow.schema([(name, _arrow_type(pyarrow, name)) for name in Record.__struct_fields__])
    written = 0
    # A file, not its path: pyarrow takes no path that is not UTF-8.
    with out.open("wb") as file, writer_of(file, schema) as writer:
        async for records in exported(log, deciders, running=running):
            if records:
                writer.write_table(pyarrow.Table.from_pylist(list(_rows(records)), schema=schema))
                written += len(records)
    return written


def _arrow_type(pyarrow: Any, name: str) -> Any:
    return {"version": pyarrow.int32(), "position": pyarrow.int64(), "schema_version": pyarrow.int16()}.get(
        name, pyarrow.string()
    )


def _rows(records: Iterable[Record]) -> Iterable[dict[str, Any]]:
    for record in records:
        row = msgspec.structs.asdict(record)
        row["data"], row["metadata"] = bytes(record.data).decode(), bytes(record.metadata).decode()
        yield row

"""Exports the log as JSON lines, or as Parquet with the extra `playmolt-core[parquet]`: one record a line or row."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import msgspec
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.records import Record
from playmolt_schemas.text import escape_line_ends

from playmolt_core.game.decider import Decider
from playmolt_core.game.withholding import Withheld
from playmolt_core.log.copies.manifest import ManifestBuilder
from playmolt_core.log.port import ShardReader
from playmolt_core.log.reading import chunks_of, in_order, last_records
from playmolt_core.log.verify import rests

Deciders = Mapping[str, Decider]

_encode = msgspec.json.Encoder().encode
_REPEATED: Final = ["stream", "type"]
"""The columns with dictionary encoding."""


async def exported(
    log: ShardReader, deciders: Deciders | None = None, *, running: bool = False, shard: int | None = None
) -> AsyncIterator[list[Record]]:
    """The records in the log's one order, or those of one shard, in chunks.

    Unfinished streams are included only with `running`: they hold secrets, and a lobby never ends. The rules in
    `deciders` know streams that are over but may be reopened. Remaining results of archived streams are left out.
    """
    wanted = await _wanted(log, deciders or {}, running=running)
    async for entries in in_order(log) if shard is None else chunks_of(log, shard):
        yield [entry.record for entry in entries if entry.record.stream in wanted]


async def _wanted(log: ShardReader, deciders: Deciders, *, running: bool) -> set[str]:
    return {
        last.stream
        async for some in last_records(log)
        for last in some
        if running or last.closes or rests(deciders, last)
    }


async def json_lines(
    log: ShardReader,
    deciders: Deciders | None = None,
    *,
    running: bool = False,
    listing: ManifestBuilder | None = None,
    shard: int | None = None,
    withheld: Withheld | None = None,
) -> AsyncIterator[bytes]:
    """The export as JSON lines, complete lines in each piece; fields in the order of `Record`.

    `listing` receives every record. `withheld`: only bot games, and nothing that the operator hid or renamed.
    """
    async for stored in exported(log, deciders, running=running, shard=shard):
        records = stored if withheld is None else _public(stored, deciders or {}, withheld)
        _list(records, deciders, listing)
        yield b"".join(escape_line_ends(_encode(record)) + b"\n" for record in records)


def _public(records: Sequence[Record], deciders: Deciders, withheld: Withheld) -> list[Record]:
    games = ((record, record.stream.partition("-")[0]) for record in records)
    return [withheld.record(deciders.get(game), record) for record, game in games if game in GAME_TYPES]


def _list(records: Iterable[Record], deciders: Deciders | None, listing: ManifestBuilder | None) -> None:
    if listing is None:
        return
    for record in records:
        listing.take(record, over=rests(deciders or {}, record))


async def parquet(
    log: ShardReader,
    out: Path,
    deciders: Deciders | None = None,
    *,
    running: bool = False,
    listing: ManifestBuilder | None = None,
    shard: int | None = None,
) -> None:
    """Write the export to a Parquet file: `at` as a timestamp, data and metadata as texts, byte for byte.

    `listing` as above.

    Raises ImportError without the extra.
    """
    pyarrow = import_module("pyarrow")  # needed for Parquet only
    writer_of = import_module("pyarrow.parquet").ParquetWriter
    schema = pyarrow.schema([(name, _arrow_type(pyarrow, name)) for name in Record.__struct_fields__])
    with writer_of(out, schema, use_dictionary=_REPEATED) as writer:
        async for records in exported(log, deciders, running=running, shard=shard):
            _list(records, deciders, listing)
            if records:
                writer.write_table(_table(pyarrow, schema, records))


def _table(pyarrow: Any, schema: Any, records: Sequence[Record]) -> Any:
    columns = zip(schema.names, schema.types, strict=True)
    arrays = [_column(pyarrow, kind, list(map(attrgetter(name), records))) for name, kind in columns]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _column(pyarrow: Any, kind: Any, values: list[Any]) -> Any:
    """A column, converted by Arrow: a third cheaper than from Python values."""
    if isinstance(values[0], msgspec.Raw):
        return pyarrow.array(list(map(bytes, values)), pyarrow.binary()).cast(kind)
    return pyarrow.array(values).cast(kind)


def _arrow_type(pyarrow: Any, name: str) -> Any:
    """Never Parquet's logical type JSON: some readers parse it, and what they write again has another hash."""
    return {
        "version": pyarrow.int32(),
        "position": pyarrow.int64(),
        "schema_version": pyarrow.int16(),
        "at": pyarrow.timestamp("us", tz="UTC"),
    }.get(name, pyarrow.string())

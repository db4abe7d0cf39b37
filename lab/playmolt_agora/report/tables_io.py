"""The tables for other tools: `turns.jsonl`, and each table as CSV and Parquet (measures.md, section 11)."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures.data.tables import arrow_table, save
from playmolt_agora.report.study import StudyFault, Table, rows

_encode: Final = msgspec.json.Encoder().encode


def write_tables(
    tables: Mapping[str, Table],
    turns: Iterable[TurnRecord],
    out: Path,
    provenance: Mapping[str, Table] | None = None,
) -> tuple[Path, ...]:
    """Write `turns.jsonl`, `TABLE.csv` and `TABLE.parquet` into `out`, which is made where it is missing.

    With `provenance` (a table parallel to each, as `measures.study` gives it) also `provenance.jsonl`: one line a row
    of a table, `{table, row, definition, alpha, k, n, unit, exclusions, seed, runs, events}`, rows from 1.

    Columns keep their order; null is an empty field in CSV and null in Parquet. Gives the files in the order written.
    Raises StudyFault, before anything is written, when columns differ in length or a number is not finite.
    """
    for name, table in tables.items():
        _check(name, table)
    out.mkdir(parents=True, exist_ok=True)
    files = [_write_turns(turns, out / "turns.jsonl")]
    for name, table in tables.items():
        files += save(name, table, arrow_table(table), out)
    if provenance is not None:
        files.append(out / "provenance.jsonl")
        files[-1].write_bytes(b"".join(_origins(provenance)))
    return tuple(files)


def _origins(provenance: Mapping[str, Table]) -> Iterator[bytes]:
    for name, table in provenance.items():
        for number, row in enumerate(rows(table), 1):
            yield _encode({"table": name, "row": number, **row}) + b"\n"


def turn_line(turn: TurnRecord) -> bytes:
    """A turn's line of `turns.jsonl`, with its end."""
    return _encode(turn) + b"\n"


def _check(name: str, table: Table) -> None:
    if not name.isidentifier():
        raise StudyFault(f"{name!r} is not a valid table name: it becomes a file name")
    lengths = {column: len(values) for column, values in table.items()}
    if len(set(lengths.values())) > 1:
        raise StudyFault(f"table {name}: columns of different length: {lengths}")
    for column, values in table.items():
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            raise StudyFault(f"table {name}, column {column}: a number is not finite; write null as None")


def _write_turns(turns: Iterable[TurnRecord], path: Path) -> Path:
    with path.open("wb") as out:
        out.writelines(turn_line(turn) for turn in turns)
    return path

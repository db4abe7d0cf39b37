"""The columns of every table (`measures.md`, section 11), as `tables.toml` declares them; tables as CSV and Arrow."""

import csv
import io
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

_DECLARED: Final = tomllib.loads(files("playmolt_agora").joinpath("data", "tables.toml").read_text(encoding="utf-8"))
_KINDS: Final = {column: kind for kind in ("text", "flag", "count", "measure") for column in _DECLARED[kind]}
_OWN_KINDS: Final[Mapping[str, str]] = _DECLARED["kinds"]


def _columns(section: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(text.replace(" . ", " ").split()) for name, text in _DECLARED[section].items()}


TABLES: Final = _columns("tables")
BESIDE: Final = _columns("beside")
COLUMNS: Final = {**TABLES, **BESIDE, **_columns("aside"), **_columns("log")}


def keys_of(table: str) -> frozenset[str]:
    """The columns that a row is found by; none of a table beside those of section 11."""
    declared = {**_DECLARED["tables"], **_DECLARED["aside"], **_DECLARED["log"]}
    return frozenset(declared.get(table.removeprefix("unexcluded_"), "").partition(".")[0].split())


def label_of(column: str) -> tuple[str, str]:
    """The Korean and the English label of a column; otherwise its name, spelt out."""
    spelt = column.replace("_", " ")
    ko, en = _DECLARED[_KINDS[column]][column] if column in _KINDS else (spelt, spelt)
    return ko, en


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Rows as CSV: a head line, `\\n` ends, shortest decimals that read back the same, `true` and `false`, no formula
    for a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_field(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


_FORMULA: Final = re.compile(r"""(^|[,;|\t\r\n\v\f\x85\u2028\u2029])([\s"'“”]*)(?=[=+\-@＝＋－＠﹦﹢﹣﹫−])""")
"""Where a spreadsheet would begin to run a formula: at the start of a cell, and behind what it may take for the end of
one. It reads the full-width signs, too."""
_STARTS: Final = re.compile(r"[\t\r]")


@lru_cache(maxsize=1 << 12)
def inert(text: str) -> str:
    """What no spreadsheet takes for a formula: an apostrophe before it."""
    shown = _FORMULA.sub(r"\1'\2", text)
    return f"'{shown}" if _STARTS.match(shown) else shown


def _field(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return inert(value)
    return "" if value is None else value


def save(name: str, rows: Iterable[Mapping[str, object]], table: Any, out: Path) -> tuple[Path, Path]:
    """Write a table, by row and as Arrow, as `NAME.csv` and `NAME.parquet` into a folder; gives both."""
    comma, parquet = out / f"{name}.csv", out / f"{name}.parquet"
    comma.write_bytes(csv_text(table.column_names, rows).encode())
    with parquet.open("wb") as file:  # pyarrow takes no path that is not UTF-8
        import_module("pyarrow.parquet").write_table(table, file)
    return comma, parquet


def arrow_table(name: str, rows: Sequence[Mapping[str, object]]) -> Any:
    """Rows with the columns of a table of this name, and the types that the columns' names say."""
    arrow = import_module("pyarrow")
    types = {"text": arrow.string(), "flag": arrow.bool_(), "count": arrow.int64(), "measure": arrow.float64()}
    columns = COLUMNS[name.removeprefix("unexcluded_")]
    kinds = {column: _OWN_KINDS.get(f"{name}.{column}", _KINDS[column]) for column in columns}
    return arrow.Table.from_pylist(rows, schema=arrow.schema([(each, types[kind]) for each, kind in kinds.items()]))

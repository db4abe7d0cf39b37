"""The columns of every table (`measures.md`, section 11), as `tables.toml` declares them; tables as CSV and Arrow."""

import csv
import io
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
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
INTERVIEWS: Final = _columns("aside")
"""Tables of a study whose plan has questions asked aside, or answers of people; none of them enters a test of
`tests`."""
KAPPA: Final = _columns("log")["kappa"]
COLUMNS: Final = {**TABLES, **BESIDE, **INTERVIEWS, "kappa": KAPPA}
PROVENANCE: Final = ("definition", "alpha", "k", "n", "unit", "exclusions", "seed", "runs", "events")
"""What every row stores, in a table parallel to its own. `events` gives each run's first and last version, where the
log was asked for them."""


def keys_of(table: str) -> frozenset[str]:
    """The columns that a row is found by; none of a table beside those of section 11."""
    declared = {**_DECLARED["tables"], **_DECLARED["aside"], **_DECLARED["log"]}
    return frozenset(declared.get(table.removeprefix("unexcluded_"), "").partition(".")[0].split())


def label_of(column: str) -> tuple[str, str]:
    """The Korean and the English label of a column; otherwise its name, spelt out."""
    spelt = column.replace("_", " ")
    ko, en = _DECLARED[_KINDS[column]][column] if column in _KINDS else (spelt, spelt)
    return ko, en


def csv_text(table: Mapping[str, Sequence[object]]) -> str:
    """A table as CSV: a head line, `\\n` ends, shortest decimals that read back the same, `true` and `false`, no
    formula for a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows([_field(value) for value in line] for line in zip(*table.values(), strict=True))
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


def save(name: str, columns: Mapping[str, Sequence[object]], table: object, out: Path) -> tuple[Path, Path]:
    """Write a table, in columns and as Arrow, as `NAME.csv` and `NAME.parquet` into a folder; gives both."""
    comma, parquet = out / f"{name}.csv", out / f"{name}.parquet"
    comma.write_bytes(csv_text(columns).encode())
    with parquet.open("wb") as file:  # pyarrow takes no path that is not UTF-8
        import_module("pyarrow.parquet").write_table(table, file)
    return comma, parquet


def arrow_table(name: str, table: Mapping[str, Sequence[object]]) -> object:
    """A table with the types that its columns' names say."""
    arrow = import_module("pyarrow")
    types = {"text": arrow.string(), "flag": arrow.bool_(), "count": arrow.int64(), "measure": arrow.float64()}
    kinds = {column: kind_of(name, column, values) for column, values in table.items()}
    columns = {column: arrow.array(_plain(table[column], kind), type=types[kind]) for column, kind in kinds.items()}
    return arrow.table(columns)


def kind_of(table: str, column: str, values: Sequence[object]) -> str:
    """What a column holds: text, flag, count or measure. By its name, so that a column of nulls has a type, too."""
    known = next((value for value in values if value is not None), None)
    return (
        _OWN_KINDS.get(f"{table}.{column}") or _KINDS.get(column) or ("text" if isinstance(known, str) else "measure")
    )


def _plain(values: Sequence[object], kind: str) -> list[Any]:
    """Turn NumPy's numbers into Python's: Arrow is strict about mixed columns."""
    make: Callable[[Any], Any] = {"text": str, "flag": bool, "count": int, "measure": float}[kind]
    return [None if value is None else make(value) for value in values]

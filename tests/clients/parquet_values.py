"""Checks that readers of Parquet find the written values, and the types that docs/other-tools.md shows."""

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow.parquet as pq

from tests.browser.real_provider import installed

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "other-tools.md"
HYPARQUET = "hyparquet@1.33.0"
SECONDS = 110
KINDS = {
    "string": "text", "int64": "int64", "int32": "int32", "int16": "int16", "double": "fraction", "bool": "flag",
    "timestamp[us, tz=UTC]": "time",
}  # fmt: skip
"""Type of a column as written → its name in the page's table."""

NULLABLE = {
    "flag": "object", "int64": "float64", "int32": "float64", "int16": "float64", "fraction": "float64",
    "time": "datetime64[us, UTC]",
}  # fmt: skip
"""The types that pandas gives to columns with a null, as on the page."""

Rows = Sequence[Mapping[str, Any]]


def differences(foreign_python: Path, paths: Sequence[Path]) -> list[str]:
    """Values that a reader finds and that were not written, and types that are not those of the page."""
    shown, found = table(), _found(foreign_python, paths)
    faults = []
    for number, path in enumerate(paths):
        written = pq.ParquetFile(path)
        kinds = {field.name: KINDS[str(field.type)] for field in written.schema_arrow}
        faults += [f"{path.name}: {name} is JSON, not text" for name in kinds if _is_json(written, name)]
        rows = written.read().to_pylist()
        for reader, (types, values) in found[number].items():
            exact = "us" if reader != "hyparquet" else "ms"
            if _plain(values, exact) != _plain(rows, exact):
                faults.append(f"{path.name}: {reader} reads other values")
            for name, kind in types.items():
                with_null = reader == "pandas" and any(row[name] is None for row in rows)
                wanted = NULLABLE.get(kinds[name], "str") if with_null else shown[reader][kinds[name]]
                if wanted != kind:
                    faults.append(f"{path.name}: {reader} shows {name} as {kind}; the page says {wanted}")
    return faults


def table() -> dict[str, dict[str, str]]:
    """Reader → kind of column → type, from the page."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    begin = next(number for number, line in enumerate(lines) if line.startswith("| reader | text |"))
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[begin:]]
    head, rows = cells[0], cells[2:]
    rows = rows[: next((number for number, row in enumerate(rows) if len(row) != len(head)), len(rows))]
    return {row[0].rpartition(" ")[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def _found(foreign_python: Path, paths: Sequence[Path]) -> list[dict[str, tuple[dict[str, str], Rows]]]:
    """For each file: reader → types and rows."""
    node = shutil.which("node")
    assert node
    beside = Path(sys.prefix) / "npm" / f"{HYPARQUET}-reader"
    beside.mkdir(parents=True, exist_ok=True)
    program = Path(shutil.copy(HERE / "parquet_reader.mjs", beside))
    if not (beside / "node_modules").exists():
        (beside / "node_modules").symlink_to(installed(HYPARQUET))
    others = zip(_read(foreign_python, HERE / "parquet_readers.py", *paths), _read(node, program, *paths), strict=True)
    return [
        {reader: (each["types"], each["rows"]) for reader, each in (first | second).items()} | _ours(path)
        for (first, second), path in zip(others, paths, strict=True)
    ]


def _read(*command: str | Path) -> list[dict[str, Any]]:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _ours(path: Path) -> dict[str, tuple[dict[str, str], Rows]]:
    """What polars and pandas find, which are in the platform's own environment."""
    frame, panda = pl.read_parquet(path), pd.read_parquet(path)
    return {
        "Polars": ({name: str(kind) for name, kind in frame.schema.items()}, frame.to_dicts()),
        "pandas": ({str(name): str(kind) for name, kind in panda.dtypes.items()}, panda.to_dict("records")),
    }


def _is_json(written: pq.ParquetFile, name: str) -> bool:
    column = written.schema.column(written.schema_arrow.names.index(name))
    return "JSON" in str(column.logical_type).upper()


def _plain(rows: Rows, exact: str) -> list[dict[str, object]]:
    return [{name: _value(value, exact) for name, value in row.items()} for row in rows]


def _value(value: object, exact: str) -> object:
    """A value in a form that is equal for all readers; a time only with the digits that all of them have."""
    if isinstance(value, str) and value.startswith("int:"):
        return int(value[4:])
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str) and value[4:5] == "-" and "T" in value:
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        at = value.replace(microsecond=value.microsecond // 1000 * 1000) if exact == "ms" else value
        return datetime.fromtimestamp(at.timestamp(), at.tzinfo).isoformat()
    return value

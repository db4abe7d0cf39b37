"""Print as JSON the types and rows that DuckDB and DataFusion find in Parquet files. Tests run it as a program."""

import json
import sys
from datetime import datetime

import datafusion
import duckdb
import pyarrow as pa


def plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def rows(table: pa.Table) -> list[dict[str, object]]:
    return [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]


def found(path: str) -> dict[str, object]:
    relation = duckdb.read_parquet(path)
    context = datafusion.SessionContext()
    context.register_parquet("file", path)
    table = context.sql("SELECT * FROM file").to_arrow_table()
    return {
        "DuckDB": {
            "types": dict(zip(relation.columns, map(str, relation.types), strict=True)),
            "rows": rows(relation.arrow().read_all()),
        },
        "DataFusion": {"types": {field.name: str(field.type) for field in table.schema}, "rows": rows(table)},
    }


print(json.dumps([found(path) for path in sys.argv[1:]]))

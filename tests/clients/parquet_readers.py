"""Print the columns that DuckDB and DataFusion find in a Parquet file, as JSON lines: run by the tests with them."""

import json
import sys

import datafusion
import duckdb

path = sys.argv[1]
context = datafusion.SessionContext()
context.register_parquet("log", path)
for columns in (duckdb.read_parquet(path).arrow().read_all(), context.sql("SELECT * FROM log").to_arrow_table()):
    rows = columns.select(["data", "metadata", "position", "at"]).to_pylist()
    print(json.dumps([row | {"at": row["at"].isoformat()} for row in rows]))

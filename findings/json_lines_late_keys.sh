#!/usr/bin/env bash
# JSON lines in which a key first appears late, as in a log whose last event is of another type. Installed 2026-11: polars
# 2.1.0, pandas 3.1.1, pyarrow 26.0.1, duckdb 2.0.1.
# Guess: each reader either has a column for the key (null before it), or raises.
# Seen:  polars has neither, from the 101st line on: `read_ndjson` and `scan_ndjson` drop key and value without a word, at
#        the top as inside objects; `infer_schema_length=None` keeps them. pandas and pyarrow keep them. DuckDB keeps what
#        appears in its first 20,480 lines, and raises an error after that.
# Why it matters: `game_end`, with results and winner, is the last event of a game. A notebook that worked with a short log
#        reads a long one without results.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0 pandas==3.1.1 pyarrow==26.0.1 duckdb==2.0.1
cd "$folder"
venv/bin/python - <<'PY'
import json

import duckdb
import pandas
import polars
from pyarrow import json as arrow

END = {"type": "game_end", "winner": "Ada", "data": {"points": 200}}


def write(lines):
    with open("log.jsonl", "w") as file:
        for number in range(lines - 1):
            file.write(json.dumps({"type": "speak", "data": {"text": str(number)}}) + "\n")
        file.write(json.dumps(END) + "\n")


def sql(query):
    found = duckdb.sql(query)
    return dict(zip(found.columns, found.fetchall()[0]))


def last(read):
    try:
        row = read()
    except Exception as error:
        return type(error).__name__
    return row.get("winner"), row["data"].get("points")


readers = {
    "polars": lambda: polars.read_ndjson("log.jsonl").row(-1, named=True),
    "polars, lazy": lambda: polars.scan_ndjson("log.jsonl").collect().row(-1, named=True),
    "polars, all": lambda: polars.read_ndjson("log.jsonl", infer_schema_length=None).row(-1, named=True),
    "pandas": lambda: pandas.read_json("log.jsonl", lines=True).iloc[-1].to_dict(),
    "pyarrow": lambda: arrow.read_json("log.jsonl").slice(lines - 1).to_pylist()[0],
    "duckdb": lambda: sql("SELECT * FROM 'log.jsonl' WHERE type = 'game_end'"),
}
seen = {}
for lines in (100, 101, 30_000):
    write(lines)
    seen[lines] = {name: last(read) for name, read in readers.items()}
    print(f"{lines:6} lines", seen[lines])
whole, dropped = ("Ada", 200), (None, None)
assert set(seen[100].values()) == {whole}, seen[100]
for lines in (101, 30_000):
    assert seen[lines]["polars"] == seen[lines]["polars, lazy"] == dropped, "polars keeps late keys, or raises, now"
    assert {seen[lines][name] for name in ("polars, all", "pandas", "pyarrow")} == {whole}, seen[lines]
assert seen[101]["duckdb"] == whole
assert seen[30_000]["duckdb"] not in (whole, dropped), "DuckDB reads late keys now"
PY

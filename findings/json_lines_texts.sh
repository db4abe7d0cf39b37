#!/usr/bin/env bash
# Texts in JSON lines, read with the defaults. Installed 2026-11: pandas 3.1.1, duckdb 2.0.1, pyarrow 26.0.1, polars 2.1.0.
# Guess: a JSON string stays a text with the same characters, as JSON itself says what is a string and what is a number.
# Seen:  in polars alone.
#        pandas makes numbers of texts that look like some: "007" is 7, "0.150" is 0.15.
#        DuckDB makes dates, times, timestamps and UUIDs: "2026-1-5" becomes 2026-01-05, "9:30" 09:30:00, a UUID changes to
#        small letters, "+09:00" is converted away, and of "….123456789Z" the last three digits are cut off.
#        pyarrow makes timestamps without a zone: "2026-01-05T10:00:00+09:00" becomes 2026-01-05 01:00:00.
#        And a whole number above 2^64 becomes a float, silently, in DuckDB and pyarrow; pandas refuses it.
# Why it matters: ids, decimal amounts and hashes over a record no longer match what was written. Give the types: pandas
#        `dtype=False`, DuckDB `columns={…}` or `read_ndjson_objects`, pyarrow an explicit schema.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 duckdb==2.0.1 pyarrow==26.0.1 polars==2.1.0 pytz
cd "$folder"
venv/bin/python - <<'PY'
import json

import duckdb
import pandas
import polars
from pyarrow import json as arrow

ROW = {
    "id": "007", "share": "0.150", "day": "2026-1-5", "hour": "9:30", "uuid": "0190A2B4-0000-7000-8000-000000000001",
    "zone": "2026-01-05T10:00:00+09:00", "fine": "2026-01-05T10:00:00.123456789Z", "large": 2**64 + 1,
}
with open("rows.jsonl", "w") as file:
    file.write(json.dumps(ROW) + "\n")
with open("small.jsonl", "w") as file:  # pandas refuses a number of that size
    file.write(json.dumps(ROW | {"large": 1}) + "\n")
names = ", ".join(f"CAST({name} AS VARCHAR)" for name in ROW)
duckdb.sql("SET TimeZone = 'UTC'")
found = {
    "pandas": pandas.read_json("small.jsonl", lines=True).iloc[0].to_dict() | {"large": ROW["large"]},
    "duckdb": dict(zip(ROW, duckdb.sql(f"SELECT {names} FROM read_json('rows.jsonl')").fetchall()[0])),
    "pyarrow": arrow.read_json("rows.jsonl").to_pylist()[0],
    "polars": polars.read_ndjson("rows.jsonl").row(0, named=True),
}
changed = {}
for reader, row in found.items():
    changed[reader] = {name: str(row[name]) for name, value in ROW.items() if str(row[name]) != str(value)}
    print(f"{reader:8}", changed[reader])
assert changed.pop("polars") == {}, "polars changes texts now"
assert {"id": "7", "share": "0.15"}.items() <= changed["pandas"].items(), changed
assert set(changed["duckdb"]) == {"day", "hour", "uuid", "zone", "fine", "large"}, changed
assert changed["duckdb"]["fine"].endswith(".123456+00")
assert changed["pyarrow"]["zone"] == "2026-01-05 01:00:00", changed
assert set(changed["pyarrow"]) == {"zone", "large"}, changed
PY

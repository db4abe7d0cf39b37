#!/usr/bin/env bash
# hyparquet 1.33.0 (reads Parquet in a browser or in Node), installed 2026-11.
# Guess: it reads 64-bit integers as bigint, so other exact values keep their digits, too: a decimal as text, as bigint or
#        in a type of its own; a JSON column as text; bytes as Uint8Array.
# Seen:  a decimal becomes a float, 12345678901234567.10 is 12345678901234568; a JSON column is parsed, and 9007199254740993
#        in it is 9007199254740992; bytes become text, and those that are not UTF-8 are replaced. Nothing is reported.
#        (`utf8: false` keeps bytes; it makes bytes of texts without a logical type, too.)
# Why it matters: sums of money, ids inside JSON, and hashes differ from those of every other reader. Publish them as text.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1
cd "$folder"
npm install --silent --no-audit --no-fund hyparquet@1.33.0
venv/bin/python - <<'PY'
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

columns = {
    "whole": pa.array([2**53 + 1]),
    "money": pa.array([Decimal("12345678901234567.10")], pa.decimal128(38, 2)),
    "json": pa.array(['{"id":9007199254740993}'], pa.json_(pa.string())),
    "bytes": pa.array([b"\xff\xfe"]),
    "text": pa.array(["12345678901234567.10"]),
}
pq.write_table(pa.table(columns), "rows.parquet", compression="snappy")
PY
cat > read.mjs <<'JS'
import assert from "node:assert";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";

const [row] = await parquetReadObjects({ file: await asyncBufferFromFile("rows.parquet") });
console.log(row);
assert.strictEqual(row.whole, 9007199254740993n);
assert.strictEqual(row.text, "12345678901234567.10");
assert.strictEqual(row.money, 12345678901234568, "decimals are exact now");
assert.deepStrictEqual(row.json, { id: 9007199254740992 }, "JSON is exact now");
assert.strictEqual(row.bytes, "\ufffd\ufffd", "bytes are bytes now");
JS
node read.mjs

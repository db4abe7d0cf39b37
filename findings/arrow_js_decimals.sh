#!/usr/bin/env bash
# apache-arrow 21.2.0 with parquet-wasm 0.8.0 (read Arrow and Parquet in a browser or in Node), pyarrow 26.0.1, installed 2026-11.
# Guess: a decimal of 12.34 is read as 12.34: as text, or in a type whose text says so, with its sign; moments in microseconds
#        keep all digits or are bigint, as whole numbers of 64 bits are.
# Seen:  a decimal has no point: its text, its JSON and its number are 1234, and it `+ 1` is the text "12341". The scale stays in
#        the type of the column alone. Moments in micro- and nanoseconds become a float of milliseconds: two moments that
#        are 1 ns apart are equal. Whole numbers are bigint and exact.
# Why it matters: a page that shows or adds up prices from a published Parquet file has them a hundred times too high,
#        without a warning, while pyarrow reads the file rightly and hyparquet gives 12.34. Divide by 10 ** type.scale,
#        or publish amounts in whole cents, and moments as whole numbers.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1
cd "$folder"
npm install --silent --no-audit --no-fund apache-arrow@21.2.0 parquet-wasm@0.8.0 hyparquet@1.33.0
venv/bin/python - <<'PY'
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

START = 1_764_500_000_123_456_789
columns = {
    "price": pa.array([Decimal("12.34"), Decimal("-0.05")], pa.decimal128(10, 2)),
    "moment": pa.array([START, START + 1], pa.timestamp("ns")),
    "whole": pa.array([2**53, 2**53 + 1]),
}
pq.write_table(pa.table(columns), "rows.parquet", compression="snappy")
assert [str(price) for price in pq.read_table("rows.parquet")["price"]] == ["12.34", "-0.05"]
PY
cat > read.mjs <<'JS'
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { tableFromIPC } from "apache-arrow";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { readParquet } from "parquet-wasm/node";

const table = tableFromIPC(readParquet(readFileSync("rows.parquet")).intoIPCStream());
const [price, moment, whole] = ["price", "moment", "whole"].map((name) => [...table.getChild(name)]);
console.log("prices", price.map(String), JSON.stringify(price), price.map(Number), "plus one:", price[0] + 1);
assert.deepStrictEqual(price.map(String), ["1234", "-5"], "it changed");
assert.deepStrictEqual(price.map(Number), [1234, -5], "it changed");
assert.strictEqual(price[0] + 1, "12341", "it changed");
assert.strictEqual(table.getChild("price").type.scale, 2);
console.log("moments", moment, "equal:", moment[0] === moment[1]);
assert.strictEqual(moment[0], moment[1], "it changed");
assert.deepStrictEqual(whole, [2n ** 53n, 2n ** 53n + 1n]);
const rows = await parquetReadObjects({ file: await asyncBufferFromFile("rows.parquet") });
assert.deepStrictEqual(rows.map((row) => row.price), [12.34, -0.05]);
JS
node read.mjs

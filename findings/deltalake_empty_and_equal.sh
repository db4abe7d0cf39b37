#!/usr/bin/env bash
# deltalake 1.6.6 with pyarrow 26.0.1 (PyPI; tables that grow, as folders of Parquet), installed 2026-12: empty texts and close moments.
# Guess: a table that is written and read again holds the same values, however it is partitioned; a type that it cannot hold is refused, as
#        unsigned integers and durations are.
# Seen:  in a column that the table is partitioned by, "" is read as null, so that an empty verdict and a missing one are the same, and a filter
#        for "" finds nothing; in a table without partitions both stay. "__HIVE_DEFAULT_PARTITION__" is null as well. Moments in
#        nanoseconds are cut to microseconds: 1 ns and 999 ns are equal, and 1999 ns is 1 µs. Nothing is reported.
# Why it matters: a jury that gave no verdict ("") joins those that were not heard, by the way the files are laid out, and events that were in order by
#        their time share one. Write a word for what is empty, keep a number of the event, and store nanoseconds as integers.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check deltalake==1.6.6 pyarrow==26.0.1
cd "$folder"
venv/bin/python - <<'PY'
import pyarrow
from deltalake import DeltaTable, write_deltalake

verdicts = pyarrow.table({"verdict": ["guilty", "", None, " ", "__HIVE_DEFAULT_PARTITION__"], "jury": [1, 2, 3, 4, 5]})
for name, partitions, expected, empty in (
    ("plain", None, verdicts["verdict"].to_pylist(), 1),
    ("partitioned", ["verdict"], ["guilty", None, None, " ", None], 0),
):
    write_deltalake(name, verdicts, partition_by=partitions)
    table = DeltaTable(name)
    read = table.to_pyarrow_table().sort_by("jury")["verdict"].to_pylist()
    found = table.to_pyarrow_table(filters=[("verdict", "=", "")]).num_rows
    print(f"{name}: {read}, with the verdict '' {found}")
    assert (read, found) == (expected, empty), "it changed"

nanoseconds = [1, 999, 1999]
write_deltalake("times", pyarrow.table({"at": pyarrow.array(nanoseconds, pyarrow.timestamp("ns", "UTC"))}))
times = DeltaTable("times").to_pyarrow_table()["at"]
print(f"nanoseconds {nanoseconds}: {times.type} {times.cast(pyarrow.int64()).to_pylist()}")
assert times.type.unit == "us" and sorted(times.cast(pyarrow.int64()).to_pylist()) == [0, 0, 1], "it changed"
PY

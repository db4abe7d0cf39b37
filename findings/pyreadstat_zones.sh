#!/usr/bin/env bash
# pyreadstat 1.3.7 with pandas 3.1.1 (tables for SPSS, Stata and SAS), installed 2026-11: times with a zone.
# Guess: these files have no zones, so one rule holds for a column of times: all as UTC, or all as the clock showed them; a column with
#        several zones is refused or made one.
# Seen:  the rule is that of the column's type. Of one moment, 12:00 in Berlin, a column of pandas' type with the zone is written as
#        10:00, UTC, and a column of Python's `datetime` as 12:00. In the second, 12:00 in Berlin and 12:00 in Tokyo, seven hours
#        apart, are equal. The three formats are alike. Beside it: integers from 2**53 on are rounded, and an object is written
#        as Python's "{'a': 1}", which is not JSON. Nothing is reported.
# Why it matters: whether a table came from JSON or from Parquet decides by hours when a move took place, and waits between agents
#        in two zones are wrong. Convert to UTC and drop the zone before writing, and write objects as JSON texts.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyreadstat==1.3.7 pandas==3.1.1
cd "$folder"
venv/bin/python -W ignore - <<'PY'
from datetime import datetime
from zoneinfo import ZoneInfo

import pandas
import pyreadstat

FORMS = {
    "sav": (pyreadstat.write_sav, pyreadstat.read_sav),
    "dta": (pyreadstat.write_dta, pyreadstat.read_dta),
    "xpt": (pyreadstat.write_xport, pyreadstat.read_xport),
}


def written(values):
    found = {}
    for form, (write, read) in FORMS.items():
        write(pandas.DataFrame({"value": values}), f"table.{form}")
        found[form] = read(f"table.{form}")[0]["value"].tolist()
    assert found["sav"] == found["dta"] == found["xpt"], "it changed"
    return found["sav"]


berlin, tokyo = (datetime(2026, 7, 1, 12, tzinfo=ZoneInfo(zone)) for zone in ("Europe/Berlin", "Asia/Tokyo"))
for name, values, expected in (
    ("pandas' type with a zone", pandas.Series([pandas.Timestamp(berlin)]), [10]),
    ("datetime", pandas.Series([berlin], dtype=object), [12]),
    ("datetime in two zones", pandas.Series([berlin, tokyo], dtype=object), [12, 12]),
):
    found = written(values)
    print(f"{name}: {[str(value) for value in values]} -> {[str(value) for value in found]}")
    assert [value.hour for value in found] == expected, "it changed"
for value, expected in ((2**53 + 1, 2.0**53), ({"a": 1}, "{'a': 1}")):
    found = written([value])
    print(value, "->", found)
    assert found == [expected], "it changed"
PY

#!/usr/bin/env bash
# pydantic 2.14.4, read by isodate 0.7.2, msgspec 0.23.0 (PyPI), luxon 3.7.2 (npm), installed 2026-11: a long timedelta in JSON.
# Guess: a timedelta, which knows days and seconds only, is written in days: 400 days are "P400D", as other writers do, and each
#        reader gets 400 days back.
# Seen:  pydantic writes "P1Y35D": a year of 365 days. Read by itself it is 400 days. msgspec refuses it (it has no years).
#        isodate returns a Duration whose `total_seconds()` is that of 35 days: the year is left out, and "P1Y" is 0 seconds.
#        Added to 1 January 2028, with isodate and luxon, it ends on 5 February 2029, "P400D" on 4 February. 364 days are "P364D".
# Why it matters: the length of a season or a retention of data is a year too short, a day too long or refused by the next service,
#        only beyond a year. Publish seconds (`ser_json_timedelta="float"`), or the moment of the end.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4 isodate==0.7.2 msgspec==0.23.0
cd "$folder"
npm install --silent --no-audit --no-fund luxon@3.7.2
venv/bin/python - <<'PY'
from datetime import date, timedelta

import isodate
import msgspec
from pydantic import TypeAdapter

adapter = TypeAdapter(timedelta)
for days, expected in ((364, "P364D"), (365, "P1Y"), (400, "P1Y35D"), (730, "P2Y")):
    text = adapter.dump_python(timedelta(days=days), mode="json")
    print(days, "days:", text, "| isodate", isodate.duration_isoformat(timedelta(days=days)), "| msgspec", msgspec.to_builtins(timedelta(days=days)))
    assert text == expected, "it changed"
    assert adapter.validate_python(text) == timedelta(days=days)
    assert isodate.duration_isoformat(timedelta(days=days)) == msgspec.to_builtins(timedelta(days=days)) == f"P{days}D"
try:
    msgspec.convert("P1Y35D", timedelta)
except msgspec.ValidationError as error:
    print("msgspec:", error)
else:
    raise SystemExit("it changed")
read = isodate.parse_duration("P1Y35D")
ends = date(2028, 1, 1) + read, date(2028, 1, 1) + timedelta(days=400)
length = timedelta(seconds=read.total_seconds())
print("isodate:", repr(read), "lasts", length, "ends", *ends)
assert length == timedelta(days=35) and isodate.parse_duration("P1Y").total_seconds() == 0, "it changed"
assert ends == (date(2029, 2, 5), date(2029, 2, 4)), "it changed"
PY
cat > add.mjs <<'JS'
import assert from "node:assert";
import { DateTime, Duration } from "luxon";

const ends = ["P1Y35D", "P400D"].map((text) => DateTime.utc(2028, 1, 1).plus(Duration.fromISO(text)).toISODate());
console.log("luxon:", ...ends);
assert.deepStrictEqual(ends, ["2029-02-05", "2029-02-04"], "it changed");
JS
node add.mjs

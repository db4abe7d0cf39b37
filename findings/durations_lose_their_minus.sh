#!/usr/bin/env bash
# Negative durations (ISO 8601-2) as text: luxon 3.7.2, iso8601-duration 2.1.4, tinyduration 3.4.1 (npm), isodate 0.7.2,
# pydantic 2.14.4, msgspec 0.23.0, icalendar 7.3.2 (PyPI), installed 2026-11.
# Guess: "an hour and a half late", -90 minutes, is written with one minus in front, and each reads it as negative or refuses it.
# Seen:  iso8601-duration reads "-PT1H30M", which the four of PyPI and tinyduration write or read, as plus 90 minutes; it
#        refuses "PT-1H". luxon writes a minus at each part, "PT-1H-30M", which all four of PyPI refuse; it reads both.
# Why it matters: a deadline in a page that uses iso8601-duration is as far in the future as it is in the past, and a service in
#        Python refuses what a page with luxon sends. Send two moments, or whole seconds, where the difference may be negative.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check isodate==0.7.2 pydantic==2.14.4 msgspec==0.23.0 icalendar==7.3.2
cd "$folder"
npm install --silent --no-audit --no-fund luxon@3.7.2 iso8601-duration@2.1.4 tinyduration@3.4.1
venv/bin/python - <<'PY'
from datetime import timedelta

import icalendar
import isodate
import msgspec
import pydantic

late = timedelta(minutes=-90)
adapter = pydantic.TypeAdapter(timedelta)
READERS = {
    "isodate": isodate.parse_duration,
    "pydantic": adapter.validate_python,
    "msgspec": lambda text: msgspec.convert(text, timedelta),
    "icalendar": icalendar.vDuration.from_ical,
}
written = {
    "isodate": isodate.duration_isoformat(late),
    "pydantic": adapter.dump_python(late, mode="json"),
    "msgspec": msgspec.to_builtins(late),
    "icalendar": icalendar.vDuration(late).to_ical().decode(),
}
print(written)
assert set(written.values()) == {"-PT1H30M", "-PT5400S"}, "it changed"
for name, read in READERS.items():
    assert read("-PT1H30M") == late, "it changed"
    try:
        read("PT-1H-30M")
    except ValueError as error:
        print(f"{name} refuses PT-1H-30M: {type(error).__name__}")
    else:
        raise SystemExit("it changed")
PY
cat > read.mjs <<'JS'
import assert from "node:assert";
import * as iso from "iso8601-duration";
import { Duration } from "luxon";
import * as tiny from "tinyduration";

const written = Duration.fromObject({ hours: -1, minutes: -30 }).toISO();
console.log("luxon writes", written);
assert.strictEqual(written, "PT-1H-30M", "it changed");
for (const text of ["-PT1H30M", written]) assert.strictEqual(Duration.fromISO(text).as("minutes"), -90, "it changed");
const minutes = iso.toSeconds(iso.parse("-PT1H30M")) / 60;
console.log("iso8601-duration reads -PT1H30M as", minutes, "minutes");
assert.strictEqual(minutes, 90, "it changed");
assert.throws(() => iso.parse("PT-1H"), /invalid duration/);
assert.strictEqual(tiny.parse("-PT1H30M").negative, true);
JS
node read.mjs

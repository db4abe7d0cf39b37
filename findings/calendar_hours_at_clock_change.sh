#!/usr/bin/env bash
# Events of a calendar with a length in hours, over a change of the clock. Installed 2026-11: icalendar 7.3.2, ics 0.7.3,
# recurring-ical-events 3.8.2 (PyPI), ical.js 2.2.1, node-ical 0.26.1 (npm).
# Guess: "DURATION:PT3H" lasts three hours, as RFC 5545 says (days follow the clock on the wall, hours do not), in the night on
#        which the clock is set as well: they know the zone, and find the start rightly.
# Seen:  node-ical alone. The other four add three hours to what the clock shows: begun at 01:30 in Berlin on 25 October 2026 the
#        event ends after four hours, on 29 March after two. `duration` says three hours nevertheless. Where the file has DTEND
#        instead, the end is right, and icalendar's `duration` of three real hours is two in October.
# Why it matters: a round or a deadline "for 24 hours" closes an hour early or late by the reader, twice a year, and a weekly event
#        hides it in one occurrence. Publish DTEND in UTC, and subtract moments in UTC.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check icalendar==7.3.2 ics==0.7.3 recurring-ical-events==3.8.2
cd "$folder"
npm install --silent --no-audit --no-fund ical.js@2.2.1 node-ical@0.26.1
cat > read.mjs <<'JS'
import { readFileSync } from "node:fs";
import ICAL from "ical.js";
import nodeIcal from "node-ical";

const file = process.argv[2];
const calendar = new ICAL.Component(ICAL.parse(readFileSync(file, "utf8")));
for (const zone of calendar.getAllSubcomponents("vtimezone")) ICAL.TimezoneService.register(zone);
const event = new ICAL.Event(calendar.getFirstSubcomponent("vevent"));
const other = nodeIcal.sync.parseFile(file).round;
console.log(JSON.stringify({
  "ical.js": (event.endDate.toJSDate() - event.startDate.toJSDate()) / 3_600_000,
  "node-ical": (other.end - other.start) / 3_600_000,
}));
JS
venv/bin/python - <<'PY'
import json
import subprocess
from datetime import timedelta, timezone
from pathlib import Path

import icalendar
import ics
import recurring_ical_events

ZONE = """BEGIN:VTIMEZONE
TZID:Europe/Berlin
BEGIN:DAYLIGHT
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
DTSTART:19700329T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
BEGIN:STANDARD
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
END:VTIMEZONE"""


def hours(start, end):
    return (end.astimezone(timezone.utc) - start.astimezone(timezone.utc)) / timedelta(hours=1)


def read(day, length):
    lines = f"""BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//games//EN
{ZONE}
BEGIN:VEVENT
UID:round
DTSTAMP:20260101T000000Z
DTSTART;TZID=Europe/Berlin:{day}T013000
{length}
END:VEVENT
END:VCALENDAR
"""
    text = lines.replace("\n", "\r\n")
    Path("round.ics").write_text(text, newline="")
    calendar = icalendar.Calendar.from_ical(text)
    event = calendar.walk("VEVENT")[0]
    (occurrence,) = recurring_ical_events.of(calendar).between((2026, 1, 1), (2027, 1, 1))
    (other,) = ics.Calendar(text).events
    found = {
        "icalendar": hours(event.start, event.end),
        "recurring-ical-events": hours(occurrence.start, occurrence.end),
        "ics": hours(other.begin.datetime, other.end.datetime),
        **json.loads(subprocess.check_output(["node", "read.mjs", "round.ics"])),
    }
    print(day, length, found, "duration of icalendar:", event.duration)
    return found, event.duration / timedelta(hours=1)


FOUR = ("icalendar", "recurring-ical-events", "ics", "ical.js")
for day, expected in (("20260328", 3), ("20260329", 2), ("20261025", 4)):
    found, duration = read(day, "DURATION:PT3H")
    assert found == {**dict.fromkeys(FOUR, expected), "node-ical": 3} and duration == 3, "it changed"
found, duration = read("20261025", "DTEND;TZID=Europe/Berlin:20261025T033000")
assert {found[name] for name in ("icalendar", "recurring-ical-events", "ics", "node-ical")} == {3} and duration == 2, "it changed"
PY

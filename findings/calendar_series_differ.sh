#!/usr/bin/env bash
# A tournament's series of rounds in a calendar file, installed 2026-11: recurring-ical-events 3.8.2 with icalendar 7.3.2 (PyPI),
# ical.js 2.2.1, node-ical 0.26.1 (npm).
# Guess: rules that programs for calendars offer give the same rounds in all three: monthly on the 31st leaves out
#        shorter months (RFC 5545), added dates are added once, and "this and all later ones" moves all later ones.
# Seen:  recurring-ical-events does so. node-ical makes of the 31st of January the 28th of February, and then stays on the 28th: no
#        later round is on the day of the others. Beside a rule it leaves out added dates (RDATE), and of THISANDFUTURE it moves
#        the first alone. ical.js gives a date twice that both the rule and RDATE name. Nothing is reported.
# Why it matters: a bot that takes its rounds from the feed is absent, or comes on a day without a round, while the same
#        feed is right in another program. Publish each round as an event of its own.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check recurring-ical-events==3.8.2 icalendar==7.3.2
cd "$folder"
npm install --silent --no-audit --no-fund ical.js@2.2.1 node-ical@0.26.1
cat > read.mjs <<'JS'
import { readFileSync } from "node:fs";
import ICAL from "ical.js";
import nodeIcal from "node-ical";

const text = readFileSync("rounds.ics", "utf8");
const [main, ...changed] = new ICAL.Component(ICAL.parse(text)).getAllSubcomponents("vevent");
const event = new ICAL.Event(main, { exceptions: changed });
const rounds = [];
const iterator = event.iterator();
for (let next = iterator.next(); next && rounds.length < 9; next = iterator.next()) {
  rounds.push(event.getOccurrenceDetails(next).startDate.toString());
}
const year = { from: new Date("2026-01-01T00:00Z"), to: new Date("2027-01-01T00:00Z") };
const others = Object.values(nodeIcal.sync.parseICS(text)).filter((value) => value.type === "VEVENT");
const starts = others.flatMap((value) => nodeIcal.expandRecurringEvent(value, year)).map((value) => value.start.toISOString());
console.log(JSON.stringify([rounds, starts]));
JS
TZ=UTC venv/bin/python -W ignore - <<'PY'
import json
import subprocess
from pathlib import Path

import icalendar
import recurring_ical_events


def event(*lines):
    return ["BEGIN:VEVENT", "UID:rounds", "DTSTAMP:20260101T000000Z", *lines, "SUMMARY:Round", "END:VEVENT"]


def starts(*events):
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//games//rounds//EN", *sum(events, []), "END:VCALENDAR", ""]
    Path("rounds.ics").write_text("\r\n".join(lines), newline="")
    calendar = icalendar.Calendar.from_ical(Path("rounds.ics").read_bytes())
    python = recurring_ical_events.of(calendar).between((2026, 1, 1), (2027, 1, 1))
    ical_js, node_ical = json.loads(subprocess.check_output(["node", "read.mjs"]))
    found = [f"{round.start:%m-%dT%H}" for round in python], *([start[5:13] for start in other] for other in (ical_js, node_ical))
    return dict(zip(("recurring-ical-events", "ical.js", "node-ical"), map(sorted, found)))


def check(name, found, expected, **wrong):
    print(name, found)
    for reader, starts in found.items():
        assert starts == wrong.get(reader.replace(".", "_").replace("-", "_"), expected), "it changed"


def at(day, hours=(10, 11)):
    return [f"{field}:202601{day:02}T{hour}0000Z" for field, hour in zip(("DTSTART", "DTEND"), hours)]


check(
    "monthly on the 31st",
    starts(event(*at(31), "RRULE:FREQ=MONTHLY;COUNT=4")),
    ["01-31T10", "03-31T10", "05-31T10", "07-31T10"],
    node_ical=["01-31T10", "02-28T10", "03-28T10", "04-28T10"],
)
check(
    "two days, one of them and a third added",
    starts(event(*at(5), "RRULE:FREQ=DAILY;COUNT=2", "RDATE:20260106T100000Z,20260110T100000Z")),
    ["01-05T10", "01-06T10", "01-10T10"],
    ical_js=["01-05T10", "01-06T10", "01-06T10", "01-10T10"],
    node_ical=["01-05T10", "01-06T10"],
)
check(
    "four days, from the third on at 15:00",
    starts(event(*at(5), "RRULE:FREQ=DAILY;COUNT=4"), event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260107T100000Z", *at(7, (15, 16)))),
    ["01-05T10", "01-06T10", "01-07T15", "01-08T15"],
    node_ical=["01-05T10", "01-06T10", "01-07T15", "01-08T10"],
)
PY

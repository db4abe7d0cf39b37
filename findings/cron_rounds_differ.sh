#!/usr/bin/env bash
# When a line of cron starts a round, installed 2026-11: croniter 7.0.0, cronsim 2.8, APScheduler 3.11.3 (PyPI), croner 11.0.1,
# cron-parser 5.10.6, cron 4.4.0 (npm).
# Guess: they give the same times for a line that all of them take, with the zone given: 1 is Monday, a day of the month and a
#        weekday mean either, and a round once a day takes place once a day when the clock is set.
# Seen:  at 02:30 in Berlin croniter and APScheduler start two rounds on 25 October; on 29 March APScheduler and cron-parser start at
#        03:30, the others at 03:00. Of "*/2" with Monday cronsim takes the days that are both. APScheduler's `from_crontab`
#        counts weekdays from Monday as 0 and always takes both: 12:00 "on the 13th and on Fridays" is first on Saturday,
#        13 February 2027. All agree on MON. Nothing is reported.
# Why it matters: an operator's timer, a bot's and the page with the calendar read one line, and meet on different days. Publish
#        the times of the rounds, and write weekdays as names.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check croniter==7.0.0 cronsim==2.8 APScheduler==3.11.3
cd "$folder"
npm install --silent --no-audit --no-fund croner@11.0.1 cron-parser@5.10.6 cron@4.4.0
cat > next.mjs <<'JS'
import { CronTime } from "cron";
import cronParser from "cron-parser";
import { Cron } from "croner";
import { DateTime } from "luxon";

const [line, zone, start, count] = JSON.parse(process.argv[2]);
const parsed = cronParser.CronExpressionParser.parse(line, { tz: zone, currentDate: new Date(start) });
let time = DateTime.fromISO(start, { zone });
const starts = {
  croner: new Cron(line, { timezone: zone, paused: true }).nextRuns(count, new Date(start)),
  "cron-parser": Array.from({ length: count }, () => parsed.next().toDate()),
  cron: Array.from({ length: count }, () => (time = new CronTime(line, zone).getNextDateFrom(time, zone)).toJSDate()),
};
console.log(JSON.stringify(starts));
JS
venv/bin/python -W ignore - <<'PY'
import json
import subprocess
from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim


def apscheduler(line, zone, start):
    trigger, previous = CronTrigger.from_crontab(line, timezone=zone), None
    while True:
        previous = trigger.get_next_fire_time(previous, previous or start)
        yield previous


def starts(line, zone, start, count):
    local = datetime.fromisoformat(start).astimezone(ZoneInfo(zone))
    python = {
        "croniter": croniter(line, local, ret_type=datetime),
        "cronsim": CronSim(line, local),
        "APScheduler": apscheduler(line, zone, local),
    }
    found = {name: [time.astimezone(UTC).isoformat() for time in islice(times, count)] for name, times in python.items()}
    found |= json.loads(subprocess.check_output(["node", "next.mjs", json.dumps([line, zone, start, count])]))
    return {name: [time[2:16] for time in times] for name, times in found.items()}


def check(line, zone, start, expected, **others):
    found = starts(line, zone, start, len(expected))
    print(f"{line} in {zone}: {expected}, else { {name: times for name, times in found.items() if times != expected} }")
    for name, times in found.items():
        assert times == others.get(name.replace("-", "_"), expected), "it changed"


BERLIN, NOVEMBER = "Europe/Berlin", "2026-11-01T00:00:00Z"
twice = ["26-10-25T00:30", "26-10-25T01:30", "26-10-26T01:30"]
check("30 2 * * *", BERLIN, "2026-10-24T12:00:00Z", ["26-10-25T00:30", "26-10-26T01:30", "26-10-27T01:30"], croniter=twice, APScheduler=twice)
late = ["26-03-29T01:30", "26-03-30T00:30"]
check("30 2 * * *", BERLIN, "2026-03-28T12:00:00Z", ["26-03-29T01:00", "26-03-30T00:30"], APScheduler=late, cron_parser=late)
check("0 12 13 * 5", "UTC", NOVEMBER, ["26-11-06T12:00", "26-11-13T12:00"], APScheduler=["27-02-13T12:00", "27-03-13T12:00"])
check(
    "0 12 */2 * 1",
    "UTC",
    NOVEMBER,
    ["26-11-01T12:00", "26-11-02T12:00", "26-11-03T12:00"],
    cronsim=["26-11-09T12:00", "26-11-23T12:00", "26-12-07T12:00"],
    APScheduler=["26-11-03T12:00", "26-11-17T12:00", "26-12-01T12:00"],
)
check("0 12 * * MON", "UTC", NOVEMBER, ["26-11-02T12:00", "26-11-09T12:00"])
PY

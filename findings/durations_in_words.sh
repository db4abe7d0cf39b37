#!/usr/bin/env bash
# Durations as people write them, installed 2026-12: parse-duration 2.1.9, timestring 7.0.0, enhanced-ms 5.0.0, itty-time 2.0.2, ms 2.1.3
# (npm), pytimeparse 1.1.10, humanfriendly 10.0 (PyPI).
# Guess: each reads a text in one way or refuses it: "1h30" is ninety minutes, "24:00" a day, "1,5h" an hour and a half, "-1h" negative, and a
#        unit that is unknown is an error, as a number alone may be.
# Seen:  "1h30" is 90 minutes in parse-duration, and 60 in timestring and enhanced-ms, which leave out the 30. "1,5h" is 15 hours in
#        parse-duration and timestring. "24:00" is 24 minutes in pytimeparse and 24 milliseconds in parse-duration. "-1h" is an hour
#        ahead in timestring and enhanced-ms. "36 hrs" is 36 milliseconds in itty-time, since it knows "hours" alone. ms and humanfriendly
#        refuse what they do not know, or give NaN.
# Why it matters: the time for a move that an operator writes in a file for several programs is over at once in one of them and ten times
#        as long in the next. Write "90 minutes", which all read alike, or whole seconds.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund parse-duration@2.1.9 timestring@7.0.0 enhanced-ms@5.0.0 itty-time@2.0.2 ms@2.1.3
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pytimeparse==1.1.10 humanfriendly==10.0
cat > durations.mjs <<'JS'
import assert from "node:assert";
import enhanced from "enhanced-ms";
import { ms as itty } from "itty-time";
import ms from "ms";
import parse from "parse-duration";
import timestring from "timestring";

const readers = {
  "parse-duration": (text) => parse(text) / 1000,
  timestring: (text) => timestring(text),
  "enhanced-ms": (text) => enhanced(text) / 1000,
  "itty-time": (text) => itty(text) / 1000,
  ms: (text) => ms(text) / 1000,
};
const seconds = (name, text) => {
  try {
    return readers[name](text);
  } catch {
    return "refused";
  }
};
const found = {};
for (const text of ["90m", "90 minutes", "1h30", "1,5h", "24:00", "-1h", "36 hrs"]) {
  found[text] = Object.fromEntries(Object.keys(readers).map((name) => [name, seconds(name, text)]));
  console.log(`'${text}' in seconds:`, JSON.stringify(found[text]));
}
for (const name of Object.keys(readers)) assert(seconds(name, "90 minutes") === 5400, name);
assert.strictEqual(found["1h30"]["parse-duration"], 5400);
for (const name of ["timestring", "enhanced-ms"]) {
  assert.strictEqual(found["1h30"][name], 3600, "it changed");
  assert.strictEqual(found["-1h"][name], 3600, "it changed");
}
for (const name of ["parse-duration", "timestring"]) assert.strictEqual(found["1,5h"][name], 15 * 3600, "it changed");
assert.strictEqual(found["24:00"]["parse-duration"], 0.024, "it changed");
assert.strictEqual(found["36 hrs"]["itty-time"], 0.036, "it changed");
for (const text of ["1h30", "1,5h", "24:00"]) assert(Number.isNaN(found[text].ms), "it changed");
JS
node durations.mjs
venv/bin/python - <<'PY'
import humanfriendly
import pytimeparse

for text in ("90m", "1h30", "1,5h", "24:00"):
    try:
        friendly = humanfriendly.parse_timespan(text)
    except humanfriendly.InvalidTimespan:
        friendly = "refused"
    print(f"{text!r} in seconds: pytimeparse {pytimeparse.parse(text)}, humanfriendly {friendly}")
    assert friendly == (5400 if text == "90m" else "refused"), "it changed"
assert pytimeparse.parse("24:00") == 24 * 60 and pytimeparse.parse("1h30") is None, "it changed"
PY

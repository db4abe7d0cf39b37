#!/usr/bin/env bash
# asciinema-scene 1.3.0 (PyPI; `sciine` edits and converts recordings of a terminal), installed 2026-11.
# Guess: `convert` changes the form of a recording and not what it says; edits keep its date, and a copy of four seconds lasts four.
# Seen:  all times are moved so that the first event is at 0, in `convert` from v2 to v2 as well, while `timestamp` stays: the
#        moments are off by the first pause. `copy`, `cut`, `speed` and `maximum` write the time of the edit as `timestamp`. A
#        recording with its exit status at the end gets an output of a line break after it. `copy` from 1.1 to 5 lasts 7.4
#        seconds: the pause after its last event is copied whole. `tags` are lost on the way to v2.
# Why it matters: recorded sessions of players are laid beside the log of the game by `timestamp` and offset; after an edit each vote
#        is at another time, and in another year. Keep the original, and take the moments from it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check asciinema-scene==1.3.0
cd "$folder"
cat > two.cast <<'CAST'
{"version": 2, "width": 80, "height": 24, "timestamp": 1764500000, "title": "Season 1", "env": {"SHELL": "/bin/sh", "TERM": "xterm"}}
[0.5, "o", "round 1\r\n"]
[1.0, "m", "Round 1"]
[1.25, "i", "n"]
[2.125, "o", "vote: no\r\n"]
[4.0, "r", "100x30"]
[9.5, "o", "end\r\n"]
CAST
cat > three.cast <<'CAST'
{"version": 3, "term": {"cols": 80, "rows": 24, "type": "xterm"}, "timestamp": 1764500000, "title": "Season 1", "tags": ["game"]}
[0.5, "o", "round 1\r\n"]
[0.5, "m", "Round 1"]
[1.0, "x", "0"]
CAST
venv/bin/python - <<'PY'
import json
import subprocess

BEGUN = 1764500000


def sciine(file, *arguments):
    text = subprocess.run(["venv/bin/sciine", *arguments, "-i", file], capture_output=True, check=True, text=True).stdout
    head, *events = [json.loads(line) for line in text.splitlines()]
    print(f"{' '.join(arguments)} ({file}): timestamp {head['timestamp']}, events {events}")
    return head, events


head, events = sciine("two.cast", "convert", "-f", "v2")
assert head["timestamp"] == BEGUN and [at for at, *_ in events] == [0, 0.5, 0.75, 1.625, 3.5, 9], "it changed"
for edit in (["speed", "2"], ["maximum", "1"], ["cut", "-s", "1.1", "-e", "3"]):
    assert sciine("two.cast", *edit)[0]["timestamp"] > BEGUN + 86400, "it changed"
head, events = sciine("two.cast", "copy", "-s", "1.1", "-e", "5")
assert head["timestamp"] > BEGUN + 86400 and 7.3 < events[-1][0] < 7.4 and events[-1][2] == "\r\n", "it changed"

head, events = sciine("three.cast", "convert", "-f", "v3")
assert events[0][0] == 0 and [event[1:] for event in events[-2:]] == [["x", "0"], ["o", "\r\n"]], "it changed"
assert head["tags"] == ["game"] and "tags" not in sciine("three.cast", "convert", "-f", "v2")[0], "it changed"
PY

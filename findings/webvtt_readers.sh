#!/usr/bin/env bash
# Readers of WebVTT, the captions of recorded hearings, installed 2026-11: webvtt-py 0.6.0, pysubs2 1.8.1, pycaption 2.3.14 (PyPI),
# node-webvtt 1.9.4, @plussub/srt-vtt-parser 2.0.5 (npm).
# Guess: each gives the words that a viewer sees, "&amp;" as "&", who says them, and when they end; the name of a cue belongs to no
#        caption.
# Seen:  pycaption alone. pysubs2 ends each caption with the name of the cue after it ("Not guilty.", "q2") and drops the
#        speakers; webvtt-py gives a caption of two speakers to the first. These two remove the tags and leave "&lt;guilty&gt;";
#        both packages of npm leave tags and entities; @plussub's has no end for a cue with settings.
# Why it matters: a transcript made from captions has the wrong speaker, or words that no one said, and a search for "Kim & Lee"
#        finds nothing. Give each speaker a cue, write cues without names, and decode entities yourself.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check webvtt-py==0.6.0 pysubs2==1.8.1 pycaption==2.3.14
cd "$folder"
npm install --silent --no-audit --no-fund node-webvtt@1.9.4 @plussub/srt-vtt-parser@2.0.5
cat > hearing.vtt <<'VTT'
WEBVTT

q1
00:00.000 --> 00:02.000
<v Judge>Kim &amp; Lee, do you plead &lt;guilty&gt;?</v>
<v Ms. Lee>Not guilty.</v>

q2
00:02.000 --> 00:04.000 align:start
<v Judge>Order <i>in court</i>.
VTT
cat > read.mjs <<'JS'
import { readFileSync } from "node:fs";
import { parse } from "@plussub/srt-vtt-parser";
import webvtt from "node-webvtt";

const text = readFileSync("hearing.vtt", "utf8");
const first = webvtt.parse(text).cues.map((cue) => [cue.text, cue.end]);
const second = parse(text).entries.map((cue) => [cue.text, cue.to && cue.to / 1000]);
console.log(JSON.stringify({ "node-webvtt": first, "@plussub": second }));
JS
venv/bin/python - <<'PY'
import json
import subprocess
from pathlib import Path

import pycaption
import pysubs2
import webvtt

captions = webvtt.read("hearing.vtt")
by_pycaption = pycaption.WebVTTReader().read(Path("hearing.vtt").read_text())
[language] = by_pycaption.get_languages()
found = {
    "webvtt-py": [[cue.text, cue.end_in_seconds] for cue in captions],
    "pysubs2": [[cue.plaintext, cue.end / 1000] for cue in pysubs2.load("hearing.vtt")],
    "pycaption": [[cue.get_text(), cue.end / 1_000_000] for cue in by_pycaption.get_captions(language)],
    **json.loads(subprocess.run(["node", "read.mjs"], check=True, capture_output=True, text=True).stdout),
}
speakers = [cue.voice for cue in captions]
for name, cues in found.items():
    print(f"{name:12}", cues)
print("webvtt-py's speakers", speakers)
ENTITIES = "Kim &amp; Lee, do you plead &lt;guilty&gt;?\nNot guilty."
TAGS = "<v Judge>Kim &amp; Lee, do you plead &lt;guilty&gt;?</v>\n<v Ms. Lee>Not guilty.</v>"
LAST = "<v Judge>Order <i>in court</i>."
assert found["pycaption"] == [["Judge: Kim & Lee, do you plead <guilty>?\nMs. Lee: Not guilty.", 2], ["Judge: Order in court.", 4]]
assert found["webvtt-py"] == [[ENTITIES, 2], ["Order in court.", 4]] and speakers == ["Judge", "Judge"], "it changed"
assert found["pysubs2"] == [[ENTITIES + "\n\nq2", 2], ["Order in court.", 4]], "it changed"
assert found["node-webvtt"] == [[TAGS, 2], [LAST, 4]], "it changed"
assert found["@plussub"] == [[TAGS, 2], [LAST, None]], "it changed"
PY

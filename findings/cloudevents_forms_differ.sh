#!/usr/bin/env bash
# cloudevents 2.2.0 (PyPI) and 10.0.0 (npm), the SDKs of CloudEvents 1.0, installed 2026-11: an event as an HTTP message.
# Guess: an event is the same after the structured and the binary form, and in both SDKs: time to the digit, extensions with
#        their value, data that is a text stays this text.
# Seen:  structured, npm loses data that is 0 or false: the event has no data; PyPI keeps it.
#        Binary, both: data that is a text with the type application/json is sent without quotation marks, which is not JSON;
#        the text '{"a": 1}' arrives as an object. PyPI sends false as `False` and reads the text "12" as a number;
#        npm reads 12, 0 and false as texts.
#        Binary, PyPI: the boolean extension true is sent as `True`; the specification says `true`. npm reads it as a text.
#        npm cuts the time to milliseconds and drops its zone, so that two events of one millisecond share a time.
# Why it matters: "no points" and "not guilty: false" arrive as nothing or as a text, and events of one game cannot be put in
#        order by time. Wrap every value in an object, and give an event its own number.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check cloudevents==2.2.0
(cd "$folder" && npm init --yes > /dev/null && npm install --silent --no-audit --no-fund cloudevents@10.0.0)
cat > "$folder/exchange.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { CloudEvent, HTTP } from "cloudevents";
const { values, received } = JSON.parse(readFileSync(0, "utf8"));
const event = data => new CloudEvent({
  id: "1", source: "/games/ox", type: "turn.played", time: "2026-01-05T10:00:00.123456+09:00", final: true,
  datacontenttype: "application/json", data });
const texts = headers => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
const sent = values.map(value => ["structured", "binary"].map(form => HTTP[form](event(value))))
  .map(forms => forms.map(({ headers, body }) => ({ headers: texts(headers), body: String(body) })));
const read = message => { const { data, time, final } = HTTP.toEvent(message); return [data ?? null, time, final]; };
console.log(JSON.stringify({ sent, own: sent.map(forms => forms.map(read)), read: received.map(forms => forms.map(read)) }));
JS
cd "$folder"
venv/bin/python - <<'PY'
import json
import subprocess
from datetime import datetime

from cloudevents.core.bindings.http import HTTPMessage, from_http, to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

VALUES = [{"vote": "guilty"}, "guilty", '{"a": 1}', "12", 12, 0, False]
TIME = "2026-01-05T10:00:00.123456+09:00"
json_format = JSONFormat()


def read(message):
    event = from_http(message, json_format)
    return [event.get_data(), event.get_time().isoformat(), event.get_extension("final")]


sent = []
for value in VALUES:
    event = CloudEvent({"id": "1", "source": "/games/ox", "type": "turn.played", "specversion": "1.0", "final": True,
                        "time": datetime.fromisoformat(TIME), "datacontenttype": "application/json"}, value)
    sent.append([to_structured(event, json_format), to_binary(event, json_format)])
as_json = [[{"headers": dict(message.headers), "body": message.body.decode()} for message in forms] for forms in sent]
node = json.loads(subprocess.run(["node", "exchange.mjs"], input=json.dumps({"values": VALUES, "received": as_json}),
                                 capture_output=True, text=True, check=True).stdout)
seen = {
    "PyPI to PyPI": [[read(message) for message in forms] for forms in sent],
    "PyPI to npm": node["read"],
    "npm to npm": node["own"],
    "npm to PyPI": [[read(HTTPMessage(message["headers"], message["body"].encode())) for message in forms]
                    for forms in node["sent"]],
}
object_and_texts = [{"vote": "guilty"}, "guilty", {"a": 1}]
for way, found in seen.items():
    for value, (structured, binary) in zip(VALUES, found, strict=True):
        print(f"{way:12} {value!r:19} structured {structured}, binary {binary}")
    to_npm = way.endswith("npm")
    assert [structured[0] for structured, _ in found] == VALUES[:5] + ([None, None] if to_npm else [0, False]), "it changed"
    false = {"npm to npm": "false", "npm to PyPI": False}.get(way, "False")
    numbers = ["12", "12", "0"] if to_npm else [12, 12, 0]
    assert [binary[0] for _, binary in found] == object_and_texts + numbers + [false], "it changed"
    assert all(structured[2] is True for structured, _ in found)
    assert {form[1] for forms in found for form in forms} == {{
        "PyPI to PyPI": TIME, "npm to PyPI": "2026-01-05T01:00:00.123000+00:00",
    }.get(way, "2026-01-05T01:00:00.123Z")}, "it changed"
for _, binary in sent:
    assert binary.headers["ce-final"] == "True", "it changed"
assert [binary["body"] for _, binary in as_json] == ['{"vote": "guilty"}', *VALUES[1:4], "12", "0", "False"], "it changed"
assert all(binary[2] == "True" for _, binary in seen["PyPI to npm"])
PY

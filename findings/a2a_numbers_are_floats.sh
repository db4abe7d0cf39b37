#!/usr/bin/env bash
# a2a-sdk 1.3.0 (the Python SDK of the Agent2Agent protocol), installed 2026-11: JSON in the `data` of a part.
# Guess: the data that one agent sends is the data that the other gets: JSON keeps whole numbers, and the protocol travels as JSON.
# Seen:  every number passes through a float: 3 is sent as 3.0, and 9007199254740993 arrives as 9007199254740992. Nothing
#        is raised. Texts, true, null and nesting stay. `metadata` of a message does the same.
# Why it matters: a seat or a move is no integer at the receiver (`isinstance(x, int)`, an index, a strict schema refuse it), ids above
#        2^53 are those of another game, and a signature or hash over the data fails. Send ids as texts, and
#        convert numbers where they are read.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check a2a-sdk==1.3.0 protobuf==7.36.2
"$folder/venv/bin/python" - <<'PY'
import json

from a2a.types import Message
from google.protobuf.json_format import MessageToJson, Parse

DATA = {"seat": 3, "game": 9007199254740993, "share": 0.5, "text": "3", "yes": True, "nothing": None, "moves": [[1, 2]]}
sent = {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": DATA}], "metadata": {"turn": 7}}
text = MessageToJson(Parse(json.dumps(sent), Message()))
received = json.loads(text)
data = received["parts"][0]["data"]
print("sent    ", DATA)
print("received", data, received["metadata"])
assert '"seat": 3.0' in text and isinstance(data["seat"], float), "it changed"
assert data["game"] == 9007199254740992, "it changed"
assert isinstance(data["moves"][0][0], float) and isinstance(received["metadata"]["turn"], float), "it changed"
assert {name: data[name] for name in ("share", "text", "yes", "nothing")} == {
    "share": 0.5, "text": "3", "yes": True, "nothing": None,
}
PY

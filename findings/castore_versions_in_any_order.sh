#!/usr/bin/env bash
# @castore/core and @castore/event-storage-adapter-in-memory 2.4.2 (npm; stores of events), installed 2026-11: the version of an event.
# Guess: an event has to follow the latest version of its aggregate; at least, events come back in the order of their versions, and the
#        types that the store names are the types that it takes. What is stored does not change any more.
# Seen:  a version that exists is refused, and nothing else: 5 after 2, then 3, and a type that the store does not name, are taken.
#        They are read, replayed and limited in the order of writing: 1, 2, 5, 3, with `version` 3 at the end, and
#        the latest event (`reverse`, `limit: 1`) is 3. A change of an event that was pushed or read changes the store.
# Why it matters: tests of a game run on this store: one that writes a wrong version passes there, and the state after a replay is
#        another than with a database that sorts. Take the version from the aggregate, and compare with `prevAggregate`.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @castore/core@2.4.2 @castore/event-storage-adapter-in-memory@2.4.2
cat > versions.cjs <<'JS'
const assert = require("node:assert");
const { EventStore, EventType } = require("@castore/core");
const { InMemoryEventStorageAdapter } = require("@castore/event-storage-adapter-in-memory");

const store = new EventStore({
  eventStoreId: "GAMES",
  eventTypes: [new EventType({ type: "STARTED" }), new EventType({ type: "VOTED" })],
  reducer: (game, { aggregateId, version, payload }) => ({ aggregateId, version, last: payload.seat }),
  eventStorageAdapter: new InMemoryEventStorageAdapter({}),
});
const event = (version, type = "VOTED") => ({ aggregateId: "game", version, type, payload: { seat: version, seen: [] } });
const versions = async (options) => (await store.getEvents("game", options)).events.map(({ version }) => version);

async function main() {
  for (const one of [event(1, "STARTED"), event(2), event(5), event(3)]) await store.pushEvent(one);
  await assert.rejects(store.pushEvent(event(2)), { code: "EventAlreadyExistsError" });
  const { aggregate } = await store.getAggregate("game");
  console.log("pushed 1, 2, 5, 3:", await versions(), "aggregate", aggregate);
  assert.deepStrictEqual(await versions(), [1, 2, 5, 3], "it changed");
  assert.deepStrictEqual(aggregate, { aggregateId: "game", version: 3, last: 3 }, "it changed");
  const latest = await versions({ reverse: true, limit: 1 });
  console.log("the latest:", latest);
  assert.deepStrictEqual(latest, [3], "it changed");

  await store.pushEvent(event(6, "VOTEDD"));
  console.log("with a type that is not named:", await versions());
  assert.deepStrictEqual(await versions(), [1, 2, 5, 3, 6], "it changed");

  const pushed = event(7);
  await store.pushEvent(pushed);
  pushed.payload.seen.push("after the push");
  (await store.getEvents("game", { minVersion: 7 })).events[0].payload.seen.push("after a read");
  const [{ payload }] = (await store.getEvents("game", { minVersion: 7 })).events;
  console.log("stored:", payload);
  assert.deepStrictEqual(payload.seen, ["after the push", "after a read"], "it changed");
}
main().catch((error) => {
  console.error(error);
  process.exit(1);
});
JS
node versions.cjs

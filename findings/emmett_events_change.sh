#!/usr/bin/env bash
# @event-driven-io/emmett 0.42.0 (event sourcing in TypeScript), installed 2026-11: the event store in memory, for tests.
# Guess: an event that was appended stays as it was, whatever later happens to the object that it was made from or that was read;
#        and it is read as the stores on disk read it, whose JSON the package writes itself (`JSONParser`).
# Seen:  the store keeps the caller's object and hands it to each reader. A list that is appended to afterwards is longer in the
#        stored event, and one that a reader changes is changed for all. A Date, a bigint and a Map are read as such;
#        `JSONParser` makes of them a text, a text of digits, and {}.
# Why it matters: a reducer that writes `state.hand = event.data.hand` and then pushes a card rewrites the past, so a second replay
#        gives another state. A game tested in memory works with amounts that are bigint, and in production adds texts. Freeze
#        events in tests, and pass them through JSON first.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @event-driven-io/emmett@0.42.0
cat > store.mjs <<'JS'
import assert from "node:assert";
import { JSONParser, getInMemoryEventStore } from "@event-driven-io/emmett";

const store = getInMemoryEventStore();
const hand = ["ace"];
await store.appendToStream("game", [
  { type: "Dealt", data: { hand, at: new Date(0), stake: 10n, seats: new Map([["ana", 1]]) } },
  { type: "Drawn", data: { card: "king" } },
]);
const read = async () => (await store.readStream("game")).events;
hand.push("seven");
console.log("after the caller changed its list:", (await read())[0].data.hand);
assert.deepStrictEqual((await read())[0].data.hand, ["ace", "seven"], "it changed");

const replay = async () => {
  const state = {};
  for (const { type, data } of await read()) {
    if (type === "Dealt") state.hand = data.hand;
    if (type === "Drawn") state.hand.push(data.card);
  }
  return [...state.hand];
};
const replays = [await replay(), await replay()];
console.log("replayed twice:", replays);
assert.deepStrictEqual(replays, [["ace", "seven", "king"], ["ace", "seven", "king", "king"]], "it changed");

const { at, stake, seats } = (await read())[0].data;
const kept = JSONParser.parse(JSONParser.stringify({ at, stake, seats }));
console.log("in memory:", { at, stake, seats }, "| through JSONParser:", kept);
assert.ok(at instanceof Date && stake === 10n && seats instanceof Map);
assert.deepStrictEqual(kept, { at: "1970-01-01T00:00:00.000Z", stake: "10", seats: {} }, "it changed");
JS
node store.mjs

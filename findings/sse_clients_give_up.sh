#!/usr/bin/env bash
# Clients of server-sent events on npm, installed 2026-12: eventsource 4.1.1, eventsource-client 1.2.0, event-source-plus 0.1.15,
# extended-eventsource 2.1.0, @sanity/eventsource 5.0.4, @microsoft/fetch-event-source 2.0.1 (with stand-ins for a page's globals).
# Guess: when a server ends its response, as it does when it restarts, each client asks again after the time that the stream names (`retry`), with
#        the id of the last event, and stops at status 204, as the standard says; at 503 all of them try again, or none.
# Seen:  @microsoft/fetch-event-source, much used, ends there: its promise is resolved, without an error. event-source-plus does not look at `retry`,
#        and asks on after 204, without an end. At 503 eventsource and extended-eventsource give up, as the standard says;
#        eventsource-client, event-source-plus and @sanity/eventsource ask again. The last id is sent by each that asks.
# Why it matters: after a deployment of the platform some bots are silent for good and look as if nothing happened in the game, and a server
#        that says "this game is over" with 204 is asked for ever by others. Ask again in `onclose` (throw there), and stop at an event of your own.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund eventsource@4.1.1 eventsource-client@1.2.0 event-source-plus@0.1.15 extended-eventsource@2.1.0 \
  @sanity/eventsource@5.0.4 @microsoft/fetch-event-source@2.0.1
cat > clients.mjs <<'JS'
import assert from "node:assert";
import http from "node:http";
import { fetchEventSource } from "@microsoft/fetch-event-source";
import sanity from "@sanity/eventsource";
import { EventSourcePlus } from "event-source-plus";
import { EventSource } from "eventsource";
import { createEventSource } from "eventsource-client";
import { EventSource as ExtendedEventSource } from "extended-eventsource";

const page = { addEventListener() {}, removeEventListener() {}, hidden: false };
globalThis.document = page;
globalThis.window = { ...page, fetch, setTimeout, clearTimeout };
console.warn = console.error = () => {};
const say = console.log;
console.log = () => {};

const standard = (Kind) => (url, take) => {
  const source = new Kind(url);
  source.onmessage = ({ data }) => take(data);
  source.onerror = () => {};
  return () => source.close();
};
const clients = {
  eventsource: standard(EventSource),
  "extended-eventsource": standard(ExtendedEventSource),
  "@sanity/eventsource": standard(sanity.default ?? sanity),
  "eventsource-client": (url, take) => {
    const source = createEventSource({ url, onMessage: ({ data }) => take(data) });
    return () => source.close();
  },
  "event-source-plus": (url, take) => {
    const listener = new EventSourcePlus(url).listen({ onMessage: ({ data }) => take(data) });
    return () => listener.abort();
  },
  "fetch-event-source": (url, take) => {
    const stop = new AbortController();
    const options = { signal: stop.signal, openWhenHidden: true, onmessage: ({ data }) => take(data) };
    fetchEventSource(url, options).then(() => take("resolved"), (error) => take(`rejected: ${error}`));
    return () => stop.abort();
  },
};

const first = { status: 200, body: "retry: 300\nid: 7\ndata: turn\n\n", ends: true };
const second = { status: 200, body: "id: 8\ndata: verdict\n\n", ends: false };
const plans = { ends: [first, second], 204: [first, { status: 204 }], 503: [first, { status: 503 }, second] };

// Lets a client read a plan for three seconds, ten times its `retry`.
async function watched(start, plan) {
  const [requests, taken] = [[], []];
  const server = http.createServer((request, response) => {
    const { status, body, ends } = plan[Math.min(requests.length, plan.length - 1)];
    requests.push({ at: Date.now(), id: request.headers["last-event-id"] });
    if (status !== 200) return response.writeHead(status).end();
    response.writeHead(200, { "content-type": "text/event-stream" }).write(body);
    if (ends) response.end();
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const stop = start(`http://127.0.0.1:${server.address().port}/`, (data) => taken.push(data));
  await new Promise((over) => setTimeout(over, 3000));
  stop();
  server.closeAllConnections();
  server.close();
  assert(requests.slice(1).every(({ id }) => id === "7"));
  return { requests: requests.length, taken: taken.join(), wait: requests.length > 1 ? requests[1].at - requests[0].at : null };
}

const found = {};
for (const [name, start] of Object.entries(clients)) {
  found[name] = {};
  for (const [plan, answers] of Object.entries(plans)) {
    found[name][plan] = await watched(start, answers);
    say(name, "plan", plan, JSON.stringify(found[name][plan]));
  }
}
const { "fetch-event-source": microsoft, "event-source-plus": plus, ...others } = found;
for (const plan of Object.keys(plans)) {
  assert.deepStrictEqual(microsoft[plan], { requests: 1, taken: "turn,resolved", wait: null }, "it changed");
}
assert(plus.ends.taken === "turn,verdict" && plus.ends.wait < 300 && plus[204].requests > 4, "it changed");
for (const name of Object.keys(others)) {
  assert(others[name].ends.taken === "turn,verdict" && others[name].ends.wait > 290, name);
  assert(others[name][204].requests === 2, name);
}
const again = Object.keys(found).filter((name) => found[name][503].taken === "turn,verdict");
assert.deepStrictEqual(again, ["@sanity/eventsource", "eventsource-client", "event-source-plus"], "it changed");
process.exit(0);
JS
node clients.mjs

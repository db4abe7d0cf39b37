#!/usr/bin/env bash
# WebSockets that connect again by themselves: partysocket 1.3.0 and reconnecting-websocket 4.4.0, with ws 8.23.0 (npm), installed 2026-12.
# Guess: what is sent while the connection is down is an error or lost, as with a WebSocket of the platform, or kept and sent after the `open` handler
#        has said hello; a server that closes in order (1000), or that refuses (1008), is left alone.
# Seen:  all that is sent while the socket is closed is kept, without bounds, and sent as soon as a connection is there, before the handlers of `open`
#        run: the server gets the old moves before the hello of the same connection. Both connect again after 1000, after 1008 and after a
#        code of the application's own as after a lost connection.
# Why it matters: a move that was right before the interruption is played in a later round, or refused since its seat is not known yet, and a game
#        that the server has closed is entered again by each bot. Set `maxEnqueuedMessages: 0`, say hello first, and call `close()` at the codes
#        that end a game.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund partysocket@1.3.0 reconnecting-websocket@4.4.0 ws@8.23.0
cat > moves.mjs <<'JS'
import assert from "node:assert";
import { once } from "node:events";
import { WebSocket as PartySocket } from "partysocket";
import reconnecting from "reconnecting-websocket";
import { WebSocket, WebSocketServer } from "ws";

const kinds = { partysocket: PartySocket, "reconnecting-websocket": reconnecting.default ?? reconnecting };

async function served(port, count) {
  const server = new WebSocketServer({ port, host: "127.0.0.1" });
  await once(server, "listening");
  const taken = [];
  const all = new Promise((resolve) => {
    server.on("connection", (connection) => {
      connection.on("message", (message) => taken.push(String(message)) === count && resolve(taken));
    });
  });
  return { server, all };
}

async function played(Kind, code) {
  const first = await served(0, 2);
  const { port } = first.server.address();
  const socket = new Kind(`ws://127.0.0.1:${port}/`, [], { WebSocket, minReconnectionDelay: 300, maxReconnectionDelay: 300 });
  socket.addEventListener("open", () => socket.send("hello"));
  await once(first.server, "connection");
  socket.send("move of round 1");
  const before = await first.all;
  const closed = new Promise((resolve) => socket.addEventListener("close", resolve, { once: true }));
  for (const connection of first.server.clients) {
    if (code) connection.close(code);
    else connection.terminate();
  }
  first.server.close();
  await closed;
  assert.strictEqual(socket.readyState, WebSocket.CLOSED);
  socket.send("move of round 2");
  socket.send("another move of round 2");
  const second = await served(port, 3);
  const after = await second.all;
  socket.close();
  for (const connection of second.server.clients) connection.terminate();
  second.server.close();
  return [before, after];
}

for (const [name, Kind] of Object.entries(kinds)) {
  for (const code of [0, 1000, 1008, 4001]) {
    const [before, after] = await played(Kind, code);
    console.log(`${name}, ${code ? `closed with ${code}` : "connection lost"}:`, before, "then", after);
    assert.deepStrictEqual([...before].sort(), ["hello", "move of round 1"]);
    assert.deepStrictEqual(after, ["move of round 2", "another move of round 2", "hello"], "it changed");
  }
}
process.exit(0);
JS
timeout 120 node moves.mjs

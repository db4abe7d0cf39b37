/** Feeds: what happens, as it happens, in order and without a repeat; a broken one is taken up where it ended. */

import { openStream } from "./api.js";

const CLOSING = ["game_end", "game_aborted", "run_ended", "session_done", "ended"];
const RETRY_FIRST = 500;
const RETRY_MOST = 10_000;

/** Where the spectator is: its port on this host, or, behind TLS or without a port, this page's own origin. */
export function spectator() {
  const port = Number(document.querySelector('meta[name="spectator-port"]')?.content);
  return port && location.protocol === "http:" ? `http://${location.hostname}:${port}` : "";
}

/**
 * Watch a game: `take(message)` gets each message after a version, once, in order. Gives a function that stops it.
 *
 * The spectator's feed is read first; where it cannot be reached, the gateway's own feed of the same events.
 */
export function watchGame(id, after, take, told = () => {}) {
  return follow([`${spectator()}/sse/games/${id}`, `/api/games/${id}/stream`], "nobody", after, take, told);
}

/** Follow a session's stream with its owner's key; as `watchGame`. */
export function watchSession(path, after, take, told = () => {}) {
  return follow([path], "me", after, take, told);
}

/** The lobby: the present list, then every change. Gives a function that stops it. */
export function watchLobby(take, told = () => {}) {
  return follow([`${spectator()}/sse/lobby`], "nobody", null, take, told);
}

function follow(paths, as, after, take, told) {
  const stop = new AbortController();
  run(paths, as, after, take, told, stop.signal).catch((error) => {
    if (!stop.signal.aborted) throw error;
  });
  return () => stop.abort();
}

async function run(paths, as, after, take, told, signal) {
  let place = 0;
  let wait = RETRY_FIRST;
  let last = after;
  while (!signal.aborted) {
    let ended = false;
    try {
      const path = last === null ? paths[place] : `${paths[place]}?after=${last}`;
      const answer = await openStream(path, as, signal);
      if (answer.status === 404 && place === paths.length - 1) return told("unknown");
      if (!answer.ok) throw new Error(`the feed answered ${answer.status}`);
      told("live");
      for await (const message of events(answer.body)) {
        wait = RETRY_FIRST;
        if (last !== null && message.version <= last) continue;
        if (last !== null) last = message.version;
        take(message);
        ended = last !== null && CLOSING.includes(message.type);
      }
    } catch {
      if (signal.aborted) return undefined;
      place = (place + 1) % paths.length;
    }
    if (ended) return told("ended");
    told("away");
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(RETRY_MOST, wait * 2);
  }
  return undefined;
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      const parts = rest.split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const data = part.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
        if (data.length) yield JSON.parse(data.join("\n"));
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * Feeds: what happens, as it happens, in order and without a repeat; a broken one is taken up where it ended. A page
 * that is not seen holds no feed: a browser has six connections for a host, and six tabs would use them up.
 */

import { openStream } from "./api.js";

const CLOSING = ["game_end", "game_aborted", "run_ended", "session_done", "ended"];
const SILENCE_MS = 40_000;
const RETRY_FIRST = 500;
const RETRY_MOST = 10_000;

/** Where the spectator is: its port on this host, or, behind TLS or without a port, this page's own origin. */
export function spectator() {
  const port = Number(document.querySelector('meta[name="spectator-port"]')?.content);
  return port && location.protocol === "http:" ? `http://${location.hostname}:${port}` : "";
}

/**
 * Watch a game: `take(message)` gets each message after a version, once, in order. Gives a function that stops it.
 * `told` hears how the feed is: "live", "away", "hidden", "ended", "unknown".
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
  for (;;) {
    await seen(signal);
    if (signal.aborted) return undefined;
    let ended = false;
    const line = new Line(signal);
    try {
      const path = last === null ? paths[place] : `${paths[place]}?after=${last}`;
      const answer = await openStream(path, as, line.signal);
      if (answer.status === 404 && place === paths.length - 1) return told("unknown");
      if (answer.status === 204) return told("ended");
      if (!answer.ok) throw new Error(`the feed answered ${answer.status}`);
      told("live");
      for await (const message of events(answer.body, line)) {
        wait = RETRY_FIRST;
        if (message.version === undefined && message.type === "speaking") {
          take(message);
          continue;
        }
        if (last !== null && message.version <= last) continue;
        if (last !== null) last = message.version;
        take(message);
        ended = last !== null && CLOSING.includes(message.type);
      }
    } catch {
      if (signal.aborted) return undefined;
      if (!line.hidden) place = (place + 1) % paths.length;
    } finally {
      line.close();
    }
    if (ended) return told("ended");
    if (line.hidden) {
      told("hidden");
      continue;
    }
    told("away");
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(RETRY_MOST, wait * 2);
  }
}

/** Wait until the page is seen, or given up. */
async function seen(signal) {
  while (document.hidden && !signal.aborted) {
    await new Promise((done) => {
      document.addEventListener("visibilitychange", done, { once: true });
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

/** One connection. It ends with its feed, when nothing was heard for longer than two heartbeats, and out of sight. */
class Line {
  constructor(stopped) {
    const end = new AbortController();
    this.stopped = stopped;
    this.signal = end.signal;
    this.hidden = false;
    this.cut = () => end.abort();
    this.look = () => {
      if (!document.hidden) return;
      this.hidden = true;
      this.cut();
    };
    stopped.addEventListener("abort", this.cut);
    document.addEventListener("visibilitychange", this.look);
    this.heard();
  }

  heard() {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.cut, SILENCE_MS);
  }

  close() {
    clearTimeout(this.timer);
    this.stopped.removeEventListener("abort", this.cut);
    document.removeEventListener("visibilitychange", this.look);
    this.cut();
  }
}

async function* events(body, line) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      line.heard();
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

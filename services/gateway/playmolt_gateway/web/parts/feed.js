/**
 * Feeds: events in order without repeats; a broken feed resumes. A hidden page holds no feed, because a browser allows
 * six connections per host, which six tabs would use up.
 */

import { openStream } from "./api.js";

const CLOSING = ["game_end", "game_aborted", "run_ended", "session_done", "ended"];
const SILENCE_MS = 40_000;
const RETRY_FIRST = 500;
const RETRY_MOST = 10_000;

/** The spectator's origin: its port on this host, or the page's origin ("") with TLS or without a port. */
export function spectator() {
  const port = Number(document.querySelector('meta[name="spectator-port"]')?.content);
  return port && location.protocol === "http:" ? `http://${location.hostname}:${port}` : "";
}

/**
 * Watch a game: `take(message)` gets each message after a version, once, in order. Returns a function that stops it.
 * `onStatus` gets the state of the feed: "live", "away", "hidden", "ended", "unknown".
 *
 * Uses the spectator's feed, or the gateway's if the spectator is unreachable.
 */
export function watchGame(id, after, take, onStatus = () => {}) {
  return follow([`${spectator()}/sse/games/${id}`, `/api/games/${id}/stream`], "anonymous", after, take, onStatus);
}

/** Follow a session's stream with the owner's key; like `watchGame`. */
export function watchSession(path, after, take, onStatus = () => {}) {
  return follow([path], "me", after, take, onStatus);
}

/** The lobby: the current list, then changes. Returns a function that stops it. */
export function watchLobby(take, onStatus = () => {}) {
  return follow([`${spectator()}/sse/lobby`], "anonymous", null, take, onStatus);
}

function follow(paths, as, after, take, onStatus) {
  const stop = new AbortController();
  run(paths, as, after, take, onStatus, stop.signal).catch((error) => {
    if (!stop.signal.aborted) throw error;
  });
  return () => stop.abort();
}

async function run(paths, as, after, take, onStatus, signal) {
  let place = 0;
  let wait = RETRY_FIRST;
  let last = after;
  for (;;) {
    await seen(signal);
    if (signal.aborted) return undefined;
    let ended = false;
    const connection = new FeedConnection(signal);
    try {
      const path = last === null ? paths[place] : `${paths[place]}?after=${last}`;
      const answer = await openStream(path, as, connection.signal);
      if (answer.status === 404 && place === paths.length - 1) return onStatus("unknown");
      if (answer.status === 204) return onStatus("ended");
      if (!answer.ok) throw new Error(`the feed answered ${answer.status}`);
      onStatus("live");
      for await (const message of events(answer.body, connection)) {
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
      if (!connection.hidden) place = (place + 1) % paths.length;
    } finally {
      connection.close();
    }
    if (ended) return onStatus("ended");
    if (connection.hidden) {
      onStatus("hidden");
      continue;
    }
    onStatus("away");
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(RETRY_MOST, wait * 2);
  }
}

/** Wait until the page is visible or stopped. */
async function seen(signal) {
  while (document.hidden && !signal.aborted) {
    await new Promise((done) => {
      document.addEventListener("visibilitychange", done, { once: true });
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

/** One connection. It ends with its feed, after two missed heartbeats, or when the page is hidden. */
class FeedConnection {
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
    this.touch();
  }

  touch() {
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

async function* events(body, connection) {
  const reader = body.getReader();
  const text = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      connection.touch();
      rest += text.decode(value, { stream: true });
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

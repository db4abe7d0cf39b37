/**
 * Feeds: events in order without repeats; a broken feed resumes. A hidden page holds no feed, because a browser allows
 * six connections per host, which six tabs would use up.
 */

import { get, openStream } from "./api.js";
import { parsed } from "./language.js";

const CLOSING = ["game_end", "game_aborted", "run_ended", "session_done", "ended", "tournament_ended"];
const SILENCE_MS = 40_000;
/** A feed that has not begun after this time is left for the next one. */
const BEGIN_MS = 6000;
/** Slow enough for a class behind one address: 24 rows a call, of the calls that an address has without a key. */
const LIST_MS = 10_000;
const LISTED = 24;
const RETRY_FIRST = 500;
const RETRY_MOST = 10_000;

/** The spectator's origin: "" for the page's own, null if the policy cannot name it. */
export function spectator() {
  const origin = document.querySelector('meta[name="spectator"]')?.content ?? "";
  if (origin === "none") return null;
  return origin.startsWith("http:") && location.protocol === "https:" ? "" : origin;
}

/**
 * Watch a game: `take(message)` gets each message after a version, once, in order. Returns a function that stops it.
 * `onStatus` gets the state of the feed: "live", "away", "hidden", "ended", "unknown".
 *
 * Uses the spectator's feed, or the gateway's if the spectator is unreachable. What the operator hides, renames or
 * restores meanwhile is the window's event `moderated`, with the message as its detail.
 */
export function watchGame(id, after, take, onStatus = () => {}) {
  const own = `/api/games/${id}/stream`;
  return follow(spectator() === null ? [own] : [`${spectator()}/sse/games/${id}`, own], "anonymous", after, take, onStatus);
}

/** Follow a session's stream with the owner's key; like `watchGame`. */
export function watchSession(path, after, take, onStatus = () => {}) {
  return follow([path], "me", after, take, onStatus);
}

/** Follow a game as the person who has a seat in it; like `watchGame`. */
export function watchSeat(path, after, take, onStatus = () => {}) {
  return follow([path], "person", after, take, onStatus);
}

/** Follow a tournament; like `watchGame`. */
export function watchTournament(id, after, take, onStatus = () => {}) {
  return follow([`/api/tournaments/${encodeURIComponent(id)}/stream`], "anonymous", after, take, onStatus);
}

/**
 * The lobby: the current list, then changes. Returns a function that stops it. While the spectator is unreachable the
 * gateway's list is read every few seconds.
 */
export function watchLobby(take, onStatus = () => {}) {
  const list = new ListedLobby(take, onStatus);
  if (spectator() === null) {
    list.begin();
    return () => list.end();
  }
  let reached = false;
  const stop = follow([`${spectator()}/sse/lobby`], "anonymous", null, take, (status) => {
    if (status === "away" && !reached) {
      list.begin();
      return;
    }
    // A feed that was there may be back at once: the list begins when it cannot be reached again.
    reached = status === "live";
    // What the list gave is replaced by what the feed begins with.
    if (list.end() && status === "live") onStatus("hidden");
    onStatus(status);
  });
  return () => {
    stop();
    list.end();
  };
}

/** Receive the window's event `moderated` without a feed of a game, for pages of finished games. Returns a function that stops it. */
export function watchModeration() {
  return spectator() === null ? () => {} : follow([`${spectator()}/sse/lobby?only=moderated`], "anonymous", null, () => {}, () => {});
}

/** The lobby's messages made of the gateway's list. */
class ListedLobby {
  constructor(take, onStatus) {
    this.take = take;
    this.onStatus = onStatus;
    this.timer = null;
  }

  begin() {
    if (this.timer !== null) return;
    this.shown = new Map();
    this.timer = setInterval(() => this.#read(), LIST_MS);
    this.#read();
  }

  /** Whether it was running. */
  end() {
    const running = this.timer !== null;
    clearInterval(this.timer);
    this.timer = null;
    return running;
  }

  async #read() {
    if (document.hidden) return;
    try {
      const { rows } = await get(`/games/rows?limit=${LISTED}`, { as: "anonymous", patient: false });
      if (this.timer === null) return;
      this.onStatus("live");
      const open = new Map(rows.filter((row) => !row.over).map((row) => [row.game_id, row]));
      for (const [id, row] of open) {
        if (JSON.stringify(row) === this.shown.get(id)) continue;
        this.shown.set(id, JSON.stringify(row));
        this.take({ ...row, type: row.phase === "waiting" ? "game_waiting" : "game_started", at: row.created_at });
      }
      for (const id of [...this.shown.keys()].filter((one) => !open.has(one))) {
        this.shown.delete(id);
        this.take({ type: "game_end", game_id: id });
      }
    } catch {
      if (this.timer !== null) this.onStatus("away");
    }
  }
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
      connection.touch();
      onStatus("live");
      for await (const message of events(answer.body, connection)) {
        wait = RETRY_FIRST;
        if (message.type === "moderated") {
          dispatchEvent(new CustomEvent("moderated", { detail: message }));
          continue;
        }
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
    this.touch(BEGIN_MS);
  }

  touch(silence = SILENCE_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.cut, silence);
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
        if (data.length) yield parsed(data.join("\n"));
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

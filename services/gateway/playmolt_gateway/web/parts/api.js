/** Calls to the gateway. Refusals become a Problem with the server's code and detail. */

import { kept, keptInTab, randomId, within } from "./browser.js";
import { announce, el, fill } from "./dom.js";
import { fetched, parsed, t } from "./language.js";

const KEY = "playmolt.key";
const OPERATOR = "playmolt.operator";
const OWNER = "playmolt.owner";
const PERSON = "playmolt.person";
const GAMES_PATH = /\/(?:api|sse)\/games\/(?!join$)|^\/watch\//;
const TRIES = 5;
const CALL_SECONDS = 40;
const LINE_BYTES = 50_000;
const MAKING_MS = 600_000;

/**
 * A refused call. `errors` is [{field, message}]; `wait` is the number of seconds until a retry is accepted, `game` the
 * game in which the caller sits already.
 */
export class Problem extends Error {
  constructor(status, body, wait = 0) {
    super(body.detail ?? `HTTP ${status}`);
    this.status = status;
    this.code = body.code ?? "";
    this.errors = body.errors ?? [];
    this.wait = Number(wait) || 0;
    this.game = body.game_id ?? "";
  }
}

export const key = () => kept.get(KEY);
export const operatorKey = () => keptInTab.get(OPERATOR);

/** Keep the operator key until this window closes; an empty one deletes it. */
export function setOperatorKey(value) {
  if (value) keptInTab.set(OPERATOR, value);
  else keptInTab.remove(OPERATOR);
}

export const ownerKey = () => keptInTab.get(OWNER);

/** The agent as which a person plays in this browser: `{id, name, key}`, or null. */
export function person() {
  try {
    return JSON.parse(kept.get(PERSON));
  } catch {
    return null;
  }
}

/** Keep a new agent of a person, by the answer to its registration. */
export function setPerson({ id, name, api_key: own }) {
  kept.set(PERSON, JSON.stringify({ id, name, key: own }));
}

/** Delete the person's agent from this browser; the agent itself stays. */
export function forgetPerson() {
  kept.remove(PERSON);
}

let csrf = "";

/** Keep an owner's key until this tab closes; an empty one deletes it. */
export function setOwnerKey(value) {
  if (value) keptInTab.set(OWNER, value);
  else keptInTab.remove(OWNER);
}

/** The token with which changing calls of a browser that is signed in are sent; it is the page's alone. */
export function setCsrf(token) {
  csrf = token;
}

/** The visitor's token, a new one if there is none. It stays in this browser, or in this page alone. */
export async function ensureKey(inviteCode = "") {
  if (key()) return key();
  try {
    const { token } = await call("POST", "/api/visitors", inviteCode ? { invite_code: inviteCode } : {}, { as: "anonymous" });
    kept.set(KEY, token);
    return token;
  } catch (problem) {
    if (problem.code === "not_found") problem.code = "invite_code";
    throw problem;
  }
}

/** Delete the visitor's token on the server and in this browser. */
export async function deleteKey() {
  await call("DELETE", "/api/visitors/me");
  forgetKey();
}

/** Delete a key that the server no longer accepts. */
export function forgetKey() {
  kept.remove(KEY);
}

function bearer(as) {
  if (as === "owner" && !ownerKey()) return csrf ? { "X-CSRF-Token": csrf } : {};
  const value = as === "me" ? key() : as === "operator" ? operatorKey() : as === "owner" ? ownerKey() : as === "person" ? person()?.key : null;
  return value ? { Authorization: `Bearer ${value}` } : {};
}

/** The URL of a game with this page's invite, which private games require. */
function invited(path) {
  const invite = new URLSearchParams(location.search).get("invite");
  if (!invite || !GAMES_PATH.test(path)) return path;
  return `${path}${path.includes("?") ? "&" : "?"}invite=${encodeURIComponent(invite)}`;
}

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

/**
 * Call the API; returns the JSON of a 2xx answer. `as` is "me", "owner", "person", "operator" or "anonymous".
 *
 * Every POST has an idempotency key, so that a retry has no second effect. A 503 with Retry-After and a broken
 * connection are retried a few times. A 202 is returned with `pending` set.
 */
export async function call(method, path, body, { as = "me", patient = true } = {}) {
  const answer = await send(method, path, body, as, patient);
  const text = await answer.text();
  const read = text ? parsed(text) : {};
  if (answer.ok) return answer.status === 202 ? { ...read, pending: true } : read;
  throw new Problem(answer.status, read, answer.headers.get("retry-after"));
}

async function send(method, path, body, as, patient) {
  const headers = { Accept: "application/json", ...bearer(as) };
  const sends = ["POST", "PUT"].includes(method);
  if (sends) headers["Content-Type"] = "application/json";
  if (method === "POST") headers["Idempotency-Key"] = randomId();
  const options = { method, headers, body: sends ? JSON.stringify(body ?? {}) : undefined };
  // A file takes its time on a slow line.
  const seconds = CALL_SECONDS + (options.body?.length ?? 0) / LINE_BYTES;
  for (let tries = 1; ; tries += 1) {
    try {
      const answer = await fetched(invited(path), { ...options, signal: within(seconds) });
      if (answer.status !== 503 || !patient || tries >= TRIES) return answer;
      await pause(Math.min(5, Number(answer.headers.get("retry-after")) || 1));
    } catch (error) {
      if (!patient || tries >= TRIES) throw new Problem(0, { code: "offline", detail: t("offline") });
      await pause(tries);
    }
  }
}

export const get = (path, options) => call("GET", path, undefined, options);
export const post = (path, body, options) => call("POST", path, body, options);

/** Answers can overtake each other. Call this before each request; the result is false once a later one was shown. */
export function inOrder() {
  let begun = 0;
  let shown = 0;
  return () => {
    begun += 1;
    const own = begun;
    return () => {
      shown = Math.max(shown, own);
      return own === shown;
    };
  };
}

/** All lines of an NDJSON answer. */
export async function lines(path, as = "anonymous") {
  const answer = await send("GET", path, undefined, as, true);
  const text = await answer.text();
  if (!answer.ok) throw new Problem(answer.status, JSON.parse(text));
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** A picture as text. */
export async function picture(path) {
  const answer = await send("GET", path, undefined, path.startsWith("/api/") ? "me" : "anonymous", false);
  if (!answer.ok) throw new Problem(answer.status, {});
  return answer.text();
}

/** Wait for what is worked out on request: a 202 is polled for as long as a study may take, and `text` is announced. */
async function finished(path, as, text) {
  const end = performance.now() + MAKING_MS;
  for (;;) {
    const answer = await send("GET", path, undefined, as, true);
    if (!answer.ok) throw new Problem(answer.status, await answer.json());
    if (answer.status !== 202) return answer;
    await answer.body?.cancel();
    if (performance.now() >= end) throw new Problem(202, { code: "pending", detail: t("still_made") });
    announce(text);
    await pause(Number(answer.headers.get("retry-after")) || 1);
  }
}

/** The JSON of what a POST was answered about with a 202. */
export async function result(path, { as }) {
  const answer = await finished(path, as, t("being_examined"));
  return answer.json();
}

/**
 * Open a file of the caller at an address of its own: browsers in apps save nothing that a script made. The address
 * stays at `place`, since whether a browser saved the file is not known here. `late`: the file is made on request.
 */
export async function download(path, name, place, { as = "me", late = false } = {}) {
  if (late) await (await finished(path, as, t("being_made"))).body?.cancel();
  const { url, seconds } = await post("/api/files", { path }, { as });
  const link = el("a", { href: url, rel: "noreferrer", "data-file": name }, name);
  fill(place, el("p", {}, link, " ", el("span", { class: "quiet small" }, t("file.opened", { n: Math.floor(seconds / 60) }))));
  announce(t("file.opening", { name }));
  link.click();
  setTimeout(() => link.isConnected && fill(place, el("p", { class: "quiet small" }, t("file.expired"))), seconds * 1000);
}

/** Open a stream with the caller's key; the caller reads and aborts it. */
export function openStream(path, as, signal) {
  return fetch(invited(path), { headers: { Accept: "text/event-stream", ...bearer(as) }, signal });
}

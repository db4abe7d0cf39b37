/**
 * What a browser may lack or refuse, each with its second way: storage (a sandbox, a setting), the address of a sandboxed
 * frame, the clipboard and modal questions (plain http, in-app browsers), newer calls (Safari 16.4, Chromium 110). Other
 * modules use these and never the browser's own (docs/pages.md names the tested browsers).
 */

const COPY_MS = 3000;
/** A person needs longer than this to answer; a browser that asks nothing says no at once. */
const UNASKED_MS = 5;

/** Texts by name that last as long as the browser allows: without storage, as long as this page. */
class Kept {
  constructor(kind) {
    this.kind = kind;
    this.own = new Map();
  }

  #storage() {
    try {
      return globalThis[this.kind] ?? null;
    } catch {
      return null;
    }
  }

  get(name) {
    return this.own.get(name) ?? this.#storage()?.getItem(name) ?? null;
  }

  set(name, text) {
    try {
      this.#storage().setItem(name, text);
      this.own.delete(name);
    } catch {
      this.own.set(name, text);
    }
  }

  remove(name) {
    this.own.delete(name);
    this.#storage()?.removeItem(name);
  }

  names() {
    return [...new Set([...this.own.keys(), ...Object.keys(this.#storage() ?? {})])];
  }

  /** Whether the next page will find what is kept here. */
  lasts() {
    try {
      this.#storage().setItem("playmolt.probe", "");
      this.#storage().removeItem("playmolt.probe");
      return true;
    } catch {
      return false;
    }
  }
}

export const kept = new Kept("localStorage");
export const keptInTab = new Kept("sessionStorage");

/** Change the address without loading; a frame without an origin keeps its own. */
export function rewrite(address) {
  try {
    history.replaceState(null, "", address);
  } catch {
    // A reader sees no address of such a frame.
  }
}

let redraw = null;

/** Have `go` draw pages with this function where it cannot load them. */
export function drawnBy(draw) {
  redraw = draw;
  addEventListener("popstate", () => !keptInTab.lasts() && draw());
}

/** Go to another page of this kind. Where nothing lasts it is drawn in place: loading would lose the visitor's key. */
export function go(address) {
  if (!redraw || keptInTab.lasts()) {
    location.assign(address);
    return;
  }
  try {
    history.pushState(null, "", address);
  } catch {
    location.assign(address);
    return;
  }
  redraw();
}

/** A signal that aborts after this time. */
export function within(seconds) {
  const end = new AbortController();
  setTimeout(() => end.abort(), seconds * 1000);
  return end.signal;
}

/** 32 random hex digits. */
export function randomId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Whether a node is drawn at all. */
export const isShown = (node) => node.getClientRects().length > 0;

/** Put a text on the clipboard; false where the browser does not allow it. */
export async function copied(text) {
  try {
    const late = new Promise((_, fail) => setTimeout(fail, COPY_MS));
    await Promise.race([navigator.clipboard.writeText(text), late]);
    return true;
  } catch {
    return false;
  }
}

/** Ask yes or no; null where the browser asks nothing. */
export function answered(question) {
  const asked = performance.now();
  const yes = confirm(question);
  return yes || performance.now() - asked > UNASKED_MS ? yes : null;
}

/** The languages that the reader wants, most wanted first. */
export const wantedLanguages = () => navigator.languages ?? [navigator.language ?? "en"];

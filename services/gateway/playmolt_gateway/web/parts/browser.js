/**
 * What a browser may lack or refuse, each with its second way: storage (a sandbox, a setting), the address of a sandboxed
 * frame, the clipboard and modal questions (plain http, in-app browsers), newer calls (Safari 16.4, Chromium 110). Other
 * modules use these and never the browser's own (docs/pages.md names the tested browsers).
 */

const COPY_MS = 3000;
/** A person needs longer than this to answer; a browser that asks nothing says no at once. */

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

/** Kept while this browser is signed in as an owner: to ask the server is an error where it is not. */
export const SIGNED_IN = "playmolt.signed-in";

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

const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])$/;
const LOCAL = /^(?:10(?:\.\d+){3}|192\.168(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2}|169\.254(?:\.\d+){2}|.+\.local|\[f[cd][0-9a-f]*:.*\]|\[fe[89ab][0-9a-f]*:.*\])$/;

/** "loopback" for this machine, "local" for its network, null for anywhere else, by a URL's host name. */
export function addressSpace(host) {
  if (LOOPBACK.test(host)) return "loopback";
  return LOCAL.test(host) ? "local" : null;
}

/**
 * The option of `fetch` for a host that is not public. From a page on https, Chromium 142 and later refuse such a
 * request without it, and one with another word than fits. A browser that reads no such option gets none; one that knows
 * other words refuses it here.
 */
export function spaceOptions(host) {
  const space = addressSpace(host);
  let asked = false;
  try {
    new Request(location.href, { get targetAddressSpace() { asked = true; return space ?? undefined; } });
  } catch {
    return {};
  }
  return space && asked ? { targetAddressSpace: space } : {};
}

/** Whether the reader has forbidden this page to reach hosts like this one. */
export async function spaceDenied(host) {
  const space = addressSpace(host);
  for (const name of space ? [`${space}-network`, "local-network-access"] : []) {
    try {
      return (await navigator.permissions.query({ name })).state === "denied";
    } catch {
      // Another browser, or another version of this one, has another name for it.
    }
  }
  return false;
}

/** 32 random hex digits. */
export function randomId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Call `act([{ target }])` when nodes change their size; where the browser cannot say so, when the window does. */
export function sizes(act) {
  if (window.ResizeObserver) return new ResizeObserver(act);
  const nodes = new Set();
  addEventListener("resize", () => {
    for (const node of nodes) {
      if (node.isConnected) act([{ target: node }]);
      else nodes.delete(node);
    }
  });
  return { observe: (node) => setTimeout(() => act([{ target: nodes.add(node) && node }])) };
}

/** A media query, which never matches where the browser knows none. */
export const media = (query) => window.matchMedia?.(query) ?? { matches: false, addEventListener() {} };

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

/** The languages that the reader wants, most wanted first. */
export const wantedLanguages = () => navigator.languages ?? [navigator.language ?? "en"];

/** The server's picture of a game; nodes with a key move between positions. */

import { picture } from "./api.js";
import { media } from "./browser.js";
import { el, fill } from "./dom.js";
import { language } from "./language.js";

const MOVE_MS = 600;
const calm = media("(prefers-reduced-motion: reduce)");
const narrow = media("(max-width: 34rem)");
const KEPT = 60;

export class Picture {
  /** `address` is the picture's URL; a session's is readable by its owner only. */
  constructor(address) {
    this.address = address;
    this.kept = new Map();
    this.moderation = "";
    this.node = el("div", { class: "stage" });
  }

  /** Show a version; of requests during a load only the latest is kept. */
  show(version, seat = "") {
    const words = new URLSearchParams({ lang: language() });
    if (version) words.set("v", version);
    if (seat) words.set("seat", seat);
    if (this.moderation) words.set("m", this.moderation);
    if (narrow.matches) words.set("tall", "1");
    this.wanted = String(words);
    this.reading ??= this.#read().finally(() => {
      this.reading = null;
    });
    return this.reading;
  }

  /** Forget pictures that may show what is hidden now; `moderation` as in `moderationOf`. */
  forget(moderation) {
    this.moderation = moderation;
    this.kept.clear();
    this.shown = null;
  }

  /** Show nothing. */
  clear() {
    this.shown = null;
    fill(this.node);
  }

  /** Show the latest version. */
  newest() {
    this.shown = null;
    return this.show("");
  }

  async #read() {
    try {
      while (this.shown !== this.wanted) {
        this.shown = this.wanted;
        this.#put(await this.#text(this.shown));
      }
    } catch (error) {
      this.shown = null;
      throw error;
    }
  }

  /** Past versions never change; the latest does. */
  async #text(words) {
    const address = `${this.address}?${words}`;
    if (!words.includes("&v=")) return picture(address);
    if (!this.kept.has(words)) this.kept.set(words, await picture(address));
    if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
    return this.kept.get(words);
  }

  #put(text) {
    const before = new Map([...this.node.querySelectorAll("[data-key]")].map((one) => [one.dataset.key, one.getAttribute("transform")]));
    fill(this.node, drawn(text));
    if (calm.matches) return;
    for (const one of this.node.querySelectorAll("[data-key]")) {
      const [from, to] = [before.get(one.dataset.key), one.getAttribute("transform")];
      if (from && from !== to) one.animate?.([{ transform: styled(from) }, { transform: styled(to) }], { duration: MOVE_MS, easing: "ease-in-out" });
    }
  }
}

/** Parse a picture; the server has escaped all text in its SVG. */
export function drawn(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

function styled(transform) {
  const [x, y] = transform.match(/-?[\d.]+/g);
  return `translate(${x}px, ${y}px)`;
}

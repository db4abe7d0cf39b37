/** The drawing of a game, as the server draws it: what has an identity moves from where it stood. */

import { picture } from "./api.js";
import { el, fill } from "./dom.js";
import { language } from "./language.js";

const MOVE_MS = 600;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const narrow = matchMedia("(max-width: 34rem)");
const KEPT = 60;

export class Picture {
  /** `address` is where it is drawn; a session is drawn for its owner alone. */
  constructor(address) {
    this.address = address;
    this.kept = new Map();
    this.node = el("div", { class: "stage" });
  }

  /** Show a moment; of moments that are asked for while one is on its way only the newest is shown. */
  async show(version, seat = "") {
    const wanted = (this.wanted = `${version} ${seat} ${narrow.matches} ${language()}`);
    const text = await this.#read(version, seat, wanted);
    if (wanted === this.wanted) this.#put(text);
  }

  /** Show the newest moment, whatever it is by now. */
  async newest() {
    this.kept.clear();
    await this.show("");
  }

  async #read(version, seat, key) {
    if (!this.kept.has(key)) {
      const words = new URLSearchParams({ lang: language() });
      if (version) words.set("v", version);
      if (seat) words.set("seat", seat);
      if (narrow.matches) words.set("tall", "1");
      this.kept.set(key, await picture(`${this.address}?${words}`));
      if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
    }
    return this.kept.get(key);
  }

  #put(text) {
    const before = new Map([...this.node.querySelectorAll("[data-key]")].map((one) => [one.dataset.key, one.getAttribute("transform")]));
    fill(this.node, drawn(text));
    if (calm.matches) return;
    for (const one of this.node.querySelectorAll("[data-key]")) {
      const [from, to] = [before.get(one.dataset.key), one.getAttribute("transform")];
      if (from && from !== to) one.animate([{ transform: styled(from) }, { transform: styled(to) }], { duration: MOVE_MS, easing: "ease-in-out" });
    }
  }
}

/** The node of a picture's text: it is read as SVG, in which the server has escaped what others wrote. */
export function drawn(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

function styled(transform) {
  const [x, y] = transform.match(/-?[\d.]+/g);
  return `translate(${x}px, ${y}px)`;
}

/** The list of events; each line leads to its version. It is one tab stop, with arrow keys inside. */

import { sizes } from "./browser.js";
import { el, ofContent } from "./dom.js";

const NEAR_END = 60;
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

export class Moments {
  /** `choose(version)` is called for a chosen line. */
  constructor(label, choose) {
    this.choose = choose;
    this.shown = new Map();
    this.stop = null;
    this.node = el("ol", { class: "log", "aria-label": label, "data-content": ofContent().lang });
    this.node.addEventListener("keydown", (event) => this.#step(event));
    this.node.addEventListener("focusin", ({ target }) => this.#rest(target.closest("button")));
    // A hidden or incomplete list cannot scroll to its place.
    sizes(() => this.#reveal()).observe(this.node);
  }

  /** Append [[version, text]]; a list scrolled to the end stays there, unless it shows a past version. */
  add(lines) {
    const { node } = this;
    const newest = !this.current || this.current.parentElement === node.lastElementChild;
    const atEnd = newest && node.scrollHeight - node.scrollTop - node.clientHeight < NEAR_END;
    node.append(...lines.map(([version, text]) => el("li", {}, this.#button(version, text))));
    if (!this.stop && node.firstChild) this.#rest(node.firstChild.firstChild);
    if (atEnd) node.scrollTop = node.scrollHeight;
  }

  /** Replace the texts of lines that are shown. */
  replace(lines) {
    for (const [version, text] of lines) if (this.shown.has(version)) this.shown.get(version).lastChild.textContent = text;
  }

  /** Mark the line of a version, or the last one before it, and scroll to it. */
  mark(version) {
    this.current?.removeAttribute("aria-current");
    this.current = this.#last(version);
    if (!this.current) return;
    this.current.setAttribute("aria-current", "true");
    if (!this.node.contains(document.activeElement)) this.#rest(this.current);
    this.#reveal();
  }

  #reveal() {
    if (!this.current) return;
    const row = this.current.parentElement;
    const { scrollTop, clientHeight } = this.node;
    if (row.offsetTop < scrollTop || row.offsetTop + row.offsetHeight > scrollTop + clientHeight) {
      this.node.scrollTop = row.offsetTop - clientHeight / 2;
    }
  }

  #last(version) {
    for (let at = version; at > 0; at -= 1) if (this.shown.has(at)) return this.shown.get(at);
    return undefined;
  }

  #button(version, text) {
    const button = el("button", { type: "button", tabindex: -1, "data-v": version, onclick: () => this.choose(version) },
      el("span", { class: "number" }, version), el("span", {}, text));
    this.shown.set(version, button);
    return button;
  }

  /** The line in the tab order. */
  #rest(button) {
    if (!button || button === this.stop) return;
    if (this.stop) this.stop.tabIndex = -1;
    this.stop = button;
    button.tabIndex = 0;
  }

  #step(event) {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const buttons = [...this.node.querySelectorAll("button")];
    const place = buttons.indexOf(document.activeElement) + step;
    buttons[Math.max(0, Math.min(place, buttons.length - 1))]?.focus();
  }
}

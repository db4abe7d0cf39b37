/** One line of time: live at its end, any moment by dragging, by keys or by a link (#v=17). */

import { announce, el, fill } from "./dom.js";
import { t } from "./language.js";

const STEP_SECONDS = 0.9;

/** The moment that the address names; null when it names none. */
export function linkedMoment() {
  const found = /(?:^|[#&])v=(\d{1,9})(?:&|$)/.exec(location.hash);
  return found ? Number(found[1]) : null;
}

/**
 * A timeline over versions 1 … head. `show(version)` is called for the moment that is to be seen; `tell(version)`
 * gives a line about a moment. `grow(head)` makes it longer; it stays at the end when it stood there. `start` is the
 * moment to begin with: until it is there, or `known()` says that all there is is there, nothing else is shown.
 */
export class Timeline {
  constructor({ show, tell = () => "", start = null }) {
    this.show = show;
    this.tell = tell;
    this.head = 0;
    this.at = 0;
    this.start = start;
    this.complete = false;
    this.following = start === null;
    this.live = false;
    this.playing = null;
    this.node = this.#draw();
  }

  #draw() {
    this.slider = el("input", { type: "range", min: 1, max: 1, step: 1, value: 1, "aria-label": t("timeline") });
    this.slider.addEventListener("input", () => this.#leave(Number(this.slider.value)));
    this.output = el("output", {}, "");
    this.told = el("span", { class: "told" });
    this.play = el("button", { type: "button", onclick: () => this.#toggle() }, t("timeline.play"));
    this.end = el("button", { type: "button", onclick: () => this.follow() }, t("timeline.end"));
    this.link = el("button", { type: "button", onclick: () => this.#copy() }, t("timeline.link"));
    const step = (text, by) => el("button", { type: "button", "aria-label": text, title: text,
      onclick: () => this.#leave(this.at + by) }, by < 0 ? "‹" : "›");
    return el("section", { class: "timeline", "aria-label": t("timeline") },
      this.slider,
      el("div", { class: "row" }, step(t("timeline.back"), -1), this.play, step(t("timeline.on"), 1),
        this.output, this.told, this.link, this.end));
  }

  /** Say how far the game is. */
  grow(head, live = this.live) {
    this.live = live;
    this.head = Math.max(this.head, head);
    this.slider.max = String(Math.max(1, this.head));
    if (this.start !== null) this.#arrive();
    else if (this.following) this.go(this.head, { follow: true });
    else this.#label();
  }

  /** Say that what had happened when the page was opened is there. */
  known() {
    this.complete = true;
    this.#arrive();
  }

  /** Go to a moment that an address names, as soon as it is there. */
  seek(version) {
    this.#stop();
    this.start = version;
    this.following = false;
    this.#arrive();
  }

  #arrive() {
    if (this.start !== null && this.head > 0 && (this.complete || this.start <= this.head)) this.go(this.start);
    else this.#label();
  }

  /** Show a moment. */
  go(version, { follow = false } = {}) {
    const next = Math.max(1, Math.min(version, this.head));
    this.start = null;
    this.following = follow;
    if (next !== this.at) {
      this.at = next;
      this.show(next);
    }
    this.#label();
  }

  /** Go to the end and stay there. */
  follow() {
    this.#stop();
    history.replaceState(null, "", location.pathname + location.search);
    this.go(this.head, { follow: true });
  }

  /** A moment that a person chose: the address names it. */
  #leave(version) {
    this.#stop();
    this.choose(version);
  }

  choose(version) {
    this.go(version);
    history.replaceState(null, "", `#v=${this.at}`);
    announce(`${this.at} / ${this.head}. ${this.tell(this.at)}`);
  }

  #label() {
    this.slider.value = String(this.at);
    const told = this.tell(this.at);
    this.slider.setAttribute("aria-valuetext", `${this.at} / ${this.head}. ${told}`);
    this.output.textContent = t("timeline.at", { at: this.at, head: this.head });
    this.told.textContent = told;
    this.end.textContent = this.live ? t("timeline.live") : t("timeline.end");
    this.end.classList.toggle("live", this.live);
    this.end.setAttribute("aria-pressed", String(this.following));
  }

  #toggle() {
    if (this.playing) {
      this.#leave(this.at);
      return;
    }
    if (this.at >= this.head) this.go(1);
    this.play.textContent = t("timeline.pause");
    this.playing = setInterval(() => {
      if (this.at < this.head) this.go(this.at + 1);
      else if (this.live) this.follow();
      else this.#stop();
    }, STEP_SECONDS * 1000);
  }

  #stop() {
    clearInterval(this.playing);
    this.playing = null;
    this.play.textContent = t("timeline.play");
  }

  async #copy() {
    history.replaceState(null, "", `#v=${this.at}`);
    try {
      await navigator.clipboard.writeText(location.href);
      announce(t("timeline.copied"));
      fill(this.link, t("timeline.copied"));
    } catch {
      fill(this.link, `#v=${this.at}`);
    }
    setTimeout(() => fill(this.link, t("timeline.link")), 2500);
  }

  close() {
    this.#stop();
  }
}

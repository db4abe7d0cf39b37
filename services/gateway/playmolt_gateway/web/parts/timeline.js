/** The timeline: live at its end; any version by dragging, keys, marks or a link (?v=17). */

import { copied, isShown, kept, rewrite } from "./browser.js";
import { announce, byHand, el, fill } from "./dom.js";
import { t } from "./language.js";
import { Marks } from "./marks.js";

const STEP_SECONDS = 0.9;
const SPEEDS = [0.5, 1, 2, 4, 8];
const SPEED = "playmolt.speed";
const OWN_KEYS = "input, textarea, select, [contenteditable], [role=tab], [role=slider]";
const PRESSED = "button, a, summary";

/** The version in the URL: null without one, NaN if it is invalid. */
export function linkedMoment() {
  const old = /(?:^|[#&])v=([^&]*)/.exec(location.hash);
  const said = old?.[1] ?? new URLSearchParams(location.search).get("v");
  if (said === undefined || said === null) return null;
  return /^\d{1,15}$/.test(said) ? Number(said) : NaN;
}

/** The URL with this version, or without one. */
function addressOf(version) {
  const address = new URL(location.href);
  address.hash = "";
  if (version === null) address.searchParams.delete("v");
  else address.searchParams.set("v", version);
  return address;
}

/** A link to share, without the reader's language. */
export function sharedAddress(version) {
  const address = addressOf(version);
  address.searchParams.delete("lang");
  return address.href;
}

/**
 * A timeline over versions 1 … head. `show(version)` is called to show a version; `describe(version)` returns its text.
 * `grow(head)` extends it and follows the end if it was there. `start` is the initial version: nothing is shown until it
 * is loaded or `known()` reports that everything is. `quick(version)` marks versions that playback skips.
 */
export class Timeline {
  constructor({ show, describe = () => "", start = null, quick = () => false }) {
    this.show = show;
    this.describe = describe;
    this.quick = quick;
    this.head = 0;
    this.at = 0;
    this.start = start;
    this.complete = false;
    this.following = start === null;
    this.live = false;
    this.stalled = false;
    this.playing = null;
    this.typed = "";
    this.speed = SPEEDS.find((one) => one === Number(kept.get(SPEED))) ?? 1;
    this.marks = new Marks((version) => this.#leave(version));
    this.node = this.#draw();
    this.keys = (event) => this.#key(event);
    document.addEventListener("keydown", this.keys);
  }

  #draw() {
    this.slider = el("input", { type: "range", min: 1, max: 1, step: 1, value: 1, "aria-label": t("timeline") });
    this.slider.addEventListener("input", () => this.#leave(Number(this.slider.value)));
    this.output = el("output", {}, "");
    this.text = el("span", { class: "text" });
    this.play = el("button", { type: "button", onclick: () => this.toggle() }, t("timeline.play"));
    this.faster = el("button", { type: "button", onclick: () => this.pace(this.speed === SPEEDS.at(-1) ? SPEEDS[0] : SPEEDS[SPEEDS.indexOf(this.speed) + 1]) });
    this.next = el("button", { type: "button", onclick: () => this.#highlight() }, t("timeline.next"));
    this.end = el("button", { type: "button", onclick: () => this.follow() }, t("timeline.end"));
    this.link = el("button", { type: "button", onclick: () => this.#copy() }, t("timeline.link"));
    this.help = el("p", { class: "small quiet", hidden: true }, t("timeline.keys_list"));
    this.hand = el("div");
    this.#labelPace();
    const step = (text, by) => el("button", { type: "button", "aria-label": text, title: text,
      onclick: () => this.#leave(this.at + by) }, by < 0 ? "‹" : "›");
    return el("section", { class: "timeline", "aria-label": t("timeline") },
      this.marks.node, this.slider,
      el("div", { class: "row" }, step(t("timeline.back"), -1), this.play, step(t("timeline.on"), 1), this.faster, this.next,
        this.output, this.text, this.link, this.end), this.hand, this.help);
  }

  /** Extend the timeline. */
  grow(head, live = this.live) {
    this.live = live;
    this.head = Math.max(this.head, head);
    this.slider.max = String(Math.max(1, this.head));
    this.marks.stretch(this.head);
    if (this.start !== null) this.#arrive();
    else if (this.following) this.go(this.head, { follow: true });
    else this.#label();
  }

  /** Mark a running game as stalled or not. */
  stall(stalled) {
    if (stalled === this.stalled) return;
    this.stalled = stalled;
    this.#label();
  }

  /** All past events are loaded. */
  known() {
    this.complete = true;
    this.#arrive();
  }

  /** Go to the version in the URL as soon as it is loaded. */
  seek(version) {
    this.stop();
    this.start = version;
    this.following = false;
    this.#arrive();
  }

  #arrive() {
    const there = this.start >= 1 && this.start <= this.head;
    if (this.start !== null && this.head > 0 && (this.complete || there)) {
      this.go(there ? this.start : this.head);
      rewrite(addressOf(this.at));
    } else this.#label();
  }

  /** Show a version. */
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

  /** Follow the end. */
  follow() {
    this.stop();
    rewrite(addressOf(null));
    this.go(this.head, { follow: true });
  }

  /** Go to a version chosen by the user and put it into the URL. */
  #leave(version) {
    this.stop();
    this.choose(version);
  }

  choose(version) {
    this.go(version);
    rewrite(addressOf(this.at));
    announce(`${this.at} / ${this.head}. ${this.describe(this.at)}`);
  }

  /** Describe the version again: its text has changed. */
  relabel() {
    this.#label();
  }

  #label() {
    this.slider.value = String(this.at);
    const text = this.describe(this.at);
    this.slider.setAttribute("aria-valuetext", `${this.at} / ${this.head}. ${text}`);
    this.output.textContent = t("timeline.at", { at: this.at, head: this.head });
    this.text.textContent = text;
    const live = this.live && !this.stalled;
    this.end.textContent = live ? t("timeline.live") : t("timeline.end");
    this.end.classList.toggle("live", live);
    this.end.setAttribute("aria-pressed", String(this.following));
    if (!this.playing) this.play.textContent = t(this.at >= this.head && !this.live && this.head > 1 ? "timeline.replay" : "timeline.play");
  }

  toggle() {
    if (this.playing) {
      this.#leave(this.at);
      return;
    }
    if (this.at >= this.head) this.go(1);
    this.play.textContent = t("timeline.pause");
    this.#tick();
  }

  #tick() {
    this.playing = setTimeout(() => {
      let next = this.at + 1;
      while (next < this.head && this.quick(next)) next += 1;
      if (next <= this.head) this.go(next);
      if (this.at < this.head) this.#tick();
      else if (this.live) this.follow();
      else this.stop();
    }, (STEP_SECONDS * 1000) / this.speed);
  }

  /** Set the speed, also for later visits unless the URL sets one. */
  pace(speed, { lasting = true } = {}) {
    if (!SPEEDS.includes(speed)) return;
    this.speed = speed;
    if (lasting) kept.set(SPEED, String(speed));
    this.#labelPace();
  }

  #labelPace() {
    this.faster.textContent = `${this.speed}×`;
    this.faster.setAttribute("aria-label", t("timeline.speed", { n: this.speed }));
  }

  #highlight() {
    this.#leave(this.marks.after(this.at) ?? this.head);
  }

  /** Shortcuts, except in controls that use the key themselves. */
  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.(OWN_KEYS) || !this.node.isConnected || !isShown(this.node)) return;
    if (/^\d$/.test(event.key)) {
      this.typed = (this.typed + event.key).slice(-4);
      return;
    }
    const round = this.typed;
    this.typed = "";
    const place = SPEEDS.indexOf(this.speed);
    const acts = {
      ArrowLeft: () => this.#leave(this.at - 1),
      ArrowRight: () => this.#leave(this.at + 1),
      " ": () => this.toggle(),
      "<": () => this.pace(SPEEDS[place - 1]),
      ">": () => this.pace(SPEEDS[place + 1]),
      n: () => this.#highlight(),
      "?": () => {
        this.help.hidden = !this.help.hidden;
      },
    };
    const pressed = event.target.closest?.(PRESSED);
    if (event.key === "Enter" && round && this.marks.round(Number(round)) !== undefined) this.#leave(this.marks.round(Number(round)));
    else if (!acts[event.key] || (pressed && event.key === " ")) return;
    else acts[event.key]();
    event.preventDefault();
  }

  stop() {
    clearTimeout(this.playing);
    this.playing = null;
    this.play.textContent = t("timeline.play");
    if (this.head) this.#label();
  }

  async #copy() {
    rewrite(addressOf(this.at));
    const address = sharedAddress(this.at);
    if (!(await copied(address))) {
      byHand(this.hand, address);
      return;
    }
    announce(t("timeline.copied"));
    fill(this.link, t("timeline.copied"));
    setTimeout(() => fill(this.link, t("timeline.link")), 2500);
  }

  close() {
    this.stop();
    document.removeEventListener("keydown", this.keys);
  }
}

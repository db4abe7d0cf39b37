/** The owner's timeline of a session: what its stream told, any moment of it. */

import { el, fill } from "./dom.js";
import { t } from "./language.js";
import { Timeline, linkedMoment } from "./timeline.js";

/**
 * A list of what happened with a timeline below. `line(message)` gives the text of a message, "" for none;
 * `scene(messages)` what stood when these messages had been told.
 */
export class SessionHistory {
  constructor({ line, scene }) {
    this.line = line;
    this.scene = scene;
    this.messages = [];
    this.list = el("ol", { class: "log", tabindex: "0", "aria-label": t("watch.events") });
    this.stage = el("div", { class: "stack" });
    this.timeline = new Timeline({ show: (v) => this.show(v), tell: (v) => this.told(v), start: linkedMoment() });
    this.node = el("div", { class: "stack" },
      el("div", { class: "two" }, this.stage,
        el("section", { class: "card", "aria-label": t("watch.events") }, el("h2", {}, t("watch.events")), this.list)),
      this.timeline.node);
  }

  take(message, live) {
    this.messages.push(message);
    const text = this.line(message);
    if (text) {
      this.list.append(el("li", {}, el("button", { type: "button", "data-v": message.version,
        onclick: () => this.timeline.choose(message.version) },
        el("span", { class: "number" }, message.version), el("span", {}, text))));
    }
    this.timeline.grow(message.version, live);
  }

  told(version) {
    const message = this.messages[version - 1];
    return message ? this.line(message) : "";
  }

  show(version) {
    fill(this.stage, this.scene(this.messages.slice(0, version)));
    for (const button of this.list.querySelectorAll("[aria-current]")) button.removeAttribute("aria-current");
    const current = this.list.querySelector(`[data-v="${version}"]`);
    if (!current) return;
    current.setAttribute("aria-current", "true");
    this.list.scrollTop = current.parentElement.offsetTop - this.list.clientHeight / 2;
  }

  close() {
    this.timeline.close();
  }
}

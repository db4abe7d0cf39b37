/** The owner's timeline of a session: what its stream told, any moment of it. */

import { el, fill } from "./dom.js";
import { t } from "./language.js";
import { Moments } from "./moments.js";
import { Timeline, linkedMoment } from "./timeline.js";

/**
 * A list of what happened with a timeline below. `line(message)` gives the text of a message, "" for none;
 * `scene(messages)` what stood when these messages had been told. `version` is how far the session is, and `open()` is
 * called when an address names a moment of it while the page stands open.
 */
export class SessionHistory {
  constructor({ line, scene, version, open }) {
    this.line = line;
    this.scene = scene;
    this.version = version;
    this.messages = [];
    this.stage = el("div", { class: "stack" });
    this.timeline = new Timeline({ show: (v) => this.show(v), tell: (v) => this.told(v), start: linkedMoment() });
    this.moments = new Moments(t("watch.events"), (v) => this.timeline.choose(v));
    this.moment = () => {
      if (linkedMoment() === null) return;
      open();
      this.timeline.seek(linkedMoment());
    };
    addEventListener("hashchange", this.moment);
    this.node = el("div", { class: "stack" },
      el("div", { class: "two" }, this.stage,
        el("section", { class: "card", "aria-label": t("watch.events") }, el("h2", {}, t("watch.events")), this.moments.node)),
      this.timeline.node);
  }

  take(message, live) {
    this.messages.push(message);
    const text = this.line(message);
    if (text) this.moments.add([[message.version, text]]);
    this.timeline.grow(message.version, live);
    if (message.version >= this.version) this.timeline.known();
  }

  told(version) {
    const message = this.messages[version - 1];
    return message ? this.line(message) : "";
  }

  show(version) {
    fill(this.stage, this.scene(this.messages.slice(0, version)));
    this.moments.mark(version);
  }

  close() {
    this.timeline.close();
    removeEventListener("hashchange", this.moment);
  }
}

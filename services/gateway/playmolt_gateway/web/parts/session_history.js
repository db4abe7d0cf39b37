/** The owner's timeline of a session: what its stream told, any moment of it. */

import { el, fill } from "./dom.js";
import { t } from "./language.js";
import { Moments } from "./moments.js";
import { Timeline, linkedMoment } from "./timeline.js";

/** Why a juror moved, where it moved before it answered. */
const REACTIONS = ["chat", "evidence", "weakness"];

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
    this.waiting = [];
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
    this.moments.add(this.#inOrder(message).map((one) => [one.version, this.line(one)]).filter(([, text]) => text));
    this.timeline.grow(message.version, live);
    if (message.version >= this.version) this.timeline.known();
  }

  /** What is to be read now: a reaction waits for the answer, which the log has behind it. */
  #inOrder(message) {
    if (REACTIONS.includes(message.cause)) {
      this.waiting.push(message);
      return [];
    }
    if (message.type !== "juror_said") return [message];
    return [message, ...this.waiting.splice(0)];
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

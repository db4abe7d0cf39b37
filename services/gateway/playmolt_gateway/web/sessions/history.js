/** The owner's timeline of a session: what its stream told, any moment of it. */

import { lines } from "../parts/api.js";
import { el, fill } from "../parts/dom.js";
import { t } from "../parts/language.js";
import { Moments } from "../parts/moments.js";
import { Picture } from "../parts/picture.js";
import { RecordView } from "../watch/record.js";
import { Timeline, linkedMoment } from "../parts/timeline.js";

/** On a phone the form comes first as long as there is one. */
const narrow = matchMedia("(max-width: 34rem)");
/** Why a juror moved, where it moved before it answered. */
const REACTIONS = ["chat", "evidence", "weakness"];

const roundOf = (message) => (message.type === "round_started" ? message.round : undefined);

/**
 * A list of what happened with a timeline below, and `drawn`, the picture of the moment at which that stands. `path` is
 * where the session is called; `line(message)` gives the text of a message, "" for none; `scene(messages)` what stood
 * when these messages had been told; `highlight(message)` whether the mark of a message is one, null where it has no
 * mark. `version` is how far the session is, `over` whether that is its end, `log`
 * whether its records can be read then, and `open()` is called when an address names a moment of it while the page
 * stands open.
 */
export class SessionHistory {
  constructor({ path, line, scene, highlight, version, over, log, open }) {
    this.line = line;
    this.scene = scene;
    this.highlight = highlight;
    this.version = version;
    this.over = over;
    this.picture = new Picture(`${path}/picture.svg`);
    this.drawn = el("details", { class: "drawn", open: over || !narrow.matches }, el("summary", {}, t("picture")), this.picture.node);
    this.record = new RecordView((v) => this.messages[v - 1], log ? () => lines(`${path}/log`, "me") : null);
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
        el("section", { class: "card", "aria-label": t("watch.events") }, el("h2", {}, t("watch.events")), this.moments.node, this.record.node)),
      this.timeline.node);
  }

  take(message, live) {
    this.messages.push(message);
    this.moments.add(this.#inOrder(message).map((one) => [one.version, this.line(one)]).filter(([, text]) => text));
    const high = this.highlight(message);
    if (high !== null) this.timeline.marks.add([{ version: message.version, name: this.line(message), round: roundOf(message), high }]);
    this.timeline.grow(message.version, live);
    if (!live) this.record.over();
    if (message.version < this.version) return;
    this.timeline.known();
    this.#draw();
  }

  /** What is read anew at every visit is drawn once it is there, and not message by message. */
  #draw() {
    if (this.timeline.complete) this.picture.show(this.timeline.at).catch(() => {});
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
    this.record.show(version);
    this.#draw();
  }

  close() {
    this.timeline.close();
    removeEventListener("hashchange", this.moment);
  }
}

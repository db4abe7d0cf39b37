/** The owner's timeline of a session. */

import { lines } from "../parts/api.js";
import { media } from "../parts/browser.js";
import { el, fill } from "../parts/dom.js";
import { t } from "../parts/language.js";
import { Moments } from "../parts/moments.js";
import { Picture } from "../parts/picture.js";
import { RecordView } from "../watch/record.js";
import { Timeline, linkedMoment } from "../parts/timeline.js";

/** On phones the form, if any, comes first. */
const narrow = media("(max-width: 34rem)");
/** The cause of a juror's move that precedes its answer. */
const REACTIONS = ["chat", "evidence", "weakness"];

const roundOf = (message) => (message.type === "round_started" ? message.round : undefined);

/**
 * A list of events with a timeline, and `drawn`, the picture at the current version. `path` is the session's route;
 * `line(message)` returns the text of a message or ""; `scene(messages)` the view after these messages;
 * `highlight(message)` whether its mark is a highlight, null without a mark. `version` is the session's version, `over`
 * whether it has ended, `log` whether its records are readable then; `open()` is called when the URL changes to a version.
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
    this.timeline = new Timeline({ show: (v) => this.show(v), describe: (v) => this.lineAt(v), start: linkedMoment() });
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

  /** Draw once all past messages are loaded. */
  #draw() {
    if (this.timeline.complete) this.picture.show(this.timeline.at).catch(() => {});
  }

  /** The messages to add now: a juror's move waits for its answer, which follows in the log. */
  #inOrder(message) {
    if (REACTIONS.includes(message.cause)) {
      this.waiting.push(message);
      return [];
    }
    if (message.type !== "juror_said") return [message];
    return [message, ...this.waiting.splice(0)];
  }

  lineAt(version) {
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

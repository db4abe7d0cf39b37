/** The source of an event: its message and, when the game is over, its record and hash. */

import { el, fill } from "../parts/dom.js";
import { trouble } from "../parts/frame.js";
import { t } from "../parts/language.js";

export class RecordView {
  /** `message(version)` returns the message; `read()` the records of a finished game, null if they are not readable. */
  constructor(message, read) {
    this.message = message;
    this.read = read;
    this.records = null;
    this.ended = false;
    this.title = el("summary", {}, t("record.title", { v: 1 }));
    this.body = el("div", { class: "stack" });
    this.node = el("details", { class: "record" }, this.title, this.body);
    this.node.addEventListener("toggle", () => this.#fill());
  }

  /** Mark the game as over. */
  over() {
    this.ended = true;
    this.#fill();
  }

  /** Read the records again when they are shown. */
  forget() {
    this.records = null;
    this.reading = null;
    this.fault = null;
    this.#fill();
  }

  show(version) {
    this.version = version;
    fill(this.title, t("record.title", { v: version }));
    this.#fill();
  }

  #fill() {
    if (!this.node.open || !this.version) return;
    fill(this.body, this.#part("record.message", this.message(this.version)), this.#stored());
  }

  #stored() {
    if (!this.read) return null;
    if (!this.ended) return el("p", { class: "quiet small" }, t("record.running"));
    if (this.fault) return trouble(this.fault);
    if (!this.records) {
      this.reading ??= this.#fetch();
      return el("p", { class: "quiet waiting" }, t("loading"));
    }
    const record = this.records[this.version - 1];
    return record ? [el("dl", { class: "facts" }, el("dt", {}, t("record.hash")), el("dd", {}, el("code", { "data-hash": "" }, record.hash))),
      this.#part("record.stored", record)] : null;
  }

  async #fetch() {
    try {
      this.records = await this.read();
    } catch (error) {
      this.fault = error;
    }
    this.#fill();
  }

  #part(name, content) {
    if (!content) return null;
    return el("section", { class: "tight" }, el("h3", {}, t(name)), el("pre", { class: "pre small", tabindex: "0" }, JSON.stringify(content, null, 1)));
  }
}

/** Named marks above a timeline. */

import { svg } from "./dom.js";
import { t } from "./language.js";

const WIDTH = 1000;
const HEIGHT = 14;

export class Marks {
  /** `choose(version)` is called for a chosen mark. */
  constructor(choose) {
    this.choose = choose;
    this.known = [];
    this.head = 1;
    this.node = svg("svg", { class: "marks", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "group", "aria-label": t("timeline.marks") });
  }

  /** Add marks, [{version, name, round, high}]; `round` if one begins there, `high` for highlights. */
  add(marks) {
    for (const mark of marks) {
      const node = svg("g", { role: "button", "aria-label": mark.name, class: mark.high ? "high" : null },
        svg("title", {}, mark.name), svg("rect", { width: 8, height: HEIGHT }));
      node.addEventListener("click", () => this.choose(mark.version));
      this.known.push({ ...mark, node });
      this.node.append(node);
      this.#place(this.known.at(-1));
    }
  }

  stretch(head) {
    if (head === this.head) return;
    this.head = head;
    for (const mark of this.known) this.#place(mark);
  }

  #place({ version, node }) {
    const at = this.head > 1 ? (version - 1) / (this.head - 1) : 0;
    // A range's thumb is inset by half its width at both ends.
    node.lastChild.setAttribute("x", String(6 + at * (WIDTH - 20)));
  }

  /** The next highlight after a version. */
  after(version) {
    return this.known.find((mark) => mark.high && mark.version > version)?.version;
  }

  /** The version at which a round begins. */
  round(number) {
    return this.known.find((mark) => mark.round === number)?.version;
  }
}

/** Games as lists show them: what they were about, who played, who won, how long the phase still has. */

import { el, named } from "./dom.js";
import { clock, t, word } from "./language.js";

/** A line of a list; `row` is one of `GET /games/rows`. */
export function gameRow(row) {
  const link = el("a", { href: `/watch/${row.game_id}`, "data-focus": row.game_id },
    el("strong", {}, word("game", row.gameType)), row.about ? [" ", named(row.about)] : null);
  return el("li", {},
    el("div", { class: "row apart" }, link, el("span", { class: "quiet small" }, row.created_at ? clock(row.ended_at ?? row.created_at) : "")),
    el("div", { class: "row small" },
      el("span", { class: `tag${row.over ? " plain" : ""}` }, word("phase", row.phase)),
      row.over || row.needed < 2 ? null : el("span", { class: "quiet" }, t("seats", { seated: row.seated, needed: row.needed })),
      row.seconds_left === null || row.seconds_left === undefined ? null : el("span", { class: "quiet number" }, t("time.left", { n: Math.ceil(row.seconds_left) })),
      row.verdict ? el("strong", {}, word("verdict", row.verdict)) : null,
      row.winner ? el("strong", {}, t("row.winner", { name: "" }), " ", agentLink(row.winner)) : null,
      row.names.map((one) => agentLink(one))));
}

/** A run of an experiment: its residents stand on its page. */
export const runRow = (row) => gameRow({ ...row, names: [], needed: 0 });

/** A name as the way to its agent; house bots are marked. */
export function agentLink({ id, name, kind }) {
  return el("span", {}, el("a", { href: `/agents/${encodeURIComponent(id)}` }, named(name)), kind === "house" ? [" ", el("span", { class: "tag plain" }, t("house"))] : null);
}

/** Games as lists show them: what they were about, who played, who won, how long the phase still has. */

import { el, named } from "./dom.js";
import { clock, t, word } from "./language.js";

/** A running game of which nothing was heard for so long behind its deadline is not called live. */
export const STALLED_MS = 20_000;

/** The time that is left of a row that came just now. */
export function withDue(row) {
  return typeof row.seconds_left === "number" ? { ...row, due: Date.now() + row.seconds_left * 1000 } : row;
}

function timeLeft(due) {
  return due + STALLED_MS < Date.now() ? t("stalled") : t("time.left", { n: Math.max(0, Math.ceil((due - Date.now()) / 1000)) });
}

/** Have the rows of a list say the time that is left by now. */
export function tick(list) {
  for (const one of list.querySelectorAll("[data-due]")) one.textContent = timeLeft(Number(one.dataset.due));
}

/** A line of a list; `row` is one of `GET /games/rows`. */
export function gameRow(row) {
  const link = el("a", { href: `/watch/${row.game_id}`, "data-focus": row.game_id },
    el("strong", {}, word("game", row.gameType)), row.about ? [" ", named(row.about)] : null);
  return el("li", {},
    el("div", { class: "row apart" }, link, el("span", { class: "quiet small" }, row.created_at ? clock(row.ended_at ?? row.created_at) : "")),
    el("div", { class: "row small" },
      el("span", { class: `tag${row.over ? " plain" : ""}` }, word("phase", row.phase)),
      row.over || row.needed < 2 ? null : el("span", { class: "quiet" }, t("seats", { seated: row.seated, needed: row.needed })),
      row.due ? el("span", { class: "quiet number", "data-due": row.due }, timeLeft(row.due)) : null,
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

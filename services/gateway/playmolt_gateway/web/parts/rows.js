/** Rows of game lists: topic, players, winner, time left. */

import { el, named } from "./dom.js";
import { clock, t, word } from "./language.js";

/** A running game is stalled when nothing was received for this long after its deadline. */
export const STALLED_MS = 20_000;
/** The same for a game without a deadline. */
export const QUIET_MS = 600_000;

/** Adds the deadline to a row just received; one that has passed is as long ago as the last event. */
export function withDue(row) {
  if (row.over || typeof row.seconds_left !== "number") return row;
  return { ...row, due: Date.now() + (row.seconds_left || -row.quiet_seconds || 0) * 1000 };
}

/** How long a running game has been quiet, if that is long; "" otherwise. */
function quietSince(row) {
  const quiet = row.over || row.phase === "waiting" || !(row.quiet_seconds * 1000 > QUIET_MS);
  return quiet ? "" : t("stalled.since", { n: Math.floor(row.quiet_seconds / 60) });
}

function timeLeft(due) {
  return due + STALLED_MS < Date.now() ? t("stalled") : t("time.left", { n: Math.max(0, Math.ceil((due - Date.now()) / 1000)) });
}

/** Update the time left in all rows. */
export function tick(list) {
  for (const one of list.querySelectorAll("[data-due]")) one.textContent = timeLeft(Number(one.dataset.due));
}

/** A list item for a row of `GET /games/rows`. */
export function gameRow(row) {
  const link = el("a", { href: `/watch/${row.game_id}`, "data-focus": row.game_id },
    el("strong", {}, word("game", row.gameType)), row.about ? [" ", named(row.about, row.language)] : null);
  return el("li", {},
    el("div", { class: "row apart" }, link, el("span", { class: "quiet small" }, row.created_at ? clock(row.ended_at ?? row.created_at) : "")),
    el("div", { class: "row small" },
      el("span", { class: `tag${row.over ? " plain" : ""}` }, word("phase", row.phase)),
      row.pace === "slow" ? el("span", { class: "tag plain" }, t("row.slow")) : null,
      row.language ? el("span", { class: "quiet" }, word("language", row.language)) : null,
      row.over || row.needed < 2 ? null : el("span", { class: "quiet" }, t("seats", { seated: row.seated, needed: row.needed })),
      quietSince(row) ? el("span", { class: "quiet" }, quietSince(row))
        : row.due ? el("span", { class: "quiet number", "data-due": row.due }, timeLeft(row.due)) : null,
      row.verdict ? el("strong", {}, word("verdict", row.verdict)) : null,
      row.winners.length ? el("strong", {}, winners(row.winners)) : null,
      row.names.map((one) => agentLink(one))));
}

function winners(first) {
  return [first.length > 1 ? t("row.winners") : t("row.winner", { name: "" }), first.map((one) => [" ", agentLink(one)])];
}

/** A run of an experiment, without its residents. */
export const runRow = (row) => gameRow({ ...row, names: [], winners: [], needed: 0 });

/** A name linked to its agent; people and house bots are marked. */
export function agentLink({ id, name, kind }) {
  return el("span", {}, el("a", { href: `/agents/${encodeURIComponent(id)}` }, named(name)), kindTag(kind));
}

/** The mark of a person or a house bot after its name; null for other bots. */
export function kindTag(kind) {
  return ["house", "person"].includes(kind) ? [" ", el("span", { class: "tag plain" }, t(kind))] : null;
}

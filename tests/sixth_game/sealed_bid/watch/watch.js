/** An auction as it is watched: closed envelopes, then bars as high as the bids. */

import { el, table } from "../../parts/dom.js";
import { t, word } from "../../parts/language.js";

export const game = { scene, seats, secrets: null, reader: "anonymous" };

function seats(state) {
  return state.participants.map((seat) => [seat.id, seat.name]);
}

function scene(state) {
  const { submitted, total } = state.phase_submissions;
  return [el("section", { class: "card", id: "auction" },
    el("span", { class: "tag" }, word("phase", state.phase)),
    el("h2", {}, state.results ? t("auction.opened") : t("auction.sealed", { submitted, total }))),
  state.results ? el("section", { class: "card" }, table(t("auction.opened"),
    [t("agent"), { number: t("auction.amount") }, { number: t("points") }],
    state.results.map((row) => [row.name, { number: row.amount }, { number: row.points }]))) : null];
}

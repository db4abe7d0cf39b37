/** An auction as it is watched: closed envelopes, then bars as high as the bids. */

import { el, table } from "../../parts/dom.js";
import { t, word } from "../../parts/language.js";
import { seatLine } from "../../watch/seats.js";

export const game = { scene, line, seats, secrets: null, reader: "nobody" };

function seats(state) {
  return state.participants.map((seat) => [seat.id, seat.name]);
}

function line(event) {
  switch (event.type) {
    case "game_started": return t("auction.started");
    case "bid_made": return t("auction.bid", { name: event.name });
    case "game_end": return t("auction.end", { name: event.results[0].name, price: event.price });
    default: return seatLine(event);
  }
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

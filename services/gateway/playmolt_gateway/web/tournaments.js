/** `/tournaments`: the tournaments that are open, running and over. */

import { get } from "./parts/api.js";
import { el, fill, named } from "./parts/dom.js";
import { page, trouble } from "./parts/frame.js";
import { clock, t, word } from "./parts/language.js";

const REFRESH_MS = 15_000;
const PARTS = [["running", ["running"]], ["open", ["open"]], ["over", ["ended", "aborted"]]];

page(() => t("head.tournaments"), draw);

async function draw(main) {
  const lists = PARTS.map(([part]) => [part, el("ul", { class: "games rows" })]);
  const place = el("div", {});
  const more = el("div", { class: "row end" });
  main.append(
    el("h1", {}, t("head.tournaments")), el("p", { class: "lead" }, t("tournaments.lead")), place,
    ...lists.map(([part, list]) => el("section", { class: "card", "aria-labelledby": part }, el("h2", { id: part }, t(`tournaments.${part}`)), list, part === "over" ? more : null)));
  const cursor = new URLSearchParams(location.search).get("cursor");
  const refresh = async () => {
    try {
      const asked = new URLSearchParams({ limit: "50", ...(cursor ? { cursor } : {}) });
      const { tournaments, next_cursor: next } = await get(`/api/tournaments?${asked}`, { as: "anonymous" });
      for (const [at, [, list]] of lists.entries()) {
        const rows = tournaments.filter(({ state }) => PARTS[at][1].includes(state));
        fill(list, rows.length ? rows.map(row) : el("li", { class: "quiet" }, t("tournaments.none")));
      }
      fill(place);
      fill(more, next ? el("a", { class: "button", href: `/tournaments?cursor=${encodeURIComponent(next)}` }, t("tournaments.more")) : null);
    } catch (error) {
      fill(place, trouble(error));
    }
  };
  await refresh();
  const timer = setInterval(() => document.hidden || refresh(), REFRESH_MS);
  return () => clearInterval(timer);
}

function row(one) {
  const link = el("a", { href: `/tournaments/${one.id}`, "data-focus": one.id }, named(one.name));
  const joinable = one.state === "open" || (one.state === "running" && one.format === "arena");
  const seats = one.max_entrants && joinable ? t("tournament.entrants_of", { n: one.entrants, most: one.max_entrants }) : t("tournament.entrants_n", { n: one.entrants });
  return el("li", {},
    el("div", { class: "row apart" }, link, el("span", { class: "quiet small" }, one.starts_at ? clock(one.starts_at) : clock(one.created_at))),
    el("div", { class: "row small" },
      el("span", { class: `tag${one.state === "running" ? " live" : " plain"}` }, word("tournament.state", one.state)),
      el("span", {}, word("game", one.game_type)), el("span", {}, word("tournament.format", one.format)),
      one.format === "season" ? null : el("span", { class: "quiet" }, seats),
      one.round && one.rounds_planned ? el("span", { class: "quiet" }, t("tournament.round_of", { n: one.round, most: one.rounds_planned })) : null));
}

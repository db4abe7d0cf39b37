/** `/games`: search of finished games; the URL holds the query. */

import { get } from "./parts/api.js";
import { el, field, fill, select } from "./parts/dom.js";
import { page, trouble } from "./parts/frame.js";
import { GAMES } from "./games.js";
import { t, word } from "./parts/language.js";
import { gameRow } from "./parts/rows.js";

const PAGE = 25;
const NAMES = ["gameType", "agent", "q", "winner", "from", "to", "cursor"];
const bots = GAMES.filter(({ kind }) => kind === "game");

page(() => t("archive.title"), draw);

async function draw(main) {
  const said = new URLSearchParams(location.search);
  const list = el("ul", { class: "games rows" });
  const more = el("div", { class: "row end" });
  const controls = {
    q: el("input", { type: "search", maxlength: 80, name: "q", value: said.get("q") ?? "" }),
    gameType: select([["", t("all_games")], ...bots.map(({ type }) => [type, word("game", type)])], said.get("gameType") ?? "", { name: "gameType" }),
    winner: el("input", { type: "text", maxlength: 64, name: "winner", value: said.get("winner") ?? "" }),
    agent: el("input", { type: "text", maxlength: 64, name: "agent", value: said.get("agent") ?? "" }),
    from: el("input", { type: "date", name: "from", value: (said.get("from") ?? "").slice(0, 10) }),
    to: el("input", { type: "date", name: "to", value: (said.get("to") ?? "").slice(0, 10) }),
  };
  const form = el("form", { class: "card search", role: "search", action: "/games" },
    el("div", { class: "thirds" },
      field(t("archive.q"), controls.q), field(t("archive.type"), controls.gameType), field(t("archive.winner"), controls.winner),
      field(t("archive.agent"), controls.agent), field(t("archive.from"), controls.from), field(t("archive.to"), controls.to)),
    el("div", { class: "row end" }, el("button", { type: "submit", class: "first" }, t("archive.search"))));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const kept = new URLSearchParams();
    for (const [name, control] of Object.entries(controls)) if (control.value.trim()) kept.set(name, timeOf(name, control.value.trim()));
    location.assign(`/games?${kept}`);
  });
  main.append(el("h1", {}, t("archive.title")), form, el("section", { class: "card", "aria-label": t("archive.title") }, list, more));
  await load(said, list, more);
}

/** The first instant of a day, or its last for the end of a range. */
function timeOf(name, text) {
  if (name === "from") return `${text}T00:00:00Z`;
  return name === "to" ? `${text}T23:59:59.999999Z` : text;
}

async function load(said, list, more) {
  const asked = new URLSearchParams({ limit: PAGE, over: true });
  for (const name of NAMES) if (said.get(name)) asked.set(name, /^\d{4}-\d\d-\d\d$/.test(said.get(name)) ? timeOf(name, said.get(name)) : said.get(name));
  try {
    const { rows, next_cursor: next } = await get(`/games/rows?${asked}`, { as: "anonymous" });
    fill(list, rows.length ? rows.map(gameRow) : el("li", { class: "quiet" }, t("archive.none")));
    if (!next) return;
    const on = new URLSearchParams(said);
    on.set("cursor", next);
    fill(more, el("a", { class: "button", href: `/games?${on}` }, t("archive.more")));
  } catch (error) {
    fill(list, el("li", {}, trouble(error)));
  }
}

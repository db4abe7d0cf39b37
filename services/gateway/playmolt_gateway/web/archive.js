/** `/games`: search of finished games; the URL holds the query. */

import { get } from "./parts/api.js";
import { el, field, fill, select } from "./parts/dom.js";
import { page, trouble } from "./parts/frame.js";
import { GAMES } from "./games.js";
import { t, word } from "./parts/language.js";
import { gameRow } from "./parts/rows.js";

const PAGE = 25;
const DAY = /^\d{4}-\d\d-\d\d$/;
const NAMES = ["gameType", "agent", "tournament", "q", "winner", "from", "to", "cursor"];
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
    from: el("input", { type: "date", name: "from", value: dayOf(said.get("from")) }),
    to: el("input", { type: "date", name: "to", value: dayOf(said.get("to")) }),
  };
  const within = said.get("tournament");
  const form = el("form", { class: "card search", role: "search", action: "/games" },
    el("div", { class: "thirds" },
      field(t("archive.q"), controls.q), field(t("archive.type"), controls.gameType), field(t("archive.winner"), controls.winner),
      field(t("archive.agent"), controls.agent), field(t("archive.from"), controls.from), field(t("archive.to"), controls.to)),
    el("div", { class: "row end" }, el("button", { type: "submit", class: "first" }, t("archive.search"))));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const kept = new URLSearchParams(within ? { tournament: within } : {});
    for (const [name, control] of Object.entries(controls)) if (control.value.trim()) kept.set(name, timeOf(name, control.value.trim()));
    location.assign(`/games?${kept}`);
  });
  main.append(
    el("h1", {}, t("archive.title")),
    ...(within ? [el("p", {}, el("a", { href: `/tournaments/${encodeURIComponent(within)}` }, t("archive.tournament")))] : []),
    form, el("section", { class: "card", "aria-label": t("archive.title") }, list, more));
  await load(said, list, more);
}

/** The first instant of the reader's day, or its last for the end of a range. Times of records have microseconds. */
function timeOf(name, text) {
  if (!["from", "to"].includes(name) || !DAY.test(text)) return text;
  const [year, month, day] = text.split("-").map(Number);
  if (name === "from") return new Date(year, month - 1, day).toISOString();
  return new Date(new Date(year, month - 1, day + 1) - 1).toISOString().replace("Z", "999Z");
}

/** The reader's day of a time in the address, as a field of dates has it. */
function dayOf(text) {
  const at = new Date(text ?? "");
  if (DAY.test(text) || Number.isNaN(at.getTime())) return DAY.test(text) ? text : "";
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((one) => String(one).padStart(2, "0")).join("-");
}

async function load(said, list, more) {
  const asked = new URLSearchParams({ limit: PAGE, over: true });
  for (const name of NAMES) if (said.get(name)) asked.set(name, timeOf(name, said.get(name)));
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

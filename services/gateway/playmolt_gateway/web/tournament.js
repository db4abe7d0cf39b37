/** `/tournaments/{id}`: one tournament: its standings as they move, its running games, and what it waits for. */

import { get, inOrder } from "./parts/api.js";
import { el, fill, filler, named, table } from "./parts/dom.js";
import { watchTournament } from "./parts/feed.js";
import { page, trouble } from "./parts/frame.js";
import { clock, t, word } from "./parts/language.js";
import { kindTag } from "./parts/rows.js";

const READ_MS = 700;
const TICK_MS = 1000;
const SHOWN = 100;
const GAMES_SHOWN = 60;
const DAY = 86_400;
const id = decodeURIComponent(location.pathname.split("/").pop());
const address = `/api/tournaments/${encodeURIComponent(id)}`;

page(() => null, draw);

async function draw(main) {
  let view;
  try {
    view = await get(address, { as: "anonymous" });
  } catch (error) {
    main.append(el("h1", {}, t("head.tournament")), trouble(error));
    return undefined;
  }
  const feed = el("span", { class: "tag plain", role: "status" });
  const facts = el("div", { class: "row" });
  const timer = el("p", { class: "lead number", role: "timer" });
  const [standings, games, rounds] = ["div", "ul", "ul"].map((tag) => el(tag, tag === "ul" ? { class: "games rows" } : {}));
  main.append(
    el("div", { class: "row apart" }, el("h1", {}, named(view.name)), feed), facts, timer,
    el("div", { class: "two" },
      el("section", { class: "card", "aria-labelledby": "standings" }, el("h2", { id: "standings" }, t("tournament.standings")), standings),
      el("div", { class: "stack" },
        el("section", { class: "card", "aria-labelledby": "now" }, el("h2", { id: "now" }, t("tournament.now")), games),
        el("section", { class: "card", "aria-labelledby": "rounds" }, el("h2", { id: "rounds" }, t("tournament.rounds")), rounds))));
  const [fillFacts, fillStandings, fillGames, fillRounds] = [facts, standings, games, rounds].map(filler);
  let before = new Map();
  let whole = false;
  const count = () => { timer.textContent = countdown(view); };
  const show = () => {
    count();
    fillFacts([view.state, view.round, view.entrants.length, view.reason], () => summary(view));
    fillStandings([view.standings, whole], () => board(view, before, whole, () => { whole = true; show(); }));
    fillGames(view.rounds.map((round) => round.games), () => running(view));
    fillRounds(view.rounds.map(({ state, games: held }) => [state, held.length]), () => roundRows(view));
    before = new Map(view.standings.map((row) => [row.id, row.rank]));
  };
  show();
  const begin = inOrder();
  const refresh = async () => {
    const newest = begin();
    const read = await get(address, { as: "anonymous", patient: false }).catch(() => null);
    if (!read || !newest()) return;
    view = read;
    show();
  };
  let reading = null;
  const stop = watchTournament(id, view.version, () => {
    reading ??= setTimeout(() => { reading = null; refresh(); }, READ_MS);
  }, (how) => {
    const texts = { live: t("live"), away: t("reconnecting") };
    feed.textContent = texts[how] ?? "";
    feed.className = how === "live" ? "tag live" : "tag plain";
    if (how === "ended") refresh();
  });
  const ticking = setInterval(count, TICK_MS);
  return () => {
    clearInterval(ticking);
    clearTimeout(reading);
    stop();
  };
}

function summary(view) {
  const planned = view.rounds_planned;
  return [
    el("span", { class: `tag${view.state === "running" ? " live" : " plain"}` }, word("tournament.state", view.state)),
    el("span", {}, word("game", view.game_type)), el("span", {}, word("tournament.format", view.format)),
    el("span", { class: "quiet" }, t("tournament.entrants_n", { n: view.entrants.filter(({ state }) => state !== "left").length })),
    view.round ? el("span", { class: "quiet" }, planned ? t("tournament.round_of", { n: view.round, most: planned }) : t("tournament.round_n", { n: view.round })) : null,
    view.rated ? null : el("span", { class: "tag plain" }, t("tournament.unrated")),
    view.reason ? el("span", { class: "quiet" }, t("tournament.reason", { reason: view.reason })) : null];
}

/** What the tournament waits for, with the time that is left. */
function countdown(view) {
  const due = view.state === "open" ? view.starts_at : view.state === "running" ? view.ends_at : null;
  if (view.state === "open" && !due) return t("tournament.when_full", { n: view.max_entrants ?? "" });
  if (!due) return view.ended_at ? t("tournament.ended_at", { at: clock(view.ended_at) }) : "";
  const left = Math.max(0, Math.round((new Date(due) - Date.now()) / 1000));
  return t(view.state === "open" ? "tournament.starts_in" : "tournament.ends_in", { time: spelt(left) });
}

function spelt(seconds) {
  const two = (n) => String(n).padStart(2, "0");
  const days = Math.floor(seconds / DAY);
  const clockTime = `${two(Math.floor((seconds % DAY) / 3600))}:${two(Math.floor((seconds % 3600) / 60))}:${two(seconds % 60)}`;
  return days ? `${t("tournament.days", { n: days })} ${clockTime}` : clockTime;
}

/** The standings; a row whose rank changed since the last drawing says by how much. */
function board(view, before, whole, all) {
  if (!view.standings.length) return el("p", { class: "quiet" }, t("tournament.no_standings"));
  const swiss = view.format === "swiss";
  const shown = whole ? view.standings : view.standings.slice(0, SHOWN);
  const heads = [{ number: "#" }, t("tournament.agent"), { number: t("tournament.points") }, { number: t("tournament.wins") }, swiss && { number: t("tournament.buchholz") }, { number: t("tournament.games") }].filter(Boolean);
  const kinds = new Map(view.entrants.map(({ id: agent, kind }) => [agent, kind]));
  const rows = shown.map((row) => [
    row.rank, el("span", {}, el("a", { href: `/agents/${encodeURIComponent(row.id)}`, "data-focus": row.id }, named(row.name)), kindTag(kinds.get(row.id)), " ", moved(row, before), row.owner?.name ? [" ", el("span", { class: "quiet small" }, named(row.owner.name))] : null),
    { number: row.points }, { number: row.wins }, swiss && { number: row.buchholz }, { number: row.games }].filter((cell) => cell !== false));
  return [table(t("tournament.standings"), heads, rows, { hidden: true }),
    shown.length < view.standings.length ? el("button", { type: "button", onclick: all }, t("tournament.all", { n: view.standings.length })) : null];
}

function moved({ id: agent, rank }, before) {
  const by = (before.get(agent) ?? rank) - rank;
  if (!by) return null;
  const said = t(by > 0 ? "tournament.up" : "tournament.down", { n: Math.abs(by) });
  return el("span", { class: "quiet small", title: said }, el("span", { "aria-hidden": "true" }, `${by > 0 ? "▲" : "▼"}${Math.abs(by)}`), el("span", { class: "unseen" }, said));
}

function running(view) {
  const held = view.rounds.flatMap((round) => round.games.filter(({ phase }) => phase === "playing").map((game) => ({ ...game, round: round.round })));
  if (!held.length) return el("li", { class: "quiet" }, t("tournament.no_games"));
  const names = new Map(view.entrants.map((one) => [one.id, one]));
  const rows = held.slice(0, GAMES_SHOWN).map((game, at) => el("li", {},
    el("a", { href: `/watch/${game.game_id}`, "data-focus": game.game_id }, t("tournament.table", { round: game.round, n: at + 1 })), " ",
    el("span", { class: "small" }, game.seats.map((seat, place) => [place ? ", " : "", seatName(names.get(seat.id))]))));
  const rest = held.length - rows.length;
  return rest > 0 ? [...rows, el("li", { class: "quiet" }, t("tournament.more_games", { n: rest }))] : rows;
}

const seatName = (entrant) => (entrant ? [named(entrant.name), kindTag(entrant.kind)] : t("house"));

function roundRows(view) {
  if (!view.rounds.length) return el("li", { class: "quiet" }, t("tournament.no_rounds"));
  return [...view.rounds].reverse().map(({ round, state, games }) => el("li", { class: "row" },
    el("strong", {}, t("tournament.round_n", { n: round })),
    el("span", { class: "tag plain" }, word("tournament.round", state)),
    el("span", { class: "quiet" }, t("tournament.over_of", { n: games.filter(({ phase }) => ["end", "aborted"].includes(phase)).length, most: games.length }))));
}

/** `/tournaments/{id}`: one tournament: its standings as they move, its running games, and what it waits for. */

import { get, inOrder } from "./parts/api.js";
import { el, fill, filler, named, select, table } from "./parts/dom.js";
import { watchModeration, watchTournament } from "./parts/feed.js";
import { page, trouble } from "./parts/frame.js";
import { clock, t, word } from "./parts/language.js";
import { reportButton } from "./parts/report.js";
import { kindTag } from "./parts/rows.js";

const READ_MS = 700;
const TICK_MS = 1000;
const SHOWN = 50;
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
  const title = el("h1", {}, named(view.name));
  const ended = el("p", {}, el("a", { href: `/games?tournament=${encodeURIComponent(id)}` }, t("tournament.over_games")));
  main.append(
    el("div", { class: "row apart" }, title, feed), facts, timer,
    el("div", { class: "two" },
      el("section", { class: "card", "aria-labelledby": "standings" }, el("h2", { id: "standings" }, t("tournament.standings")), standings),
      el("div", { class: "stack" },
        el("section", { class: "card", "aria-labelledby": "now" }, el("h2", { id: "now" }, t("tournament.now")), games),
        el("section", { class: "card", "aria-labelledby": "rounds" }, el("h2", { id: "rounds" }, t("tournament.rounds")), rounds, ended),
        reportButton(() => reported(view)))));
  const [fillFacts, fillRounds] = [facts, rounds].map(filler);
  const [board, running] = [new Board(standings), new Games(games)];
  const count = () => { timer.textContent = countdown(view); };
  const show = () => {
    count();
    fillFacts([view.state, view.round, view.entrants.length, view.reason], () => summary(view));
    board.show(view);
    running.show(view);
    ended.hidden = !view.rounds.some(over);
    fillRounds(view.rounds.map((round) => [round.state, over(round), round.games.length]), () => roundRows(view));
  };
  show();
  const begin = inOrder();
  const refresh = async () => {
    const newest = begin();
    const read = await get(address, { as: "anonymous", patient: false }).catch(() => null);
    if (!read || !newest()) return;
    if (read.name !== view.name) fill(title, named(read.name));
    view = read;
    show();
  };
  // What the operator hides, renames or restores is no event of the tournament.
  const moderated = ({ detail }) => {
    if (!detail.game_id || detail.game_id === id) refresh();
  };
  addEventListener("moderated", moderated);
  let notices = ["ended", "aborted"].includes(view.state) ? watchModeration() : null;
  let reading = null;
  const stop = watchTournament(id, view.version, () => {
    reading ??= setTimeout(() => { reading = null; refresh(); }, READ_MS);
  }, (how) => {
    const texts = { live: t("live"), away: t("reconnecting") };
    feed.textContent = texts[how] ?? "";
    feed.className = how === "live" ? "tag live" : "tag plain";
    if (how === "live" || how === "ended") refresh(); // notices are missed before the feed begins and while it is away
    if (how === "ended") {
      notices ??= watchModeration();
    }
  });
  const ticking = setInterval(count, TICK_MS);
  return () => {
    clearInterval(ticking);
    clearTimeout(reading);
    removeEventListener("moderated", moderated);
    notices?.();
    stop();
  };
}

/** What may be reported: its name, then those of its entrants. */
function reported(view) {
  const entrants = view.standings.length ? view.standings : view.entrants;
  return [[t("reporting.name", { name: view.name }), { kind: "name", game_id: id }],
    ...entrants.slice(0, SHOWN).map((one) => [t("reporting.name", { name: one.name }), { kind: "name", agent_id: one.id }])];
}

function summary(view) {
  const planned = view.rounds_planned;
  return [
    el("span", { class: `tag${view.state === "running" ? " live" : " plain"}` }, word("tournament.state", view.state)),
    el("span", {}, word("game", view.game_type)), el("span", {}, word("tournament.format", view.format)),
    view.format === "season" ? null : el("span", { class: "quiet" }, t("tournament.entrants_n", { n: view.entrants.filter(({ state }) => state !== "left").length })),
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

/**
 * The standings, some places at a time. Rows are changed and moved in place: with 50 results a second, laying out those of
 * 500 entrants would hold the page up. A row whose rank changed since the last drawing says by how much.
 */
class Board {
  constructor(node) {
    this.node = node;
    node.className = "board standings"; // its columns have fixed widths, so that a changed number moves nothing
    this.from = 0;
    this.rows = new Map();
    this.before = new Map();
  }

  show(view) {
    this.view = view;
    if (!view.standings.length) {
      fill(this.node, el("p", { class: "quiet" }, t("tournament.no_standings")));
      return;
    }
    if (!this.body) this.#begin(view);
    this.#listPlaces(view.standings.length);
    let place = this.body.firstElementChild;
    for (const line of view.standings.slice(this.from, this.from + SHOWN)) {
      const row = this.#row(line, view);
      if (row === place) place = place.nextElementSibling;
      else moveBefore(this.body, row, place);
    }
    while (place) place = dropped(place);
    this.before = new Map(view.standings.map(({ id: agent, rank }) => [agent, rank]));
  }

  /** The choice of places to show; entrants may join while it is open. */
  #listPlaces(count) {
    this.places.hidden = count <= SHOWN;
    for (let from = this.choice.length * SHOWN; from < count; from += SHOWN) {
      this.choice.append(el("option", { value: String(from) }, `${from + 1}–${from + SHOWN}`));
    }
  }

  #begin(view) {
    this.swiss = view.format === "swiss";
    this.kinds = new Map();
    const numbers = ["points", "wins", this.swiss && "buchholz", "games"].filter(Boolean);
    this.columns = ["rank", ...numbers];
    const whole = table(t("tournament.standings"), ["#", t("tournament.agent"), ...numbers.map((name) => ({ number: t(`tournament.${name}`) }))], [], { hidden: true });
    this.body = whole.querySelector("tbody");
    this.choice = select([], null, { id: "places" });
    this.choice.addEventListener("change", () => {
      this.from = Number(this.choice.value);
      this.before = new Map();
      this.show(this.view);
    });
    this.places = el("div", { class: "row" }, el("label", { for: "places" }, t("tournament.places")), this.choice);
    fill(this.node, whole, this.places);
  }

  #row(line, view) {
    let row = this.rows.get(line.id);
    if (!row) {
      if (!this.kinds.has(line.id)) this.kinds = new Map(view.entrants.map(({ id: agent, kind }) => [agent, kind]));
      const cells = new Map(this.columns.map((name) => [name, el(name === "rank" ? "th" : "td", name === "rank" ? { scope: "row", class: "short" } : { class: "number" })]));
      const mark = el("span");
      const [first, ...rest] = cells.values();
      const node = el("tr", {}, first, el("td", {},
        el("span", {}, el("a", { href: `/agents/${encodeURIComponent(line.id)}` }, named(line.name)), kindTag(this.kinds.get(line.id)), " ", mark, line.owner?.name ? [" ", el("span", { class: "quiet small" }, named(line.owner.name))] : null)), rest);
      row = { node, cells, mark, by: 0 };
      this.rows.set(line.id, row);
    }
    for (const [name, cell] of row.cells) {
      const text = String(line[name]);
      if (cell.textContent !== text) cell.textContent = text;
    }
    const by = (this.before.get(line.id) ?? line.rank) - line.rank;
    if (by !== row.by) fill(row.mark, moved(by));
    row.by = by;
    return row.node;
  }
}

/** Move a node, which keeps the focus. */
function moveBefore(parent, node, place) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  parent.insertBefore(node, place);
  focused?.focus({ preventScroll: true });
}

function moved(by) {
  if (!by) return null;
  const said = t(by > 0 ? "tournament.up" : "tournament.down", { n: Math.abs(by) });
  return el("span", { class: "quiet small", title: said }, el("span", { "aria-hidden": "true" }, `${by > 0 ? "▲" : "▼"}${Math.abs(by)}`), el("span", { class: "unseen" }, said));
}

/** The running games; what is listed already stays as it is. */
class Games {
  constructor(node) {
    this.node = node;
    this.rows = new Map();
  }

  show(view) {
    const held = view.rounds.flatMap(({ round, games }) => games.map((game, at) => ({ ...game, round, n: at + 1 }))).filter(({ phase }) => phase === "playing");
    const names = new Map(view.entrants.map((one) => [one.id, one]));
    const shown = held.slice(0, GAMES_SHOWN);
    const rows = new Map(shown.map((game) => [game.game_id, this.rows.get(game.game_id) ?? gameRow(game, names)]));
    this.rows = rows;
    const rest = held.length - shown.length;
    const last = !held.length ? t("tournament.no_games") : rest ? t("tournament.more_games", { n: rest }) : "";
    const kept = new Set(rows.values());
    let place = this.node.firstElementChild;
    for (const row of kept) {
      while (place && !kept.has(place)) place = dropped(place);
      if (row === place) place = place.nextElementSibling;
      else moveBefore(this.node, row, place);
    }
    while (place) place = dropped(place);
    if (last) this.node.append(el("li", { class: "quiet" }, last));
  }
}

function dropped(node) {
  const next = node.nextElementSibling;
  node.remove();
  return next;
}

function gameRow(game, names) {
  return el("li", {},
    el("a", { href: `/watch/${game.game_id}` }, t("tournament.table", { round: game.round, n: game.n })), " ",
    el("span", { class: "small" }, game.seats.map((seat, place) => [place ? ", " : "", seatName(names.get(seat.id))])));
}

const seatName = (entrant) => (entrant ? [named(entrant.name), kindTag(entrant.kind)] : t("house"));

const over = ({ games }) => games.filter(({ phase }) => ["end", "aborted"].includes(phase)).length;

function roundRows(view) {
  if (!view.rounds.length) return el("li", { class: "quiet" }, t("tournament.no_rounds"));
  return [...view.rounds].reverse().map(({ round, state, games }) => el("li", { class: "row" },
    el("strong", {}, t("tournament.round_n", { n: round })),
    el("span", { class: "tag plain" }, word("tournament.round", state)),
    el("span", { class: "quiet" }, t("tournament.over_of", { n: over({ games }), most: games.length }))));
}

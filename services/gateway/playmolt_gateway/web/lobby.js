/** `/`: a featured game, open and finished games, and the leaderboard. */

import { get, inOrder } from "./parts/api.js";
import { announce, el, fill, filler, named, select, table } from "./parts/dom.js";
import { watchLobby } from "./parts/feed.js";
import { page, trouble } from "./parts/frame.js";
import { GAMES } from "./games.js";
import { clock as moment, t, word } from "./parts/language.js";
import { Picture } from "./parts/picture.js";
import { agentLink, gameRow, runRow, tick, withDue } from "./parts/rows.js";

const SHOWN = 12;
/** The page's head preloads this URL (pages/shell.py). */
const LISTED = 24;
const BOARD = 20;
/** The kinds of `/api/leaderboard`, its default first. */
const WHO = ["bot", "person", "house", "all"];
/** Leaderboards over all rated games, and the kinds that each shows at first. */
const SCORES = new Map([["overall", "bot"], ["model", "all"]]);
const REFRESH_MS = 8000;
const LIST_MS = 1500;
const TICK_MS = 1000;
const bots = GAMES.filter(({ kind }) => kind === "game");
/** The choice of a leaderboard by rating begins with this, and its game type follows. */
const RATING = "rating:";

page(() => "PlayMolt", draw);

async function draw(main) {
  const open = new Map();
  const rowsById = new Map();
  const now = el("ul", { class: "games rows" });
  const state = el("span", { class: "tag plain", role: "status" });
  const ended = el("ul", { class: "games rows" });
  const board = el("div", { class: "board" });
  const runs = el("ul", { class: "games rows" });
  const kind = select([["", t("all_games")], ...bots.map(({ type }) => [type, word("game", type)]),
    ...bots.map(({ type }) => [RATING + type, t("leaderboard.rating", { game: word("game", type) })]),
    ...[...SCORES.keys()].map((by) => [by, t(`leaderboard.${by}`)])], "",
    { "aria-label": t("leaderboard.of") });
  const who = select(WHO.map((kind) => [kind, t(`leaderboard.${kind}`)]), WHO[0], { "aria-label": t("leaderboard.who") });
  const runsCard = el("section", { class: "card", hidden: true, "aria-labelledby": "runs" },
    el("h2", { id: "runs" }, t("runs")), runs);
  const featured = new Featured();

  main.append(
    el("div", { class: "tight" }, el("h1", {}, t("lobby.title")), el("p", { class: "lead" }, t("lobby.lead")), ways()),
    el("div", { class: "two" },
      el("div", { class: "stack" },
        featured.node,
        el("section", { class: "card", "aria-labelledby": "now" },
          el("div", { class: "row apart" }, el("h2", { id: "now" }, t("lobby.now")), state), now),
        el("section", { class: "card kept", "aria-labelledby": "ended" }, el("h2", { id: "ended" }, t("lobby.ended")), ended,
          el("p", {}, el("a", { href: "/games" }, t("archive.more")))),
        runsCard),
      el("div", { class: "stack" },
        el("section", { class: "card kept", "aria-labelledby": "board" },
          el("div", { class: "row apart" }, el("h2", { id: "board" }, t("leaderboard")), el("div", { class: "row" }, who, kind)), board),
        invitation())));

  const [fillNow, fillEnded, fillBoard, fillRuns] = [now, ended, board, runs].map(filler);
  const drawNow = () => {
    const games = [...open.values()].sort((a, b) => (a.game_id < b.game_id ? 1 : -1)).map((game) => openRow(game, rowsById.get(game.game_id)));
    fillNow(games, () => (games.length ? games.map(gameRow) : el("li", { class: "quiet" }, t("lobby.quiet"))));
  };
  const begin = inOrder();
  const refresh = async () => {
    const newest = begin();
    // Request everything at once and show each part as it arrives.
    const scored = SCORES.has(kind.value);
    const rated = kind.value.startsWith(RATING);
    const asked = scored ? scores(kind.value, who.value)
      : rated ? ratings(kind.value.slice(RATING.length), who.value) : leaders(kind.value, who.value);
    const running = get("/games/rows?runs=true&limit=5", { as: "anonymous", patient: false }).catch(() => ({ rows: [] }));
    asked.catch(() => {});
    try {
      const { rows } = await get(`/games/rows?limit=${LISTED}`, { as: "anonymous" });
      if (!newest()) return;
      for (const row of rows) rowsById.set(row.game_id, withDue(row));
      const over = rows.filter((row) => row.over).slice(0, SHOWN);
      fillEnded(over, () => (over.length ? over.map(gameRow) : el("li", { class: "quiet" }, t("lobby.none"))));
      drawNow();
      const [ranks, held] = await Promise.all([asked, running]);
      if (!newest()) return;
      fillBoard(ranks, () => scored ? strengths(ranks) : rated ? ratingTable(ranks) : [ranks.lent && el("p", { class: "quiet" }, t("leaderboard.lent")), standings(ranks.leaderboard)]);
      runsCard.hidden = held.rows.length === 0;
      fillRuns(held, () => held.rows.map(runRow));
      await featured.show(rows.find((row) => !row.over && row.phase !== "waiting") ?? over[0] ?? rows[0]);
    } catch (error) {
      if (newest()) fillBoard(error.message, () => trouble(error));
    }
  };

  drawNow();
  kind.addEventListener("change", () => {
    if (SCORES.has(kind.value)) who.value = SCORES.get(kind.value);
  });
  for (const choice of [kind, who]) choice.addEventListener("change", refresh);
  await refresh();
  const timer = setInterval(refresh, REFRESH_MS);
  const clock = setInterval(() => tick(now), TICK_MS);
  let listed = Infinity;
  const stop = watchLobby((message) => {
    if (["game_waiting", "game_started"].includes(message.type)) open.set(message.game_id, message);
    else if (open.delete(message.game_id)) refresh();
    if (message.type === "game_started" && Date.now() > listed) announce(t("lobby.started", { game: word("game", message.gameType) }));
    drawNow();
  }, (how) => {
    // Keep the list until the feed reconnects and sends the current games.
    if (["away", "hidden"].includes(how)) open.clear();
    if (how === "hidden") return;
    // A feed begins with the current list, which is not news.
    if (how === "live") listed = Date.now() + LIST_MS;
    if (how === "live") drawNow();
    state.textContent = how === "live" ? t("live") : t("reconnecting");
    state.className = how === "live" ? "tag live" : "tag plain";
  });
  return () => {
    clearInterval(timer);
    clearInterval(clock);
    stop();
  };
}

/** The featured game: the newest running one, or the newest finished one. */
class Featured {
  constructor() {
    this.stage = el("div", { class: "stage" });
    this.about = el("p", { class: "row about-featured" });
    this.title = el("h2", { id: "featured" }, t("featured"));
    this.node = el("section", { class: "card", "aria-labelledby": "featured" }, this.title, this.stage, this.about);
  }

  async show(row) {
    const now = JSON.stringify([row?.game_id, row?.phase, row?.round, row?.over]);
    if (now === this.shown) return;
    this.shown = now;
    fill(this.title, t(row?.over ? "featured.over" : "featured"));
    if (!row) {
      fill(this.about, t("lobby.quiet"));
      return;
    }
    if (this.id !== row.game_id) {
      this.id = row.game_id;
      this.picture = new Picture(`/watch/${row.game_id}/picture.svg`);
      fill(this.stage, this.picture.node);
    }
    fill(this.about, el("a", { class: "button first", href: `/watch/${row.game_id}` }, t("way.watch")), named(row.about, row.language));
    await this.picture.newest().catch(() => {});
  }
}

/** A game of the feed, which reports its start but not its progress; data from a list is kept. */
function openRow(game, row) {
  const phase = game.type === "game_waiting" ? "waiting" : "running";
  const known = row && row.phase !== "waiting" && phase === "running" ? row.phase : phase;
  return { names: [], winners: [], about: "", ...row, ...game, phase: known, over: false, created_at: row?.created_at ?? game.at };
}

function ways() {
  return el("p", { class: "row" }, el("a", { class: "button", href: "/games" }, t("way.watch")),
    el("a", { class: "button", href: "/play/ox" }, t("way.play")), el("a", { class: "button", href: "/game" }, t("way.jury")), el("a", { class: "button", href: "#join" }, t("way.bot")));
}

/** The leaders of one or all games; house bots while no one else has points (`lent`). */
async function leaders(type, who) {
  const board = (of) => get(`/api/leaderboard?limit=${BOARD}&kind=${of}${type ? `&gameType=${type}` : ""}`, { as: "anonymous" });
  const asked = await board(who);
  if (who !== WHO[0] || asked.leaderboard.length) return asked;
  const house = await board("house");
  return { ...house, lent: house.leaderboard.length > 0 };
}

function standings(rows) {
  if (!rows.length) return el("p", { class: "quiet" }, t("leaderboard.empty"));
  const linked = links(rows);
  return table(t("leaderboard.caption"),
    [t("rank"), t("agent"), { number: t("points") }, { number: t("games") }],
    rows.map((row) => [row.rank, linked(row), { number: row.points }, { number: row.games }]), { hidden: true });
}

const percent = new Intl.NumberFormat(document.documentElement.lang, { style: "percent" });

/** The leaders by rating, and how often a role of the game wins (`share`). */
async function ratings(type, who) {
  const [board, { conviction_rate: share }] = await Promise.all([
    get(`/api/leaderboard?by=rating&gameType=${type}&limit=${BOARD}&kind=${who}`, { as: "anonymous" }),
    get(`/api/games/types/${type}`, { as: "anonymous" })]);
  return { ...board, share };
}

/** A leaderboard by rating: each agent in its best version. */
function ratingTable({ leaderboard: rows, share }) {
  if (!rows.length) return el("p", { class: "quiet" }, t("leaderboard.unrated"));
  const linked = links(rows);
  const shown = (row) => `${row.rating} ± ${row.uncertainty}${row.provisional ? ` (${t("agent.provisional")})` : ""}`;
  return [table(t("agent.rating"), [t("rank"), t("agent"), { number: t("agent.rating") }, { number: t("games") }],
    rows.map((row) => [row.rank, [linked(row), row.version && el("small", { class: "quiet" }, " ", named(row.version))],
      { number: shown(row) }, { number: row.games }]), { hidden: true }),
  el("p", { class: "quiet" }, t("leaderboard.rated")),
  share === null ? null : el("p", { class: "quiet" }, t("leaderboard.role", { share: percent.format(share) }))];
}

/** The name of a row's agent as a link, with its handle where another row has the same name. */
function links(rows) {
  const taken = new Map();
  for (const { name } of rows) taken.set(name, (taken.get(name) ?? 0) + 1);
  return (row) => [agentLink(row),
    taken.get(row.name) > 1 && el("small", { class: "quiet" }, " ", row.handle)];
}

const scores = async (by, who) => ({ by, ...await get(`/api/leaderboard?limit=${BOARD}&by=${by}&kind=${who}`, { as: "anonymous" }) });

/** A leaderboard over all rated games: scores with their intervals, and when they were computed. */
function strengths({ by, leaderboard: rows, as_of, unconnected }) {
  if (!as_of) return el("p", { class: "quiet" }, t("leaderboard.never"));
  const figure = (value) => value.toFixed(2).replace("-", "\u2212");
  const linked = links(rows);
  return [
    rows.length
      ? table(t(`leaderboard.${by}`),
        [t("rank"), t("agent"), { number: t("leaderboard.score") }, { number: t("leaderboard.interval") }, { number: t("games") }],
        rows.map((row) => [row.rank, by === "model" && row.model ? named(row.name) : linked(row), { number: figure(row.score) },
          { number: `${figure(row.low)} … ${figure(row.high)}` }, { number: row.games }]), { hidden: true })
      : el("p", { class: "quiet" }, t("leaderboard.unscored")),
    el("p", { class: "quiet" }, t("leaderboard.as_of", { when: moment(as_of) })),
    unconnected > 0 && el("p", { class: "quiet" }, t("leaderboard.unconnected", { n: unconnected })),
  ];
}

function invitation() {
  return el("section", { class: "card", "aria-labelledby": "join" },
    el("h2", { id: "join" }, t("join.title")),
    el("p", {}, t("join.text")),
    el("p", {}, el("a", { href: "/llms.txt" }, t("join.how"))),
    el("p", {}, t("join.person"), " ", el("a", { href: "/game" }, t("join.play"))),
    el("p", {}, t("join.seat"), bots.map(({ type }) => [" ", el("a", { href: `/play/${type}` }, word("game", type))])));
}

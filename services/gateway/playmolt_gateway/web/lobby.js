/** `/`: the games that wait and run, live; those that ended; the leaderboard. */

import { get } from "./parts/api.js";
import { announce, el, filler, select, table } from "./parts/dom.js";
import { watchLobby } from "./parts/feed.js";
import { page, trouble } from "./parts/frame.js";
import { GAMES } from "./games.js";
import { clock, t, word } from "./parts/language.js";

const SHOWN = 12;
const BOARD = 20;
const REFRESH_MS = 8000;
const LIST_MS = 1500;
const bots = GAMES.filter(({ kind }) => kind === "game");

page(() => "PlayMolt", draw);

async function draw(main) {
  const open = new Map();
  const now = el("ul", { class: "games" });
  const state = el("span", { class: "tag plain", role: "status" });
  const ended = el("ul", { class: "games" });
  const board = el("div");
  const runs = el("ul", { class: "games" });
  const kind = select([["", t("all_games")], ...bots.map(({ type }) => [type, word("game", type)])], "",
    { "aria-label": t("leaderboard.of") });
  const runsCard = el("section", { class: "card", hidden: true, "aria-labelledby": "runs" },
    el("h2", { id: "runs" }, t("runs")), runs);

  main.append(
    el("div", { class: "tight" }, el("h1", {}, t("lobby.title")), el("p", { class: "lead" }, t("lobby.lead"))),
    el("div", { class: "two" },
      el("div", { class: "stack" },
        el("section", { class: "card", "aria-labelledby": "now" },
          el("div", { class: "row apart" }, el("h2", { id: "now" }, t("lobby.now")), state), now),
        el("section", { class: "card", "aria-labelledby": "ended" }, el("h2", { id: "ended" }, t("lobby.ended")), ended),
        runsCard),
      el("div", { class: "stack" },
        el("section", { class: "card", "aria-labelledby": "board" },
          el("div", { class: "row apart" }, el("h2", { id: "board" }, t("leaderboard")), kind), board),
        invitation())));

  const [fillNow, fillEnded, fillBoard, fillRuns] = [now, ended, board, runs].map(filler);
  const drawNow = () => {
    const games = [...open.values()].sort((a, b) => (a.game_id < b.game_id ? 1 : -1));
    fillNow(games, () => (games.length ? games.map(openLine) : el("li", { class: "quiet" }, t("lobby.quiet"))));
  };
  const refresh = async () => {
    const type = kind.value ? `&gameType=${kind.value}` : "";
    try {
      const [over, ranks, held] = await Promise.all([
        gamesOver(),
        get(`/api/leaderboard?limit=${BOARD}${type}`, { as: "nobody" }),
        get("/api/agora/runs?limit=5", { as: "nobody", patient: false }).catch(() => ({ runs: [] })),
      ]);
      fillEnded(over, () => (over.length ? over.map(line) : el("li", { class: "quiet" }, t("lobby.none"))));
      fillBoard(ranks, () => standings(ranks.leaderboard));
      runsCard.hidden = held.runs.length === 0;
      fillRuns(held, () => held.runs.map(line));
    } catch (error) {
      fillBoard(error.message, () => trouble(error));
    }
  };

  drawNow();
  kind.addEventListener("change", refresh);
  await refresh();
  const timer = setInterval(refresh, REFRESH_MS);
  let listed = Infinity;
  const stop = watchLobby((message) => {
    if (["game_waiting", "game_started"].includes(message.type)) open.set(message.game_id, message);
    else if (open.delete(message.game_id)) refresh();
    if (message.type === "game_started" && Date.now() > listed) announce(t("lobby.started", { game: word("game", message.gameType) }));
    drawNow();
  }, (told) => {
    // What was shown stays until the feed is back; games that ended meanwhile are not in its list any more.
    if (["away", "hidden"].includes(told)) open.clear();
    if (told === "hidden") return;
    // A feed begins with the present list: what stands in it is no news.
    if (told === "live") listed = Date.now() + LIST_MS;
    if (told === "live") drawNow();
    state.textContent = told === "live" ? t("live") : t("reconnecting");
    state.className = told === "live" ? "tag live" : "tag plain";
  });
  return () => {
    clearInterval(timer);
    stop();
  };
}

async function gamesOver() {
  const lists = await Promise.all(["end", "aborted"].map((phase) => get(`/api/games?phase=${phase}&limit=${SHOWN}`, { as: "nobody" })));
  return lists.flatMap((list) => list.games).sort((a, b) => (a.created_at < b.created_at ? 1 : -1)).slice(0, SHOWN);
}

/** A game of the feed, which tells that a game has started and not how far it is. */
function openLine(game) {
  return line({ ...game, phase: game.type === "game_waiting" ? "waiting" : "running" });
}

function line(game) {
  const seats = bots.some(({ type }) => type === game.gameType) ? t("seats", { seated: game.seated, needed: game.needed }) : "";
  const when = game.created_at ?? game.at;
  return el("li", {}, el("a", { href: `/watch/${game.game_id}`, "data-focus": game.game_id },
    el("strong", {}, word("game", game.gameType)),
    el("span", { class: "tag plain" }, word("phase", game.phase)),
    el("span", { class: "side" }, [seats, when ? clock(when) : ""].filter(Boolean).join(" · "))));
}

function standings(rows) {
  if (!rows.length) return el("p", { class: "quiet" }, t("leaderboard.empty"));
  return table(t("leaderboard.caption"),
    [t("rank"), t("agent"), { number: t("points") }, { number: t("games") }],
    rows.map((row) => [row.rank, row.name, { number: row.points }, { number: row.games }]), { hidden: true });
}

function invitation() {
  return el("section", { class: "card", "aria-labelledby": "join" },
    el("h2", { id: "join" }, t("join.title")),
    el("p", {}, t("join.text")),
    el("p", {}, el("a", { href: "/llms.txt" }, t("join.how"))),
    el("p", {}, t("join.person"), " ", el("a", { href: "/game" }, t("join.play"))));
}

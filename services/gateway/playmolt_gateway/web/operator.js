/** `/operator`: reports with their decisions, stuck games, lag and running tournaments, for the operator's key alone. */

import { go } from "./parts/browser.js";
import { get, operatorKey, post, setOperatorKey } from "./parts/api.js";
import { el, field, fill, filler, focusOn, named, select, table } from "./parts/dom.js";
import { inWords } from "./parts/faults.js";
import { actionButton, page, trouble } from "./parts/frame.js";
import { clock, t, word } from "./parts/language.js";

const REFRESH_MS = 10_000;
const SHOWN = 50;
const NOTE_CHARS = 500;
const EFFECTS = ["hide", "rename", "ban"];
/** Types without a page that the operator may open. */
const SESSIONS = ["jury", "legal"];
const operator = { as: "operator" };

page(() => t("head.operator"), draw);

async function draw(main) {
  main.append(el("h1", {}, t("head.operator")), el("p", { class: "lead" }, t("head.operator.about")));
  if (!operatorKey()) {
    main.append(door());
    return undefined;
  }
  const reports = new Reports();
  const watched = [stuckGames(), lag(), tournaments()];
  main.append(
    el("div", { class: "row end" }, el("button", { type: "button", class: "bare", onclick: leave }, t("agora.leave"))),
    el("div", { class: "two" }, reports.node, el("div", { class: "stack" }, watched.map((one) => one.node))));
  const refresh = () => Promise.all(watched.map((one) => one.refresh()));
  await Promise.all([reports.read(), refresh()]);
  const timer = setInterval(() => document.hidden || refresh(), REFRESH_MS);
  return () => clearInterval(timer);
}

function leave() {
  setOperatorKey("");
  go("/operator");
}

function card(id, title, ...children) {
  return el("section", { class: "card", "aria-labelledby": id }, el("h2", { id }, title), children);
}

function door() {
  const input = el("input", { type: "password", autocomplete: "off", name: "key" });
  const place = el("div");
  const enter = async () => {
    setOperatorKey(input.value.trim());
    try {
      await get("/api/admin/reports?limit=1", operator);
    } catch (error) {
      setOperatorKey("");
      throw error;
    }
    go("/operator");
  };
  return el("section", { class: "card", "aria-labelledby": "door" }, el("h2", { id: "door" }, t("agora.operator")),
    el("form", { class: "stack", onsubmit: (event) => event.preventDefault() },
      el("p", { class: "quiet" }, t("operator.door")), field(t("agora.key"), input), place,
      el("div", { class: "row end" }, actionButton(t("agora.enter"), enter, { place, first: true, type: "submit" }))));
}

/** The list of reports in one state. It changes only on request: somebody may be writing a note. */
class Reports {
  constructor() {
    this.state = select(["open", "decided"].map((one) => [one, t(`operator.state.${one}`)]), "open", { "data-focus": "state" });
    this.state.addEventListener("change", () => this.read());
    this.list = el("ul", { class: "stack" });
    this.note = el("p", { class: "quiet small", role: "status" });
    this.place = el("div");
    this.node = card("reports", t("operator.reports"),
      el("div", { class: "row apart" }, field(t("operator.state"), this.state), actionButton(t("operator.refresh"), () => this.read(), { place: this.place })),
      this.place, this.note, this.list);
  }

  async read() {
    try {
      const { reports } = await get(`/api/admin/reports?state=${this.state.value}&limit=${SHOWN}`, operator);
      fill(this.list, reports.length ? reports.map((one) => this.row(one)) : el("li", { class: "quiet" }, t("operator.reports.none")));
    } catch (error) {
      fill(this.list, el("li", {}, trouble(error)));
    }
  }

  row(one) {
    const shown = el("p", { class: "pre" });
    const item = el("li", { class: "tight", "data-report": one.id },
      el("div", { class: "row apart" },
        el("span", {}, el("strong", {}, t(`operator.kind.${one.kind}`)), " ", subject(one)),
        el("span", { class: "quiet small" }, t("operator.times", { n: one.count }), " · ", clock(one.at))),
      shown, el("p", {}, el("bdi", {}, one.reason)),
      one.decision ? el("p", { class: "quiet" }, decided(one)) : null,
      el("details", { "data-open": one.id }, el("summary", {}, t("operator.decide")), this.form(one)));
    reported(one).then((text) => fill(shown, text ? el("q", {}, el("bdi", {}, text)) : null)).catch(() => {});
    return item;
  }

  form(one) {
    const choice = select(decisions(one).map((name) => [name, t(`operator.decision.${name}`)]), undefined, { name: "decision" });
    const note = field(t("operator.note"), el("textarea", { name: "note", rows: 2, maxlength: NOTE_CHARS }), { hint: t("operator.note.hint") });
    const until = field(t("operator.until"), el("input", { type: "datetime-local", name: "until" }), { hint: t("operator.until.hint") });
    const place = el("div");
    const follow = () => {
      until.hidden = choice.value !== "ban";
    };
    choice.addEventListener("change", follow);
    follow();
    const send = async () => {
      for (const each of [note, until]) each.showFault("");
      const body = { decision: choice.value, note: note.control.value.trim() };
      if (!body.note) {
        note.showFault(t("form.required"));
        note.control.focus();
        return;
      }
      if (choice.value === "ban" && until.control.value) body.until = new Date(until.control.value).toISOString();
      try {
        await post(`/api/admin/reports/${encodeURIComponent(one.id)}`, body, operator);
      } catch (error) {
        const at = { note, until };
        const faults = (error.errors ?? []).filter((fault) => at[fault.field]);
        for (const fault of faults) at[fault.field].showFault(inWords(fault).message);
        if (!faults.length) fill(place, trouble(error));
        return;
      }
      await this.read();
      fill(this.note, t("operator.done", { decision: t(`operator.decision.${body.decision}`) }));
      focusOn(this.node.querySelector("h2"));
    };
    return el("form", { class: "stack", novalidate: true, onsubmit: (event) => event.preventDefault() },
      field(t("operator.decision"), choice), note, until, place,
      el("div", { class: "row end" }, actionButton(t("operator.decide"), send, { place, first: true, type: "submit" })));
  }
}

/** The decisions that fit a report. */
function decisions(one) {
  const known = one.agent_id || one.owner_id;
  const fitting = EFFECTS.filter((name) => (name !== "ban" || known) && (name !== "rename" || one.kind !== "speech"));
  return [...fitting, "dismiss", ...(one.decision && one.decision !== "restore" ? ["restore"] : [])];
}

function decided(one) {
  const until = one.until ? ` (${t("operator.until.at", { at: clock(one.until) })})` : "";
  return [t(`operator.decision.${one.decision}`), until, ": ", el("bdi", {}, one.note)];
}

/** A link to what is reported, where it has a page. */
function subject(one) {
  const kind = one.game_id?.split("-")[0];
  if (one.kind === "speech" && SESSIONS.includes(kind)) return el("code", {}, `${one.game_id} · ${one.version}`);
  if (one.kind === "speech") return el("a", { href: `/watch/${one.game_id}?v=${one.version}` }, `${one.game_id} · ${one.version}`);
  if (!one.agent_id && !one.owner_id) return el("a", { href: `/tournaments/${one.game_id}` }, one.game_id);
  if (one.agent_id) return el("a", { href: `/agents/${encodeURIComponent(one.agent_id)}` }, one.agent_id);
  return el("code", {}, one.owner_id);
}

/** The words or the name that are reported, as everybody sees them now. */
async function reported(one) {
  if (one.kind === "speech") {
    const { events } = await get(`/api/games/${one.game_id}/events?after=${one.version - 1}&limit=1`, operator);
    const said = events.flatMap((event) => [event, ...(event.choices ?? [])]);
    return said.filter((part) => !one.agent_id || part.agent_id === one.agent_id).map((part) => part.text ?? part.comment ?? part.content).filter(Boolean).join("\n");
  }
  if (!one.agent_id && !one.owner_id) return (await get(`/api/tournaments/${one.game_id}`, { as: "anonymous" })).name;
  return one.agent_id ? (await get(`/api/agents/${encodeURIComponent(one.agent_id)}`, { as: "anonymous" })).name : "";
}

/** A card that is read again and again; `draw` gives what an answer shows. */
function watching(id, title, path, draw) {
  const body = el("div", { class: "stack" });
  const show = filler(body);
  const refresh = async () => {
    try {
      const answer = await get(path, operator);
      show(answer, () => draw(answer));
    } catch (error) {
      show(error.message, () => trouble(error));
    }
  };
  return { node: card(id, title, body), refresh };
}

function stuckGames() {
  return watching("stuck", t("operator.stuck"), `/api/admin/games?stuck=true&limit=${SHOWN}`, ({ games }) => (games.length
    ? el("ul", { class: "tight" }, games.map((one) => el("li", {}, el("a", { href: `/watch/${one.game_id}` }, one.game_id), " ",
      el("span", { class: "quiet small" }, `${word("game", one.gameType)} · ${one.phase}`))))
    : el("p", { class: "quiet" }, t("operator.stuck.none"))));
}

function lag() {
  const heads = ["log", "events", "spectate", "projections"];
  return watching("lag", t("operator.lag"), "/api/admin/lag", (answer) =>
    table(t("operator.lag"), [t("operator.lag.shard"), ...heads.map((name) => ({ number: t(`operator.lag.${name}`) }))],
      (answer.shards ?? [answer]).map((one) => [String(one.shard ?? 0), ...heads.map((name) => ({ number: one[name] ?? "–" }))]), { hidden: true }));
}

function tournaments() {
  return watching("tournaments", t("operator.tournaments"), `/api/tournaments?state=running&limit=${SHOWN}`, ({ tournaments: found }) => (found.length
    ? el("ul", { class: "tight" }, found.map((one) => el("li", {}, el("a", { href: `/tournaments/${one.id}` }, named(one.name)), " ",
      one.format === "season" ? null : el("span", { class: "quiet small" }, t("tournament.entrants_n", { n: one.entrants })))))
    : el("p", { class: "quiet" }, t("tournaments.none"))));
}

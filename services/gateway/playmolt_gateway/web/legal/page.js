/** `/legal`: sessions of the legal simulation: open, submit facts, steer at the gates, read the report. */

import { forgetKey, get, key, post } from "../parts/api.js";
import { go, kept } from "../parts/browser.js";
import { announce, content, contentIn, el, field, fill, focusOn, ofContent, select } from "../parts/dom.js";
import { forgetDrafts, keepDraft, leftBehind } from "../sessions/drafts.js";
import { eraseCard, erasedLine } from "../sessions/erase.js";
import { forgetButton, inviteField } from "../sessions/invite.js";
import { watchSession } from "../parts/feed.js";
import { inWords } from "../parts/faults.js";
import { actionButton, page, trouble } from "../parts/frame.js";
import { clock, language, t, word } from "../parts/language.js";
import { Narration } from "../parts/narration.js";
import { changeFact, settling } from "./changes.js";
import { factsForm, factsView } from "./facts.js";
import { gateForm } from "./gate.js";
import { reportView } from "./report.js";
import { valueOf } from "./sections.js";
import { marked, turnView } from "./turn.js";
import { uploadCard } from "./uploads.js";
import { SessionHistory } from "../sessions/history.js";
import { tabs } from "../parts/tabs.js";
import { linkedMoment } from "../parts/timeline.js";

const REFRESH_MS = 120;
const STIPULATE = "FACTS_STIPULATE";

page(() => t("legal.title"), draw);

const asked = () => new URLSearchParams(location.search).get("session");

async function draw(main) {
  if (!asked()) return start(main);
  try {
    return new Session(main, await get(`/api/sessions/${encodeURIComponent(asked())}`)).begin();
  } catch (error) {
    if (error.code === "erased") forgetDrafts(asked());
    fill(main, el("h1", {}, t("legal.title")), trouble(error), el("p", {}, el("a", { href: "/legal" }, t("legal.all"))));
    return undefined;
  }
}

async function start(main) {
  main.append(el("div", { class: "tight" }, el("h1", {}, t("legal.title")), el("p", { class: "lead" }, t("legal.lead"), " ", t("legal.disclaimer"))),
    el("div", { class: "two" }, opening(), await mine()));
}

function opening() {
  const controls = {
    title: el("input", { type: "text", maxlength: 200, required: true }),
    jurisdiction: el("input", { type: "text", maxlength: 100, value: "KR", required: true }),
    case_type: select([["civil", t("case.civil")], ["criminal", t("case.criminal")]]),
    language: select([["ko", "한국어"], ["en", "English"], ["zh", "中文"]], language()),
    side: select([["neutral", t("side.neutral")], ["claimant", t("side.claimant")], ["opposing", t("side.opposing")]]),
    exclusions: el("input", { type: "text", maxlength: 300 }),
    model: el("input", { type: "text", value: "scripted", autocomplete: "off" }),
  };
  for (const [name, control] of Object.entries(controls)) control.name = name;
  const fields = {
    title: field(t("legal.case_title"), controls.title),
    jurisdiction: field(t("legal.jurisdiction"), controls.jurisdiction),
    case_type: field(t("legal.case_type"), controls.case_type),
    language: field(t("legal.language"), controls.language),
    side: field(t("legal.side"), controls.side),
    exclusions: field(`${t("legal.exclusions")} (${t("optional")})`, controls.exclusions, { hint: t("legal.exclusions_hint") }),
    model: field(t("legal.model"), controls.model, { hint: t("legal.model_hint") }),
  };
  const place = el("div");
  const invite = inviteField();
  const form = el("div", { class: "stack" }, fields.title, el("div", { class: "even" }, fields.case_type, fields.side, fields.jurisdiction, fields.language, fields.model), fields.exclusions);
  const sent = keepDraft("legal open", form);
  const open = async () => {
    for (const one of Object.values(fields)) one.showFault("");
    await invite.enter();
    const body = Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value.trim()]));
    if (!body.exclusions) delete body.exclusions;
    try {
      const made = await post("/api/sessions", body);
      sent();
      go(`/legal?session=${made.id}`);
    } catch (error) {
      const rest = (error.errors ?? []).filter((fault) => !fields[fault.field]?.showFault(inWords(fault).message) && !fields[fault.field]);
      if (!error.errors?.length || rest.length) throw error;
      main().querySelector("[aria-invalid='true']")?.focus();
    }
  };
  return el("section", { class: "card", "aria-labelledby": "open" }, el("h2", { id: "open" }, t("legal.open")),
    form, invite.node, place, el("div", { class: "row end" }, actionButton(t("legal.begin"), open, { place, first: true })),
    el("p", { class: "quiet small" }, t(kept.lasts() ? "key_kept" : "key_unkept")));
}

const main = () => document.getElementById("main");

async function mine() {
  const head = el("h2", { id: "mine" }, t("legal.mine"));
  const card = el("section", { class: "card", "aria-labelledby": "mine" }, head);
  if (!key()) {
    card.append(el("p", { class: "quiet" }, t("legal.none")));
    return card;
  }
  try {
    const { sessions } = await get("/api/sessions");
    card.append(sessions.length ? el("ul", { class: "games" }, sessions.map((one) => one.phase === "erased" ? erasedLine(one) : el("li", {},
      el("a", { href: `/legal?session=${one.id}` }, el("strong", { lang: one.language }, one.title), el("span", { class: "tag plain" }, word("phase", one.phase)),
        el("span", { class: "side" }, clock(one.created_at)))))) : el("p", { class: "quiet" }, t("legal.none")), forgetButton(() => go("/legal")));
  } catch (error) {
    if (error.code === "unauthorized") forgetKey();
    card.append(trouble(error));
  }
  return card;
}

class Session {
  constructor(node, session) {
    this.session = session;
    contentIn(session.language);
    this.path = `/api/sessions/${session.id}`;
    this.status = el("p", { class: "row", role: "status" });
    this.settling = el("div");
    this.task = el("div", { class: "stack" });
    this.unsent = el("div");
    this.speech = el("p", { class: "card pre quiet", hidden: true, "aria-live": "off", ...ofContent() });
    this.turns = el("ol", { class: "stack" });
    this.facts = el("div", { class: "stack" });
    this.uploads = el("div", { hidden: true }, uploadCard(this.path, () => this.refresh()));
    this.steering = el("div", { class: "card" });
    this.history = new SessionHistory({ path: this.path, line: (message) => this.narration.line(message), scene: (messages) => this.scene(messages),
      highlight: ({ type }) => ({ turn_done: false, gate_opened: true, session_done: true })[type] ?? null,
      version: session.version, over: session.phase === "FINALIZE_DONE", log: false, open: () => this.tabs.show("history") });
    this.tabs = tabs(t("legal.parts"), [["turns", t("legal.argument"), el("div", {}, this.turns)], ["facts", t("legal.facts"), el("div", { class: "stack" }, this.uploads, this.facts)],
      ["steering", t("legal.steering"), this.steering], ["history", t("game.history"), this.history.node]], linkedMoment() === null ? "turns" : "history");
    this.shown = new Map();
    this.narration = new Narration("legal");
    this.task_key = "";
    this.stipulated = [];
    node.append(el("div", { class: "tight" },
      el("p", { class: "small" }, el("a", { href: "/legal" }, `‹ ${t("legal.all")}`)),
      el("h1", ofContent(), session.title),
      el("p", { class: "quiet" }, word("case", session.case_type), " · ", content(session.jurisdiction), ` · ${[word("side", session.side), word("language", session.language), session.model].join(" · ")}`),
      this.status), this.history.drawn, this.unsent, this.speech, this.settling, this.task, this.tabs, eraseCard(this.path, "/legal", () => this.end()));
  }

  begin() {
    this.draw();
    this.stop = watchSession(`${this.path}/stream`, 0, (message) => this.take(message));
    return () => this.end();
  }

  end() {
    this.stop();
    this.history.close();
    clearTimeout(this.timer);
  }

  take(message) {
    if (message.type === "speaking") return this.appendSpeech(message);
    if (["turn_started", "turn_done", "turn_failed", "guardrail_hit"].includes(message.type)) this.clearSpeech();
    this.history.take(message, message.type !== "session_done");
    if (message.type === "turn_done" && message.phase === STIPULATE) {
      this.stipulated = message.unverified ?? [];
      this.drawTask();
      this.drawFacts();
    }
    if (message.type === "turn_started") this.speaking = message.phase;
    if (["turn_done", "turn_failed", "gate_opened"].includes(message.type)) this.speaking = "";
    this.drawStatus();
    if (["progress", "turn_started"].includes(message.type) || message.version <= this.session.version) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh().catch((error) => fill(this.status, trouble(error))), REFRESH_MS);
  }

  /** Append a role's live text; a restarted turn clears it first. */
  appendSpeech({ n, delta }) {
    if (n === 1) this.clearSpeech();
    this.speech.hidden = false;
    this.speech.append(delta);
  }

  clearSpeech() {
    this.speech.hidden = true;
    fill(this.speech);
  }

  async refresh() {
    this.set(await get(this.path));
  }

  set(session) {
    if (session.version < this.session.version) return;
    this.session = session;
    this.draw();
  }

  drawStatus() {
    const { gate, failed } = this.session;
    const at = this.speaking && !gate ? { phase: this.speaking } : this.session;
    fill(this.status, el("span", { class: `tag${this.speaking && !gate ? " live" : ""}` }, gate ? word("gate", gate.name) : word("phase", at.phase)),
      this.speaking && !gate && !failed ? el("span", { class: "quiet waiting" }, t("legal.speaking")) : null,
      gate ? el("span", {}, t("legal.your_turn")) : null);
  }

  draw() {
    this.drawStatus();
    this.drawTask();
    this.uploads.hidden = !this.session.gate && this.session.phase !== "FACTS_INTAKE";
    for (const turn of this.session.turns) {
      this.drawTurn(turn);
    }
    if (!this.session.turns.length) fill(this.turns, el("li", { class: "quiet empty" }, t("legal.no_turns")));
    else this.turns.querySelector(".empty")?.remove();
    this.drawFacts();
    fill(this.steering, steeringView(this.session));
  }

  /** Redraw a turn when it was repeated or a fact it relied on has changed. */
  drawTurn(turn) {
    const drawn = this.shown.get(turn.n);
    const state = `${turn.redone} ${turn.stale}`;
    if (drawn?.state === state) return;
    const node = el("li", { "data-turn": turn.phase }, turnView(turn));
    if (drawn) drawn.node.replaceWith(node);
    else this.turns.prepend(node);
    this.shown.set(turn.n, { node, state });
  }

  drawFacts() {
    const done = (session) => this.set(session);
    const changing = this.session.gate ? (fact) => changeFact(this.path, fact, done) : undefined;
    fill(this.facts, factsView(this.session.facts, [...this.stipulated, ...this.newest()], changing));
    fill(this.settling, settling(this.path, this.session, done));
  }

  /** Statutes and case numbers of the latest round that are not in the material. */
  newest() {
    const { turns } = this.session;
    return turns.filter((turn) => turn.round === turns.at(-1).round).flatMap((turn) => turn.unverified ?? []);
  }

  /** The form the session is waiting for. It is drawn once, so that input is never lost. */
  drawTask() {
    const { phase, gate, failed } = this.session;
    const wanted = phase === "FINALIZE_DONE" ? `done ${failed?.attempts} ${this.session.version}` : failed ? `failed ${failed.phase} ${failed.attempts} ${this.session.version}` : gate ? `gate ${gate.name} ${this.session.turns.length} ${this.session.facts.questions.length} ${gate.schema.properties.choice?.enum} ${gate.name === "facts" ? this.stipulated : ""}` : phase;
    if (wanted === this.task_key) return;
    this.task_key = wanted;
    fill(this.unsent, gate || phase === "FACTS_INTAKE" ? null : leftBehind(`${this.session.id} gate`));
    const done = (session) => this.set(session);
    if (phase === "FINALIZE_DONE") this.finish(failed);
    else if (failed) fill(this.task, this.failure(failed));
    else if (phase === "FACTS_INTAKE") fill(this.task, factsForm(this.path, this.session, done));
    else if (gate) fill(this.task, gateForm(this.path, this.session, gate.name === "facts" ? this.stipulated : this.newest(), done));
    else fill(this.task);
    if (failed || gate) {
      focusOn(this.task.querySelector("h2"));
      announce(failed ? t("legal.failed") : t("legal.your_turn"));
    }
  }

  failure(failed) {
    const place = el("div");
    return el("section", { class: "card on" }, el("h2", {}, t("legal.failed")),
      el("p", {}, `${word("phase", failed.phase)}: ${cause(failed)}`), el("p", { class: "pre", lang: "en" }, failed.detail), place,
      actionButton(t("legal.retry"), async () => this.set(await post(`${this.path}/retry`, {})), { place, first: true }));
  }

  finish(failed) {
    const { next_session: next } = this.session;
    if (next) {
      fill(this.task, el("p", { class: "notice" }, t("legal.went_on"), " ", el("a", { href: `/legal?session=${next}` }, t("legal.next"))));
      return;
    }
    fill(this.task, el("p", { class: "room-of-report quiet waiting" }, t("loading")));
    reportView(this.path, this.session).then((node) => {
      fill(this.task, failed ? this.failure(failed) : null, node);
      if (!this.history.over) focusOn(node.querySelector("h2"));
    }).catch((error) => fill(this.task, trouble(error)));
  }

  scene(messages) {
    const done = messages.filter((message) => message.type === "turn_done").at(-1);
    const last = messages.at(-1);
    const turn = done && this.session.turns.find((one) => one.phase === done.phase);
    return [el("section", { class: "card" }, el("p", {}, last ? this.narration.line(last) || t("event.quiet") : "")),
      turn ? turnView(turn) : done ? el("section", { class: "card" }, el("h3", {}, word("phase", done.phase)), el("pre", { class: "pre small" }, marked(JSON.stringify(done.output, null, 1), done.unverified))) : null];
  }
}

function steeringView(session) {
  const { steering } = session;
  const rows = Object.entries(steering).filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && !value.length));
  return [el("h2", {}, t("legal.steering")),
    rows.length ? el("dl", { class: "facts" }, rows.map(([name, value]) => [el("dt", {}, word("field", name)), el("dd", { class: "pre" }, valueOf(name, value))]))
      : el("p", { class: "quiet" }, t("legal.no_steering")),
    session.steering_history.length ? el("p", { class: "quiet small" }, t("legal.versions", { n: session.steering_history.length })) : null];
}

/** Causes that the detail alone names. Each needs another remedy than the rest of its code. */
const CAUSES = [
  [/the prompt is too long/, "too_long"],
  [/the model only thought, in (`[^;]+)/, "only_thought"],
  [/spent its (\d+) tokens before it answered(?:.*\(in (`[^)]+)\))?/, "cut"],
];

function cause(failed) {
  for (const [pattern, name] of CAUSES) {
    const found = pattern.exec(failed.detail);
    if (found) return t(`failure.${name}${name === "cut" && found[2] ? "_in" : ""}`, { first: found[1], field: found[2] ?? found[1] });
  }
  return word("failure", failed.code);
}

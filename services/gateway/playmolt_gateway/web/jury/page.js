/** `/game`: the AI jury. One person tries to sway five jurors, who vote on a blockchain. */

import { forgetKey, get, key, post } from "../parts/api.js";
import { go, kept } from "../parts/browser.js";
import { announce, contentIn, el, fill, focusOn, ofContent } from "../parts/dom.js";
import { forgetDrafts, leftBehind } from "../sessions/drafts.js";
import { eraseCard, erasedLine } from "../sessions/erase.js";
import { forgetButton, inviteField } from "../sessions/invite.js";
import { watchSession } from "../parts/feed.js";
import { actionButton, page, sure, trouble } from "../parts/frame.js";
import { caseTabs } from "./case.js";
import { caseChoice } from "./choice.js";
import { history } from "./history.js";
import { deliberationPanel, jurorsPanel } from "./jurors.js";
import { verdictPanel } from "./verdict.js";
import { chosenLanguage, language, t, word } from "../parts/language.js";
import { Narration } from "../parts/narration.js";
import { tabs } from "../parts/tabs.js";
import { linkedMoment } from "../parts/timeline.js";

const PHASES = ["prologue", "investigation", "persuasion", "deliberation", "vote", "ended"];
const STORIES = [["en", "English"], ["zh", "中文"], ["ko", "한국어"]];
const REFRESH_MS = 150;
const RETRY_MS = 2000;
const RETRIES = 30;

page(() => t("game.title"), draw);

const asked = () => new URLSearchParams(location.search).get("session");

async function draw(main, show) {
  if (!asked()) return start(main);
  try {
    const session = await get(`/api/jury/sessions/${encodeURIComponent(asked())}`);
    if (!chosenLanguage() && session.language !== language()) {
      await show(session.language);
      return undefined;
    }
    const { witnesses } = await get(`/api/jury/sessions/${session.id}/witnesses`);
    return new Game(main, session, new Map(witnesses.map((one) => [one.id, one.name]))).begin();
  } catch (error) {
    if (error.code === "erased") forgetDrafts(asked());
    fill(main, el("h1", {}, t("game.title")), trouble(error), el("p", {}, el("a", { href: "/game" }, t("game.again"))));
    return undefined;
  }
}

async function start(main) {
  const place = el("div");
  const invite = inviteField();
  const languages = el("div", { class: "row" });
  const offer = (chosen) => fill(languages, STORIES.filter(([code]) => !chosen || chosen.languages.includes(code))
    .map(([code]) => actionButton(t(`game.begin.${code}`), async () => {
      await invite.enter();
      const made = await post("/api/jury/sessions", { language: code, ...(chosen && { case: chosen.id }) });
      go(`/game?session=${made.id}`);
    }, { place, first: code === language(), lang: code })));
  offer(null);
  main.append(el("div", { class: "story stack" },
    el("h1", {}, t("game.title")),
    el("p", { class: "lead" }, t("game.lead")),
    el("p", {}, t("game.rules")),
    languages,
    invite.node,
    await caseChoice(offer, place, invite),
    el("p", { class: "quiet small" }, t(kept.lasts() ? "key_kept" : "key_unkept")),
    place, await mine()));
}

async function mine() {
  if (!key()) return null;
  try {
    const { sessions } = await get("/api/jury/sessions?panel=none");
    if (!sessions.length) return null;
    return el("section", { class: "card", "aria-labelledby": "mine" }, el("h2", { id: "mine" }, t("game.mine")),
      el("ul", { class: "games" }, sessions.map((one) => one.phase === "erased" ? erasedLine(one) : el("li", {},
        el("a", { href: `/game?session=${one.id}` }, el("strong", {}, word("phase", one.phase)),
          el("span", { class: "side" }, `${word("language", one.language)} · ${one.id.slice(0, 13)}`))))), forgetButton(() => go("/game")));
  } catch (error) {
    if (error.code !== "unauthorized") return trouble(error);
    forgetKey();
    return null;
  }
}

/** A running session: its state, its messages and the panels of its phase. */
class Game {
  constructor(main, session, witnesses) {
    this.session = session;
    contentIn(session.language);
    this.path = `/api/jury/sessions/${session.id}`;
    this.narration = new Narration("jury");
    for (const [id, name] of [...witnesses, ...session.jurors.map((one) => [one.id, one.name])]) this.narration.call(id, name);
    this.messages = [];
    this.listeners = new Set();
    this.heading = el("h1", { tabindex: "-1" });
    this.steps = el("ol", { class: "steps", "aria-label": t("game.steps") });
    this.panel = el("div", { class: "stack" });
    this.place = el("div");
    this.limits = el("p", { class: "quiet small", role: "status" });
    this.drawn = "";
    this.drawn_at = el("div");
    main.append(el("div", { class: "row apart" }, this.heading, this.steps), this.limits, this.place, this.drawn_at, this.panel, eraseCard(this.path, "/game", () => this.end()));
  }

  begin() {
    this.history = history(this);
    fill(this.drawn_at, this.history.drawn);
    this.draw();
    this.drawLimits();
    this.stop = watchSession(`${this.path}/stream`, 0, (message) => this.take(message));
    return () => this.end();
  }

  end() {
    this.stop();
    this.history.close();
    clearTimeout(this.timer);
  }

  take(message) {
    this.messages.push(message);
    this.history.take(message, !["ended", "game_aborted"].includes(message.type));
    for (const listener of this.listeners) listener(message);
    if (message.type !== "progress") this.refreshSoon(REFRESH_MS, RETRIES);
  }

  /** No message follows the last one, so a failed refresh after it is retried. */
  refreshSoon(pause, retries) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh().catch(() => retries && this.refreshSoon(RETRY_MS, retries - 1)), pause);
  }

  /** Call a function with every new message until the phase changes. */
  listen(listener) {
    this.listeners.add(listener);
  }

  async refresh() {
    this.set(await get(this.path));
    for (const listener of this.listeners) listener(null);
  }

  /** Answers can overtake each other: an older one is dropped, and a phase is drawn once. */
  set(session) {
    if (session.version < this.session.version) return;
    this.session = session;
    this.drawLimits();
    if (session.phase !== this.drawn) this.draw();
  }

  /** What the session's model cannot do. */
  drawLimits() {
    const words = this.session.calls_tools === false ? t("game.no_tools") : "";
    if (this.limits.textContent !== words) fill(this.limits, words);
    this.limits.hidden = !words;
  }

  juror(id) {
    return this.session.jurors.find((juror) => juror.id === id)?.name ?? id;
  }

  async goTo(phase) {
    this.set(await post(`${this.path}/phase`, { to: phase }));
  }

  draw() {
    const { phase } = this.session;
    const before = this.drawn;
    this.drawn = phase;
    this.listeners.clear();
    fill(this.heading, word("phase", phase));
    fill(this.steps, PHASES.map((name) => el("li", { "aria-current": name === phase ? "step" : null }, word("phase", name))));
    const behind = PHASES.slice(0, PHASES.indexOf(phase)).map((name) => leftBehind(`${this.session.id} ${name}`));
    fill(this.panel, behind, this[phase]?.() ?? this.ended());
    if (before && before !== phase) {
      focusOn(this.heading);
      announce(t("game.phase", { phase: word("phase", phase) }));
    }
  }

  /** A button to the next phase; `ask()` returns a text to confirm first, or nothing. */
  way(to, text, { first = true, ask = () => null } = {}) {
    const go = async () => {
      const question = ask();
      if (question && !(await sure(question))) return;
      await this.goTo(to);
    };
    return actionButton(text, go, { place: this.place, first });
  }

  /** Confirm if no juror was questioned: that is not possible later. */
  unasked() {
    const spoken = this.messages.some(({ type }) => ["overseer_said", "evidence_presented"].includes(type));
    return spoken ? null : t("game.deliberate_unasked");
  }

  prologue() {
    return el("div", { class: "story stack" },
      this.session.prologue.map((line) => el("div", { class: "speech" },
        el("p", { class: "who" }, el("strong", ofContent(), line.speaker)), el("p", { class: "pre", ...ofContent() }, line.text))),
      el("div", {}, this.way("investigation", t("game.to_investigation"))));
  }

  investigation() {
    return [el("p", { class: "lead" }, t("game.hint.investigation")),
      this.parts([...caseTabs(this, true), this.historyTab()], "dossier"),
      el("div", { class: "row" }, this.way("persuasion", t("game.to_persuasion")))];
  }

  persuasion() {
    return [el("p", { class: "lead" }, t("game.hint.persuasion")),
      this.parts([["jurors", t("game.jurors"), jurorsPanel(this)], ...caseTabs(this, false), this.historyTab()], "jurors"),
      el("div", { class: "row" }, this.way("deliberation", t("game.to_deliberation"), { ask: () => this.unasked() }),
        this.way("investigation", t("game.back"), { first: false }))];
  }

  deliberation() {
    return [el("p", { class: "lead" }, t("game.hint.deliberation")),
      this.parts([["deliberation", word("phase", "deliberation"), deliberationPanel(this)], ...caseTabs(this, false), this.historyTab()], "deliberation")];
  }

  vote() {
    return this.parts([["verdict", word("phase", "vote"), verdictPanel(this)], this.historyTab()], "verdict");
  }

  ended() {
    return this.parts([["verdict", t("game.verdict"), verdictPanel(this)], this.historyTab()], "verdict");
  }

  /** Tabs that keep their selection when redrawn. */
  parts(list, first) {
    if (this.parted !== first) this.part = this.parted || linkedMoment() === null ? first : "history";
    this.parted = first;
    this.tabs = tabs(t("game.parts"), list, this.part, (id) => { this.part = id; });
    return this.tabs;
  }

  /** Open a part if the phase has it. */
  show(part) {
    this.tabs?.show(part);
  }

  historyTab() {
    return ["history", t("game.history"), this.history.node];
  }
}

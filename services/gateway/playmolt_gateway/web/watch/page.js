/** `/watch/{id}`: a game or a run, live or at any past version, shown by its own module or field by field. */

import { get, lines, operatorKey } from "../parts/api.js";
import { copied, rewrite } from "../parts/browser.js";
import { announce, byHand, contentIn, el, fill, select } from "../parts/dom.js";
import { watchGame, watchModeration } from "../parts/feed.js";
import { actionButton, page, trouble } from "../parts/frame.js";
import { GAMES } from "../games.js";
import { reportButton } from "../parts/report.js";
import { QUIET_MS, STALLED_MS } from "../parts/rows.js";
import { isolated, moderationOf, t, word } from "../parts/language.js";
import { Moments } from "../parts/moments.js";
import { Narration } from "../parts/narration.js";
import { Picture } from "../parts/picture.js";
import { RecordView } from "./record.js";
import { Timeline, linkedMoment } from "../parts/timeline.js";
import { VIEWS } from "../views.js";
import { any } from "./any.js";
import { logCard } from "./log.js";

const OVER = ["game_end", "game_aborted", "run_ended"];
const PAGE = 500;
const KEPT = 400;
const SAID_MS = 3000;
const PACE_MS = 100;
const REPORTED = 50;
/** What an agent or a model said in an event. */
const words = (part) => part.text || part.comment || part.content;
/** Messages that playback skips without a pause. */
const QUICK = ["game_created", "agent_joined", "agent_left", "seat_away", "seat_back", "progress"];
/** After this delay "Loading" is shown. */
const WAIT_MS = 1000;

const id = location.pathname.split("/").pop();

page(() => null, draw);

async function draw(main) {
  const watch = await opened(main);
  if (watch) main.replaceChildren();
  contentIn(watch?.language);
  return watch ? new Watch(main, VIEWS[watch.gameType] ?? any, watch).begin() : undefined;
}

async function opened(main) {
  const waits = setTimeout(() => fill(main, el("h1", {}, t("watch.title")), el("p", { class: "quiet waiting", role: "status" }, t("loading"))), WAIT_MS);
  try {
    return await get(`/api/games/${id}/state`, { as: "anonymous" });
  } catch (error) {
    fill(main, el("h1", {}, t("watch.title")), trouble(error), el("p", {}, el("a", { href: "/" }, t("nowhere.lobby"))));
    return null;
  } finally {
    clearTimeout(waits);
  }
}

function ofTournament(seated) {
  return seated ? el("p", {}, el("a", { href: `/tournaments/${seated.id}` }, t("watch.tournament", { n: seated.round }))) : null;
}

/** Why the game does not change ratings, or "". */
function unrated(state) {
  if (state.rated !== false) return "";
  return t(`unrated.${state.unrated ?? (state.tournament ? "tournament" : "private")}`);
}

class Watch {
  constructor(main, game, state) {
    this.game = game;
    this.type = state.gameType;
    this.narration = new Narration(this.type);
    this.events = [];
    this.begun = state.version;
    this.states = new Map([[`${state.version} `, Promise.resolve(state)]]);
    this.seat = new URLSearchParams(location.search).get("seat") ?? "";
    this.picture = GAMES.some((one) => one.type === state.gameType && one.drawn) ? new Picture(`/watch/${id}/picture.svg`) : null;
    this.moderation = moderationOf(state);
    this.picture?.forget(this.moderation);
    this.over = false;
    this.records = null;
    this.unread = null;
    this.wanted = 0;
    this.redraws = 0;
    this.failed = false;
    this.received = [];
    this.busy = false;
    this.timeline = new Timeline({ show: (v) => this.show(v), describe: (v) => this.lineAt(v), start: linkedMoment(), quick: (v) => QUICK.includes(this.events[v - 1]?.type) });
    this.seated = state.participants;
    this.left = el("span", { class: "quiet small number", role: "timer" });
    this.moments = new Moments(t("watch.events"), (v) => this.timeline.choose(v));
    this.tag = el("span", { class: "tag plain", role: "status" });
    this.scene = el("div", { class: "stack", id: "scene" });
    this.knownHead = el("h2", { id: "known" });
    this.knownBody = el("div", { class: "stack" });
    this.known = el("section", { class: "card", hidden: true, "aria-labelledby": "known" }, this.knownHead, this.knownBody);
    this.rating = el("p", { class: "quiet small", id: "rating", hidden: !unrated(state) }, unrated(state));
    this.seats = el("div", { class: "row", hidden: true });
    this.log = el("div");
    this.away = el("div");
    this.record = new RecordView((v) => this.events[v - 1], this.#reads() ? () => this.readLog() : null);
    this.moment = () => {
      const version = linkedMoment();
      if (version === null) this.timeline.follow();
      else if (version !== this.timeline.at) this.timeline.seek(version);
    };
    addEventListener("hashchange", this.moment);
    addEventListener("popstate", this.moment);
    this.back = () => this.failed && this.show(this.wanted);
    addEventListener("online", this.back);
    this.moderated = ({ detail }) => {
      this.redrawn = (this.redrawn ?? Promise.resolve()).then(() => this.redraw(detail)).catch(() => {});
    };
    addEventListener("moderated", this.moderated);
    this.looked = () => this.over && this.lookAgain();
    document.addEventListener("visibilitychange", this.looked);
    this.clock = setInterval(() => this.count(), 1000);
    main.append(
      el("div", { class: "row apart" },
        el("div", { class: "tight" }, el("h1", {}, word("game", state.gameType)), about(state.gameType), ofTournament(state.tournament), this.rating),
        el("div", { class: "row standing" }, this.left, this.seats, this.tag)),
      el("div", { class: "two" }, el("div", { class: "stack" }, this.picture?.node ?? null, this.scene),
        el("div", { class: "stack" }, this.known,
          el("section", { class: "card", "aria-labelledby": "events" },
            el("h2", { id: "events" }, t("watch.events")), this.moments.node, this.record.node, state.participants && !state.participants.some((seat) => seat.handle) ? null : reportButton(() => this.reported())), this.away, this.log)),
      this.timeline.node);
  }

  async begin() {
    await this.history();
    if (!this.over) {
      this.stop = watchGame(id, this.events.length, (message) => this.receive(message), (status) => this.showStatus(status));
    }
    return () => this.close();
  }

  close() {
    this.stop?.();
    this.notices?.();
    removeEventListener("moderated", this.moderated);
    document.removeEventListener("visibilitychange", this.looked);
    clearTimeout(this.saying);
    clearTimeout(this.receiving);
    this.timeline.close();
    clearInterval(this.clock);
    removeEventListener("hashchange", this.moment);
    removeEventListener("popstate", this.moment);
    removeEventListener("online", this.back);
  }

  /** Load past events page by page before following the feed, which sends what came since the page was opened. */
  async history() {
    while (this.events.length < this.begun) {
      const page = await get(`/api/games/${id}/events?after=${this.events.length}&limit=${PAGE}`, { as: "anonymous" });
      if (page.events.length === 0) break;
      this.take(page.events);
    }
    this.timeline.known();
  }

  /** Notices are missed before the feed begins, while it is away and while the page is hidden: see what was hidden since. */
  async lookAgain() {
    if (document.hidden) return;
    const state = await get(`/api/games/${id}/state`, { as: "anonymous" }).catch(() => null);
    if (state && moderationOf(state) !== this.moderation) this.moderated({ detail: {} });
  }

  /** Read again what the operator hid, renamed or restored. */
  async redraw({ game_id: game, agent_id: agent }) {
    if ((game && game !== id) || (agent && !this.events.some((event) => JSON.stringify(event).includes(agent)))) return;
    const events = [];
    while (events.length < this.events.length) {
      const page = await get(`/api/games/${id}/events?after=${events.length}&limit=${PAGE}`, { as: "anonymous" });
      if (page.events.length === 0) break;
      events.push(...page.events);
    }
    this.events.splice(0, events.length, ...events.slice(0, this.events.length));
    this.narration = new Narration(this.type);
    this.moments.replace(this.events.map((event) => [event.version, this.lineAt(event.version)]));
    this.timeline.relabel();
    this.records = null;
    this.knower = null;
    this.record.forget();
    this.moderation = moderationOf(await get(`/api/games/${id}/state`, { as: "anonymous" }));
    this.states.clear();
    this.redraws += 1;
    // Browsers keep a picture for a minute, and one without a mark may be from the moment before this redraw.
    this.picture?.forget(this.moderation || `redrawn-${this.redraws}`);
    await this.show(this.timeline.at);
    if (this.seat && this.game.secrets) await this.read();
  }

  /** Batch messages of the feed: a run sends more than a page can draw one by one. */
  receive(message) {
    this.received.push(message);
    this.receiving ??= setTimeout(() => {
      this.receiving = undefined;
      const messages = this.received.splice(0);
      this.take(messages);
      if (this.timeline.following) this.say(messages.map((one) => this.narration.line(one)).findLast(Boolean));
    }, PACE_MS);
  }

  /** Announce the latest event every few seconds to screen readers; all of them would be too many. */
  say(text) {
    if (!text) return;
    this.newest = text;
    this.saying ??= setTimeout(() => {
      this.saying = null;
      announce(this.newest);
    }, SAID_MS);
  }

  take(messages) {
    this.events.push(...messages);
    if (messages.some((message) => OVER.includes(message.type))) this.ended();
    this.moments.add(messages.map((event) => [event.version, this.lineAt(event.version)]).filter(([, text]) => text));
    if (this.game.mark) this.timeline.marks.add(messages.map((event) => this.marked(event)).filter(Boolean));
    this.receivedAt = Math.min(Date.now(), Date.parse(messages.at(-1).at) || Date.now());
    this.timeline.grow(this.events.length, !this.over);
  }

  /** What may be reported: the words up to the shown moment, the latest first, and the names of the seats. */
  reported() {
    const said = this.events.slice(0, this.timeline.at).flatMap((event) => [event, ...(event.choices ?? [])].map((part) => [event.version, part]))
      .filter(([, part]) => (words(part) || t("withheld")) !== t("withheld")).slice(-REPORTED).reverse();
    const names = this.seated ?? [];
    return [
      // The speakers of a run are models, which have no account.
      ...said.map(([version, part]) => [t("reporting.speech", { name: part.name ?? part.agent_id, text: words(part) }), { kind: "speech", game_id: id, version, ...(part.name && { agent_id: part.agent_id }) }]),
      ...names.map((seat) => [t("reporting.name", { name: seat.name }), { kind: "name", agent_id: seat.id, game_id: id }]),
      ...names.map((seat) => [t("reporting.agent", { name: seat.name }), { kind: "agent", agent_id: seat.id, game_id: id }]),
    ];
  }

  /** The mark of an event, or null. */
  marked(event) {
    if (event.round !== undefined && event.type !== "game_end") this.round = event.round;
    const mark = this.game.mark(event, this.round);
    return mark ? { version: event.version, ...mark } : null;
  }

  /** Update the countdown; a game that exceeds its deadline silently is shown as stalled. */
  count() {
    const left = this.over || !this.due ? null : Math.max(0, Math.ceil((this.due - Date.now()) / 1000));
    this.left.textContent = left === null ? "" : t("time.left", { n: left });
    if (this.over || !this.isLive) return;
    const quiet = Date.now() - this.receivedAt;
    const stalled = this.due ? Date.now() - this.due > STALLED_MS && quiet > STALLED_MS : this.phase !== "waiting" && quiet > QUIET_MS;
    this.timeline.stall(stalled);
    this.tag.textContent = t(stalled ? "stalled" : "live");
    this.tag.className = stalled ? "tag plain" : "tag live";
  }

  ended() {
    this.over = true;
    this.due = null;
    this.showStatus("ended");
    this.record.over();
    this.notices ??= watchModeration();
    if (this.picture) fill(this.away, this.taken());
    if (this.#reads()) fill(this.log, logCard(id, () => this.readLog(), (v) => this.timeline.choose(v)));
    if (!this.game.seats) return;
    this.choose = select([["", t("watch.spectator")]], "", { id: "seat" });
    this.choose.addEventListener("change", () => this.sit(this.choose.value));
    fill(this.seats, el("label", { for: "seat" }, t("watch.as_seat")), this.choose);
    this.state(this.events.length, "").then((state) => {
      for (const [seat, name] of this.game.seats(state)) this.choose.append(el("option", { value: seat }, name));
      this.choose.value = this.seat;
      this.seats.hidden = false;
      if (this.seat && this.choose.value === this.seat) this.sit(this.seat);
      else this.seat = "";
    }).catch(() => {});
  }

  showStatus(status) {
    if (status === "hidden" || (this.over && status === "away")) return;
    if (status === "live") this.lookAgain();
    if (status === "live" && this.failed) this.show(this.wanted);
    const texts = { live: t("live"), ended: t("over"), away: t("reconnecting"), unknown: t("reconnecting") };
    this.tag.textContent = this.over ? t("over") : texts[status];
    this.isLive = status === "live" && !this.over;
    this.tag.className = this.isLive ? "tag live" : "tag plain";
  }

  lineAt(version) {
    const event = this.events[version - 1];
    return event ? this.narration.line(event) : "";
  }

  async sit(seat) {
    this.seat = seat;
    const address = new URL(location.href);
    if (seat) address.searchParams.set("seat", seat);
    else address.searchParams.delete("seat");
    rewrite(address);
    this.show(this.timeline.at);
    if (seat && this.game.secrets && !this.records) await this.read();
  }

  /** Buttons to save or embed a finished game. */
  taken() {
    const copy = el("button", { type: "button", onclick: async () => {
      const frame = `<iframe src="${location.origin}/embed/${id}?v=${this.timeline.at}" width="800" height="520" title="PlayMolt"></iframe>`;
      if (await copied(frame)) announce(t("share.copied"));
      else byHand(hand, frame);
    } }, t("share.embed"));
    const hand = el("div");
    return el("div", { class: "row" }, el("a", { class: "button", href: `/api/games/${id}/replay.html`, download: `${id}.html` }, t("share.save")), copy, hand);
  }

  /** Read the log, which contains what only one seat knew. Some logs require the operator key. */
  async read() {
    this.unread = el("p", { class: "quiet waiting" }, t("loading"));
    this.paintKnown(this.timeline.at);
    if (!this.#reads()) {
      this.unread = el("p", { class: "quiet" }, t("watch.operators"));
    } else {
      try {
        this.records = await this.readLog();
      } catch (error) {
        this.unread = [trouble(error), this.again(() => this.read())];
      }
    }
    this.paintKnown(this.timeline.at);
  }

  readLog() {
    return lines(`/api/games/${id}/log`, this.game.reader);
  }

  #reads() {
    return this.game.reader === "anonymous" || (this.game.reader === "operator" && Boolean(operatorKey()));
  }

  again(act) {
    return el("div", { class: "row" }, actionButton(t("again"), act));
  }

  /** Show a version; while one is loading only the latest request is kept. The live end is redrawn at most ten times a second. */
  async show(version) {
    this.wanted = version;
    if (this.busy) return;
    this.busy = true;
    this.failed = false;
    try {
      let shown = null;
      while (shown !== `${this.wanted} ${this.seat} ${this.redraws}`) {
        const [wanted, seat, redraws] = [this.wanted, this.seat, this.redraws];
        const state = await this.state(wanted, seat);
        shown = `${wanted} ${seat} ${redraws}`;
        if (seat === this.seat) this.paint(state, wanted);
        if (this.timeline.following && !this.over) await new Promise((done) => setTimeout(done, PACE_MS));
      }
    } catch (error) {
      this.failed = true;
      this.picture?.clear();
      fill(this.scene, trouble(error), this.again(() => this.show(this.wanted)));
    } finally {
      this.busy = false;
    }
  }

  async state(version, seat) {
    const key = `${version} ${seat}`;
    if (!this.states.has(key)) {
      const as = seat ? `&seat=${encodeURIComponent(seat)}` : "";
      const read = get(`/api/games/${id}/state?at=${version}${as}`, { as: seat ? this.game.reader : "anonymous", patient: navigator.onLine });
      read.catch(() => this.states.delete(key));
      this.states.set(key, read);
      if (this.states.size > KEPT) this.states.delete(this.states.keys().next().value);
    }
    return this.states.get(key);
  }

  paint(state, version) {
    this.seated = state.participants;
    // Only the latest state has the current deadline.
    if (version === this.events.length) this.phase = state.phase;
    if (version === this.events.length && !this.over) this.due = state.deadline ? Date.parse(state.deadline) : null;
    if (this.rating.textContent !== unrated(state)) fill(this.rating, unrated(state));
    this.rating.hidden = !this.rating.textContent;
    this.picture?.show(version, this.seat).catch(() => {});
    const reason = this.events[version - 1]?.type === "game_aborted" ? this.events[version - 1].reason : null;
    const ended = reason === null ? null : el("p", { class: "notice" }, reason === "abandoned" ? t("aborted.abandoned") : t("aborted.operator", { reason }));
    this.ending ??= el("div", { class: "stack" });
    fill(this.ending, ended, this.absent(state));
    if (!this.ending.isConnected) this.scene.before(this.ending);
    fill(this.scene, this.game.scene(state, this.events[version - 1], this.seat));
    this.moments.mark(version);
    this.record.show(version);
    this.paintKnown(version);
  }

  /** Who is absent, and how a seat comes back. */
  absent(state) {
    const names = (state.participants ?? []).filter((seat) => seat.away && !seat.resigned).map((seat) => isolated(seat.name));
    if (this.over || !names.length) return null;
    return el("p", { class: "notice small" }, t(state.gameType === "ox" ? "away.back.ox" : "away.back", { names: names.join(", ") }));
  }

  paintKnown(version) {
    this.known.hidden = !this.seat || !this.game.secrets;
    if (this.known.hidden) return;
    fill(this.knownHead, t("watch.only", { name: this.choose.selectedOptions[0].textContent }));
    if (!this.records) {
      fill(this.knownBody, this.unread);
      return;
    }
    if (this.knower?.seat !== this.seat) {
      this.knower = new Knower(this.seat, this.game.secrets(this.records, this.seat), (v) => this.timeline.choose(v));
    }
    if (!this.knownBody.contains(this.knower.node)) fill(this.knownBody, this.knower.node);
    this.knower.at(version);
  }
}

/** The description of a game type, or null. */
function about(game) {
  const text = word("about", game);
  return text === game ? null : el("p", { class: "lead small" }, text);
}

/** What only one seat knew, now and in total. `secrets` is [{from, to, text, shown}]; `shown` ends the display before `to`. */
class Knower {
  constructor(seat, secrets, choose) {
    this.seat = seat;
    this.secrets = secrets;
    this.now = el("p", { class: "only" });
    this.moments = new Moments(t("watch.all_secrets", { n: secrets.length }), choose);
    this.node = el("div", { class: "stack" }, this.now,
      secrets.length ? el("details", {}, el("summary", {}, t("watch.all_secrets", { n: secrets.length })), this.moments.node) : null);
    this.moments.add(secrets.map(({ from, to, text }) =>
      [from, `${text} — ${Number.isFinite(to) ? t("watch.until", { to }) : t("watch.never")}`]));
  }

  at(version) {
    const now = this.secrets.filter((secret) => secret.from <= version && version < (secret.shown ?? secret.to));
    fill(this.now, now.length ? now.map((secret) => secret.text).join(" · ") : t("watch.nothing"));
    this.moments.mark(version);
  }
}

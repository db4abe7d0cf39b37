/** A person's seat in a game: what it sees, what it may send, what it missed, and how the game ended. */

import { get, inOrder, post } from "../parts/api.js";
import { copied, go, kept } from "../parts/browser.js";
import { announce, byHand, el, field, fill, filler, focusOn, named } from "../parts/dom.js";
import { watchSeat } from "../parts/feed.js";
import { actionButton, sure, trouble } from "../parts/frame.js";
import { t, word } from "../parts/language.js";
import { Narration } from "../parts/narration.js";
import { agentLink } from "../parts/rows.js";
import { leftBehind } from "../sessions/drafts.js";
import { VIEWS } from "../views.js";
import { any } from "../watch/any.js";
import { actionCard, draftOf } from "./action.js";

export const OVER = ["end", "aborted"];
const REFRESH_MS = 150;
const TICK_MS = 250;
/** How often the page asks again after a deadline has passed without news. */
const LATE_MS = 2000;
const PAGE = 500;
const SHOWN = 8;
/** Who was away for less than this has missed nothing but deadlines of its own. */
const AWAY_MS = 5000;
/** The seat's own deadlines in a row without any sign of the person, after which the page no longer keeps the others waiting. */
const IDLE = 2;
/** Seconds left at which a screen reader says so. */
const WARNED = [30, 10];
const KEPT = "playmolt.seat ";

/** The game of this type in which this browser sat last, or "". */
export const seatKept = (type) => kept.get(KEPT + type) ?? "";

export class Seat {
  constructor(main, type, id, title) {
    this.type = type;
    this.id = id;
    this.path = `/api/games/${encodeURIComponent(id)}`;
    this.view = VIEWS[type] ?? any;
    this.narration = new Narration(type);
    this.order = inOrder();
    const [seen, at] = (kept.get(KEPT + id) ?? "").split(" ").map(Number);
    this.seen = seen || 0;
    /** When the person saw the page last. */
    this.seenAt = at || Date.now();
    this.missed = [];
    this.missedShown = 0;
    this.idle = 0;
    this.turn = "";
    this.offer = null;
    this.note = "";
    this.over = false;
    kept.set(KEPT + type, id);
    this.timer = el("span", { class: "number", role: "timer" });
    this.feed = el("span", { class: "tag plain", role: "status" });
    this.own = el("p", { class: "row" });
    this.missedAt = el("div");
    this.top = el("div", { class: "stack" });
    this.problem = el("div");
    this.task = el("div", { class: "stack" });
    this.unsent = el("div");
    this.rest = el("div", { class: "stack" });
    this.out = el("div");
    [this.fillOwn, this.fillTop, this.fillRest, this.fillOut] = [this.own, this.top, this.rest, this.out].map(filler);
    main.append(
      el("div", { class: "row apart seat-head" }, el("h1", {}, title), el("div", { class: "row standing" }, this.timer, this.feed)),
      this.own, this.missedAt, this.top, this.problem, this.task, this.unsent, this.rest, this.out);
    this.active = () => { this.idle = 0; };
    this.look = () => this.#looked();
    this.hide = () => this.#leaves();
    for (const event of ["pointerdown", "keydown"]) addEventListener(event, this.active);
    document.addEventListener("visibilitychange", this.look);
    addEventListener("online", this.look);
    addEventListener("pagehide", this.hide);
    this.clock = setInterval(() => this.#count(), TICK_MS);
  }

  async begin(state) {
    // Who has just sat down has missed nothing.
    if (!this.seen) this.#saw(state.version);
    this.state = state;
    for (const one of state.participants ?? []) this.narration.meet(one);
    try {
      await this.#catchUp();
    } catch (error) {
      this.#draw();
      this.#failed(error);
    }
    this.#follow();
    return () => this.close();
  }

  close() {
    this.stop?.();
    clearInterval(this.clock);
    clearTimeout(this.timing);
    for (const event of ["pointerdown", "keydown"]) removeEventListener(event, this.active);
    document.removeEventListener("visibilitychange", this.look);
    removeEventListener("online", this.look);
    removeEventListener("pagehide", this.hide);
  }

  #follow() {
    this.stop?.();
    if (this.over || this.paused) return;
    this.stop = watchSeat(`${this.path}/stream`, this.seen, (message) => this.#take(message), (status) => {
      this.#say(status);
      // After a lost connection what happened is read in one piece, and named as missed.
      if (status === "live" && this.lost) this.#look();
      if (status === "away" && !this.lost) this.#leaves();
      this.lost = status === "away";
    });
  }

  /** Whether what is shown is live; nothing once the game is over. */
  #say(status) {
    const texts = { live: t("live"), away: t("reconnecting") };
    this.feed.textContent = this.over ? "" : texts[status] ?? "";
    this.feed.hidden = !this.feed.textContent;
    this.feed.parentNode.hidden = this.over;
    this.feed.className = status === "live" ? "tag live" : "tag plain";
  }

  /** The page is shown again, or the connection is back. */
  #looked() {
    if (document.hidden) this.#leaves();
    else if (navigator.onLine) this.#look();
  }

  /** From now on the person sees nothing of the game. */
  #leaves() {
    this.seenAt = Date.now();
    this.#saw(this.seen);
  }

  #look() {
    if (!this.over && !this.paused) this.#catchUp().catch((error) => this.#failed(error));
  }

  /** Read what happened since this browser last looked, then the state. */
  async #catchUp() {
    if (this.catching) return;
    this.catching = true;
    const away = Date.now() - this.seenAt;
    const before = this.missed.length;
    try {
      for (;;) {
        const { events } = await get(`${this.path}/events?after=${this.seen}&limit=${PAGE}`, { as: "person" });
        for (const event of events) this.#hear(event, true);
        if (events.length < PAGE) break;
      }
    } finally {
      this.catching = false;
    }
    if (away < AWAY_MS && !this.missed.some(({ mine }) => mine)) this.missed.length = before;
    this.seenAt = Date.now();
    await this.#refresh();
  }

  #take(message) {
    if (this.catching || message.version <= this.seen) return;
    this.#hear(message, document.hidden);
    if (this.paused) return;
    this.timing ??= setTimeout(() => {
      this.timing = undefined;
      this.#refresh().catch((error) => this.#failed(error));
    }, REFRESH_MS);
  }

  #hear(message, missed) {
    const line = this.narration.line(message);
    const mine = message.agent_id !== undefined && message.agent_id === this.state?.self?.id;
    if (missed && line) this.missed.push({ line, mine: mine && Boolean(message.forfeit) });
    if (mine && !missed && message.forfeit) this.idle += 1;
    this.#saw(message.version);
    if (this.idle >= IDLE && !this.over) this.#pause();
  }

  #saw(version) {
    this.seen = Math.max(this.seen, version);
    kept.set(KEPT + this.id, `${this.seen} ${document.hidden ? this.seenAt : Date.now()}`);
  }

  /** The person seems to be gone: from here on the page sends nothing in the person's name, and the others do not wait. */
  #pause() {
    this.paused = true;
    this.stop?.();
    clearTimeout(this.timing);
    this.timing = undefined;
    this.due = null;
    const back = async () => {
      this.paused = false;
      this.idle = 0;
      this.turn = "";
      await this.#catchUp();
      this.#follow();
    };
    const place = el("div");
    fill(this.task, el("section", { class: "card on", "aria-labelledby": "turn" }, el("h2", { id: "turn" }, t("play.there")),
      el("p", {}, t("play.there.about")), place, el("div", { class: "row end" }, actionButton(t("play.back"), back, { place, first: true }))));
    this.#say("");
    announce(t("play.there"));
  }

  /** What failed beside the person's own doing. The form stays; a lost connection is said elsewhere. */
  #failed(error) {
    if (error.code === "offline") return;
    const place = el("div");
    fill(this.problem, trouble(error), el("div", { class: "row" }, actionButton(t("again"), () => this.#refresh(), { place })), place);
  }

  /** Read the state, with what may be sent now. Of answers that overtake each other the newest is shown. */
  async #refresh() {
    const newest = this.order();
    const asked = await get(`/api/agents/me/turn?game_id=${encodeURIComponent(this.id)}`, { as: "person" });
    if (this.paused) return;
    const offer = asked.game_id === this.id && !asked.over ? asked : null;
    const state = offer ? offer.state : await get(`${this.path}/state`, { as: "person" });
    if (!newest() || this.paused || state.version < this.state.version) return;
    this.state = state;
    this.offer = offer?.actions.length ? offer : null;
    this.due = typeof state.seconds_left === "number" ? performance.now() + state.seconds_left * 1000 : null;
    this.over = OVER.includes(state.phase);
    fill(this.problem);
    this.#draw();
    if (this.over) this.stop?.();
  }

  #count() {
    const left = this.due === null || this.due === undefined ? null : Math.max(0, Math.ceil((this.due - performance.now()) / 1000));
    const text = left === null ? "" : t("time.left", { n: left });
    if (this.timer.textContent !== text) this.timer.textContent = text;
    if (left === null) return;
    if (this.offer && WARNED.includes(left) && this.warned !== `${this.turn} ${left}`) {
      this.warned = `${this.turn} ${left}`;
      announce(text);
    }
    if (left > 0 || this.paused || document.hidden || performance.now() < (this.asksAt ?? 0)) return;
    this.asksAt = performance.now() + LATE_MS;
    this.#refresh().catch(() => {});
  }

  #draw() {
    const { state } = this;
    for (const one of state.participants ?? []) this.narration.meet(one);
    if (this.over) this.#say("");
    this.fillOwn(state.self, () => ownSeat(state));
    const [above, below] = this.view.played?.(state, state.self.id) ?? firstOf(this.view.scene(state, undefined, state.self.id));
    const seen = { ...state, seconds_left: null, version: null };
    this.fillTop([seen, "top"], () => above);
    this.fillRest(seen, () => below);
    this.#drawMissed();
    this.#drawTask();
    this.fillOut([state.phase, resigned(state)], () => this.#ways());
    this.#count();
  }

  /** What happened while the page was not seen; the seat's own misses first. It stays until the person has read it. */
  #drawMissed() {
    if (this.missed.length === this.missedShown) return;
    this.missedShown = this.missed.length;
    if (!this.missed.length) {
      fill(this.missedAt);
      return;
    }
    const lines = this.missed.filter((one) => !one.mine).map(({ line }) => line);
    const mine = this.missed.filter((one) => one.mine).map(({ line }) => line);
    const read = () => {
      this.missed = [];
      this.#drawMissed();
      focusOn(this.task.querySelector("h2"));
    };
    announce(t("play.missed"));
    fill(this.missedAt, el("section", { class: "card", "aria-labelledby": "missed" }, el("h2", { id: "missed" }, t("play.missed")),
      mine.length ? el("div", { class: "notice" }, el("p", {}, t("play.missed.own")), el("ul", { class: "tight" }, mine.slice(-SHOWN).map((line) => el("li", {}, line)))) : null,
      lines.length > SHOWN ? el("p", { class: "quiet small" }, t("play.missed.more", { n: lines.length - SHOWN })) : null,
      el("ul", { class: "tight small" }, lines.slice(-SHOWN).map((line) => el("li", {}, line))),
      el("div", { class: "row end" }, el("button", { type: "button", onclick: read }, t("play.missed.ok")))));
  }

  /** What the seat is asked for. It is drawn once a turn, so that nothing that is typed is lost. */
  #drawTask() {
    const { state, offer } = this;
    if (this.paused) return;
    const wanted = offer ? `turn ${offer.turn_id} ${offer.actions.map(({ type }) => type)}`
      : this.over ? state.phase : state.phase === "waiting" ? `waiting ${state.invite ?? ""}` : `wait ${resigned(state)}`;
    const changed = wanted !== this.turn;
    const note = this.note ? el("p", { class: "notice", role: "alert" }, this.note) : null;
    if (!changed && !note) {
      this.#drawUnsent();
      return;
    }
    const held = this.task.contains(document.activeElement) || document.activeElement === document.body;
    this.turn = wanted;
    this.note = "";
    fill(this.task, note, offer ? actionCard(this.id, this.type, offer, (late) => this.#sent(late))
      : this.over ? this.#ended() : state.phase === "waiting" ? this.#waiting() : this.#waits());
    this.#drawUnsent();
    // Who types elsewhere on the page is not moved away.
    if (held && this.drawn) focusOn(this.task.querySelector("h2"));
    if (offer) announce(t("play.your_turn"));
    this.drawn = true;
  }

  /** Texts of turns that ended before they were sent. */
  #drawUnsent() {
    const turn = this.offer ? draftOf(this.id, this.offer.turn_id) : "";
    fill(this.unsent, leftBehind(draftOf(this.id), { except: turn, use: this.offer ? (text) => this.#use(text) : null }));
  }

  #use(text) {
    const control = this.task.querySelector("textarea, input[type=text]");
    if (!control) return;
    control.value = text;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    control.focus();
  }

  async #sent(late) {
    if (late) this.note = t(`play.${late}`);
    else announce(t("play.sent"));
    this.idle = 0;
    this.missed = [];
    this.#drawMissed();
    await this.#refresh();
  }

  #waits() {
    const gone = resigned(this.state);
    return el("section", { class: "card" }, el("h2", {}, t(gone ? "play.resigned" : "play.waits")),
      el("p", { class: "quiet" }, t(gone ? "play.resigned.about" : "play.waits.about")),
      gone ? this.#next(false) : null);
  }

  #waiting() {
    const { invite } = this.state;
    if (!invite) return el("section", { class: "card" }, el("h2", {}, t("play.waiting")), el("p", { class: "quiet" }, t("play.waiting.public")));
    const link = `${location.origin}/play/${this.type}?invite=${invite}`;
    const place = el("div");
    const copy = async () => {
      if (await copied(link)) announce(t("share.copied"));
      else byHand(place, link);
    };
    return el("section", { class: "card on", "aria-labelledby": "turn" }, el("h2", { id: "turn" }, t("play.waiting")), el("p", {}, t("play.waiting.invite")),
      field(t("share.address"), el("input", { type: "text", readonly: true, value: link, name: "link" })),
      place, el("div", { class: "row end" }, actionButton(t("share.copy"), copy, { place, first: true })),
      el("p", { class: "quiet small" }, t("play.waiting.bots"), " ", el("code", {}, invite)));
  }

  #ended() {
    const own = (this.state.results ?? []).find((row) => row.agent_id === this.state.self.id);
    const said = !own ? t("play.ended.none") : own.rank ? t("play.ended.rank", { rank: own.rank, points: own.points })
      : own.won === true ? t("play.ended.won", { points: own.points }) : own.won === false ? t("play.ended.lost", { points: own.points })
        : t("play.ended.points", { points: own.points });
    announce(said);
    return el("section", { class: "card on", "aria-labelledby": "turn" }, el("h2", { id: "turn" }, t("play.ended")),
      el("p", { class: "lead" }, said), this.#next(true));
  }

  #next(over) {
    return el("div", { class: "row end" }, el("a", { class: "button", href: `/watch/${this.id}` }, t(over ? "play.replay" : "way.watch")),
      el("button", { type: "button", class: "first", onclick: () => {
        kept.remove(KEPT + this.type);
        go(`/play/${this.type}`);
      } }, t("play.again")));
  }

  /** Out of the game: to leave while it waits, to resign while it runs. */
  #ways() {
    if (this.over || resigned(this.state)) return null;
    const waits = this.state.phase === "waiting";
    const place = el("div");
    const leave = async () => {
      if (!(await sure(t(waits ? "play.leave.sure" : "play.resign.sure")))) return;
      await post(`${this.path}/${waits ? "leave" : "resign"}`, {}, { as: "person" });
      if (!waits) {
        await this.#refresh();
        return;
      }
      kept.remove(KEPT + this.type);
      go(`/play/${this.type}`);
    };
    return el("div", { class: "row" }, actionButton(t(waits ? "play.leave" : "play.resign"), leave, { place, class: "bare" }),
      this.state.private ? null : el("a", { class: "small", href: `/watch/${this.id}` }, t("way.watch")), place);
  }
}

/** A view without an order of its own: its first part above the form. */
const firstOf = ([first, ...others]) => [[first], others];

function resigned(state) {
  return Boolean((state.participants ?? []).find(({ id }) => id === state.self.id)?.resigned);
}

/** The fields of a seat that are of one value, such as its role or its points. */
function ownSeat({ self, participants }) {
  const own = (participants ?? []).find(({ id }) => id === self.id) ?? {};
  const facts = Object.entries(self).filter(([name, value]) => !["id", "name", "submitted"].includes(name) && value !== null && typeof value !== "object");
  return [el("span", {}, t("play.you"), " ", agentLink({ ...own, id: self.id, name: self.name })),
    facts.map(([name, value]) => el("span", { class: "quiet" }, `${t("play.fact", { name: word("self", name).replaceAll("_", " ") })} `,
      el("strong", {}, typeof value === "boolean" ? t(value ? "yes" : "no") : named(word(name, value)))))];
}

/** `/watch/{id}`: a game or a run, drawn by its own module or field by field, live and back through its whole time. */

import { get, lines, operatorKey } from "../parts/api.js";
import { announce, el, fill, select } from "../parts/dom.js";
import { watchGame } from "../parts/feed.js";
import { actionButton, page, trouble } from "../parts/frame.js";
import { GAMES } from "../games.js";
import { t, word } from "../parts/language.js";
import { Moments } from "../parts/moments.js";
import { Narration } from "../parts/narration.js";
import { Timeline, linkedMoment } from "../parts/timeline.js";
import { any } from "./any.js";
import { logCard } from "./log.js";

const OVER = ["game_end", "game_aborted", "run_ended"];
const PAGE = 500;
const KEPT = 400;
const SAID_MS = 3000;
const PACE_MS = 100;

const id = location.pathname.split("/").pop();

page(() => t("watch.title"), draw);

async function draw(main) {
  const watch = await opened(main);
  return watch ? new Watch(main, await drawing(watch.gameType), watch).begin() : undefined;
}

/** How a type is drawn: by its own module, or field by field. */
async function drawing(type) {
  return GAMES.some((one) => one.type === type && one.watch) ? (await import(`../games/${type}/watch.js`)).game : any;
}

async function opened(main) {
  try {
    return await get(`/api/games/${id}/state`, { as: "nobody" });
  } catch (error) {
    fill(main, el("h1", {}, t("watch.title")), trouble(error));
    return null;
  }
}

class Watch {
  constructor(main, game, state) {
    this.game = game;
    this.narration = new Narration(state.gameType);
    this.events = [];
    this.states = new Map();
    this.seat = "";
    this.over = false;
    this.records = null;
    this.unread = null;
    this.wanted = 0;
    this.failed = false;
    this.heard = [];
    this.busy = false;
    this.timeline = new Timeline({ show: (v) => this.show(v), tell: (v) => this.told(v), start: linkedMoment() });
    this.moments = new Moments(t("watch.events"), (v) => this.timeline.choose(v));
    this.tag = el("span", { class: "tag plain", role: "status" });
    this.scene = el("div", { class: "stack", id: "scene" });
    this.knownHead = el("h2", { id: "known" });
    this.knownBody = el("div", { class: "stack" });
    this.known = el("section", { class: "card", hidden: true, "aria-labelledby": "known" }, this.knownHead, this.knownBody);
    this.seats = el("div", { class: "row", hidden: true });
    this.log = el("div");
    this.moment = () => {
      const version = linkedMoment();
      if (version !== null) this.timeline.seek(version);
      else if (!location.hash) this.timeline.follow();
    };
    addEventListener("hashchange", this.moment);
    main.append(
      el("div", { class: "row apart" },
        el("h1", {}, word("game", state.gameType)), el("div", { class: "row" }, this.seats, this.tag)),
      el("div", { class: "two" }, this.scene,
        el("div", { class: "stack" }, this.known,
          el("section", { class: "card", "aria-labelledby": "events" },
            el("h2", { id: "events" }, t("watch.events")), this.moments.node), this.log)),
      this.timeline.node);
  }

  async begin() {
    await this.history();
    if (!this.over) {
      this.stop = watchGame(id, this.events.length, (message) => this.hear(message), (told) => this.tell(told));
    }
    return () => this.close();
  }

  close() {
    this.stop?.();
    clearTimeout(this.saying);
    cancelAnimationFrame(this.frame);
    this.timeline.close();
    removeEventListener("hashchange", this.moment);
  }

  /** Read what has been, page by page, before the feed tells what comes. */
  async history() {
    for (;;) {
      const page = await get(`/api/games/${id}/events?after=${this.events.length}&limit=${PAGE}`, { as: "nobody" });
      if (page.events.length === 0) break;
      this.take(page.events);
    }
    this.timeline.known();
  }

  /** Take what the feed tells, all of a frame at once: a run tells more than a page could draw one by one. */
  hear(message) {
    this.heard.push(message);
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      const messages = this.heard.splice(0);
      this.take(messages);
      if (this.timeline.following) this.say(messages.map((one) => this.narration.tell(one)).findLast(Boolean));
    });
  }

  /** Read out what happens, the newest every few seconds: who listens would have no time for all of it. */
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
    this.moments.add(messages.map((event) => [event.version, this.told(event.version)]).filter(([, text]) => text));
    this.timeline.grow(this.events.length, !this.over);
  }

  ended() {
    this.over = true;
    this.tell("ended");
    if (this.#reads()) fill(this.log, logCard(id, () => this.readLog(), (v) => this.timeline.choose(v)));
    if (!this.game.seats) return;
    this.choose = select([["", t("watch.spectator")]], "", { id: "seat" });
    this.choose.addEventListener("change", () => this.sit(this.choose.value));
    fill(this.seats, el("label", { for: "seat" }, t("watch.as_seat")), this.choose);
    this.state(this.events.length, "").then((state) => {
      for (const [seat, name] of this.game.seats(state)) this.choose.append(el("option", { value: seat }, name));
      this.seats.hidden = false;
    }).catch(() => {});
  }

  tell(told) {
    if (told === "hidden" || (this.over && told === "away")) return;
    if (told === "live" && this.failed) this.show(this.wanted);
    const texts = { live: t("live"), ended: t("over"), away: t("reconnecting"), unknown: t("reconnecting") };
    this.tag.textContent = this.over ? t("over") : texts[told];
    this.tag.className = told === "live" && !this.over ? "tag live" : "tag plain";
  }

  told(version) {
    const event = this.events[version - 1];
    return event ? this.narration.tell(event) : "";
  }

  async sit(seat) {
    this.seat = seat;
    this.show(this.timeline.at);
    if (seat && this.game.secrets && !this.records) await this.read();
  }

  /** Read the log, which alone holds what only one seat knew. That of some games is the operator's. */
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
    return this.game.reader === "nobody" || (this.game.reader === "operator" && Boolean(operatorKey()));
  }

  again(act) {
    return el("div", { class: "row" }, actionButton(t("again"), act));
  }

  /** Show a moment; while one is on its way only the newest wish is kept. The live end is shown ten times a second. */
  async show(version) {
    this.wanted = version;
    if (this.busy) return;
    this.busy = true;
    this.failed = false;
    try {
      let shown = null;
      while (shown !== `${this.wanted} ${this.seat}`) {
        const [wanted, seat] = [this.wanted, this.seat];
        const state = await this.state(wanted, seat);
        shown = `${wanted} ${seat}`;
        if (seat === this.seat) this.paint(state, wanted);
        if (this.timeline.following && !this.over) await new Promise((done) => setTimeout(done, PACE_MS));
      }
    } catch (error) {
      this.failed = true;
      fill(this.scene, trouble(error), this.again(() => this.show(this.wanted)));
    } finally {
      this.busy = false;
    }
  }

  async state(version, seat) {
    const key = `${version} ${seat}`;
    if (!this.states.has(key)) {
      const as = seat ? `&seat=${encodeURIComponent(seat)}` : "";
      this.states.set(key, await get(`/api/games/${id}/state?at=${version}${as}`, { as: seat ? this.game.reader : "nobody" }));
      if (this.states.size > KEPT) this.states.delete(this.states.keys().next().value);
    }
    return this.states.get(key);
  }

  paint(state, version) {
    fill(this.scene, this.game.scene(state, this.events[version - 1], this.seat));
    this.moments.mark(version);
    this.paintKnown(version);
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

/** What one seat alone knew: now, and all of it. `secrets` is [{from, to, text, shown}]: `shown` ends its now before `to`. */
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

/** `/watch/{id}`: a trial, an O/X game or an Agora run, live and back through its whole time. */

import { get, lines } from "./api.js";
import { el, fill, select } from "./dom.js";
import { watchGame } from "./feed.js";
import { page, trouble } from "./frame.js";
import { t, word } from "./language.js";
import { Timeline, linkedMoment } from "./timeline.js";
import { agora } from "./watch_agora.js";
import { ox } from "./watch_ox.js";
import { trial } from "./watch_trial.js";

const GAMES = { trial, ox, agora };
const OVER = ["game_end", "game_aborted", "run_ended"];
const PAGE = 500;
const KEPT = 400;
const LISTED = 600;

const id = location.pathname.split("/").pop();

page(() => t("watch.title"), draw);

async function draw(main) {
  const watch = await opened(main);
  return watch ? new Watch(main, GAMES[watch.gameType], watch).begin() : undefined;
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
    this.events = [];
    this.states = new Map();
    this.seat = "";
    this.over = false;
    this.records = null;
    this.wanted = 0;
    this.busy = false;
    this.timeline = new Timeline({ show: (v) => this.show(v), tell: (v) => this.told(v), start: linkedMoment() });
    this.tag = el("span", { class: "tag plain" });
    this.scene = el("div", { class: "stack", id: "scene" });
    this.list = el("ol", { class: "log", tabindex: "0", "aria-label": t("watch.events") });
    this.knownHead = el("h2", { id: "known" });
    this.knownBody = el("div", { class: "stack" });
    this.known = el("section", { class: "card", hidden: true, "aria-labelledby": "known" }, this.knownHead, this.knownBody);
    this.seats = el("div", { class: "row", hidden: true });
    this.moment = () => {
      const version = linkedMoment();
      if (version !== null) this.timeline.go(version);
      else if (!location.hash) this.timeline.follow();
    };
    addEventListener("hashchange", this.moment);
    main.append(
      el("div", { class: "row apart" },
        el("h1", {}, word("game", state.gameType)), el("div", { class: "row" }, this.seats, this.tag)),
      el("div", { class: "two" }, this.scene,
        el("div", { class: "stack" }, this.known,
          el("section", { class: "card", "aria-labelledby": "events" },
            el("h2", { id: "events" }, t("watch.events")), this.list))),
      this.timeline.node);
  }

  async begin() {
    await this.history();
    if (!this.over) {
      this.stop = watchGame(id, this.events.length, (message) => this.take([message]), (told) => this.tell(told));
    }
    return () => this.close();
  }

  close() {
    this.stop?.();
    this.timeline.close();
    removeEventListener("hashchange", this.moment);
  }

  /** Read what has been, page by page, before the feed tells what comes. */
  async history() {
    for (;;) {
      const page = await get(`/api/games/${id}/events?after=${this.events.length}&limit=${PAGE}`, { as: "nobody" });
      if (page.events.length === 0) return;
      this.take(page.events);
    }
  }

  take(messages) {
    this.events.push(...messages);
    if (messages.some((message) => OVER.includes(message.type))) this.ended();
    this.draw(messages);
    this.timeline.grow(this.events.length, !this.over);
  }

  ended() {
    this.over = true;
    this.tell("ended");
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
    if (this.over && told === "away") return;
    const texts = { live: t("live"), ended: t("over"), away: t("reconnecting"), unknown: t("reconnecting") };
    this.tag.textContent = this.over ? t("over") : texts[told];
    this.tag.className = told === "live" && !this.over ? "tag live" : "tag plain";
  }

  told(version) {
    const event = this.events[version - 1];
    return event ? this.game.line(event) : "";
  }

  draw(messages) {
    const atEnd = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 60;
    for (const event of messages) {
      const text = event.type === "progress" ? null : this.game.line(event);
      if (!text) continue;
      const button = el("button", { type: "button", "data-v": event.version,
        onclick: () => this.timeline.choose(event.version) },
        el("span", { class: "number" }, event.version), el("span", {}, text));
      this.list.append(el("li", {}, button));
    }
    while (this.list.children.length > LISTED) this.list.firstChild.remove();
    if (atEnd) this.list.scrollTop = this.list.scrollHeight;
  }

  async sit(seat) {
    this.seat = seat;
    if (seat && !this.records) this.records = await lines(`/api/games/${id}/log`).catch(() => []);
    this.show(this.timeline.at);
  }

  /** Show a moment; while one is on its way only the newest wish is kept. */
  async show(version) {
    this.wanted = version;
    if (this.busy) return;
    this.busy = true;
    try {
      let shown = null;
      while (shown !== `${this.wanted} ${this.seat}`) {
        const [wanted, seat] = [this.wanted, this.seat];
        const state = await this.state(wanted, seat);
        shown = `${wanted} ${seat}`;
        if (shown === `${this.wanted} ${this.seat}`) this.paint(state, wanted);
      }
    } catch (error) {
      fill(this.scene, trouble(error));
    } finally {
      this.busy = false;
    }
  }

  async state(version, seat) {
    const key = `${version} ${seat}`;
    if (!this.states.has(key)) {
      const as = seat ? `&seat=${encodeURIComponent(seat)}` : "";
      this.states.set(key, await get(`/api/games/${id}/state?at=${version}${as}`, { as: "nobody" }));
      if (this.states.size > KEPT) this.states.delete(this.states.keys().next().value);
    }
    return this.states.get(key);
  }

  paint(state, version) {
    fill(this.scene, this.game.scene(state, this.events[version - 1], this.seat));
    for (const button of this.list.querySelectorAll("[aria-current]")) button.removeAttribute("aria-current");
    const current = this.list.querySelector(`[data-v="${version}"]`);
    if (current) {
      current.setAttribute("aria-current", "true");
      const row = current.parentElement;
      if (row.offsetTop < this.list.scrollTop || row.offsetTop + row.offsetHeight > this.list.scrollTop + this.list.clientHeight) {
        this.list.scrollTop = row.offsetTop - this.list.clientHeight / 2;
      }
    }
    this.paintKnown(version);
  }

  paintKnown(version) {
    this.known.hidden = !(this.seat && this.records);
    if (this.known.hidden) return;
    const secrets = this.game.secrets(this.records, this.seat);
    const now = secrets.filter((secret) => secret.from <= version && version < secret.to);
    const name = this.choose.selectedOptions[0].textContent;
    const item = (secret) => el("li", {},
      el("button", { type: "button", onclick: () => this.timeline.choose(secret.from) },
        el("span", { class: "number" }, secret.from),
        el("span", {}, `${secret.text} — ${Number.isFinite(secret.to) ? t("watch.until", { to: secret.to }) : t("watch.never")}`)));
    fill(this.knownHead, t("watch.only", { name }));
    fill(this.knownBody,
      el("p", { class: "only" }, now.length ? now.map((secret) => secret.text).join(" · ") : t("watch.nothing")),
      secrets.length ? el("details", {}, el("summary", {}, t("watch.all_secrets", { n: secrets.length })),
        el("ol", { class: "log" }, secrets.map(item))) : null);
  }
}

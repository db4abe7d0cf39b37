/** `/play/{game}`: a person takes a seat: with house bots, with friends by invite, or in public where that is allowed. */

import { call, get, forgetPerson, ownerKey, person, post, setCsrf, setPerson } from "../parts/api.js";
import { SIGNED_IN, go, kept, rewrite } from "../parts/browser.js";
import { contentIn, el, field, fill, focusOn, named, select } from "../parts/dom.js";
import { inWords } from "../parts/faults.js";
import { actionButton, page, sure, trouble } from "../parts/frame.js";
import { language, t, word } from "../parts/language.js";
import { keepDraft } from "../sessions/drafts.js";
import { codeField } from "../sessions/invite.js";
import { GAMES } from "../games.js";
import { OVER, Seat, seatKept } from "./seat.js";

const NAME_CHARS = 40;
const LANGUAGES = ["ko", "en", "zh"];
/** Seconds for a turn in a private game; "" is the game's own time. */
const TIMES = ["", "180", "600", "0"];
/** Seconds after which house bots take the seats that are left; "" is never. */
const FILLS = ["60", "300", "600", ""];
/** What a person pastes: an invite, or a link that has one. */
const INVITE = /(?:[?&]invite=)?([\w-]{20,64})\s*$/;

const type = location.pathname.split("/").pop();
const people = document.querySelector('meta[name="people"]')?.content === "yes";
const asked = (name) => new URLSearchParams(location.search).get(name) ?? "";
const lang = () => (asked("lang") ? `&lang=${encodeURIComponent(asked("lang"))}` : "");
const address = (game) => `/play/${type}?game=${encodeURIComponent(game)}${lang()}`;
const title = () => t("head.play", { game: word("game", type) });

page(title, draw);

async function draw(main) {
  const invite = asked("invite");
  const wanted = asked("game") || (invite ? "" : seatKept(type));
  if (!wanted || !person()) return begin(main, { invite, foreign: invite ? "" : wanted });
  let state;
  try {
    state = await get(`/api/games/${encodeURIComponent(wanted)}/state`, { as: "person" });
  } catch (error) {
    if (error.status === 401) return lost(main);
    if (error.status !== 404 || asked("game")) {
      main.append(el("h1", {}, title()), trouble(error), el("p", {}, el("a", { href: `/play/${type}` }, t("play.other"))));
      return undefined;
    }
  }
  if (!state?.self || (!asked("game") && OVER.includes(state.phase))) return begin(main, { last: state?.self ? wanted : "", foreign: asked("game") });
  rewrite(address(wanted));
  contentIn(state.language);
  return new Seat(main, type, wanted, title()).begin(state);
}

/** The server no longer takes the key of this browser, because it was replaced. */
function lost(main) {
  forgetPerson();
  begin(main, { invite: asked("invite"), note: t("play.lost") });
}

/** The page of a person without a seat. */
async function begin(main, { invite = "", last = "", foreign = "", note = "" } = {}) {
  const again = (options) => {
    begin(main, options);
    focusOn(main.querySelector("h1"));
  };
  const others = GAMES.filter(({ kind, type: other }) => kind === "game" && other !== type);
  fill(main,
    el("div", { class: "tight" }, el("h1", {}, title()), el("p", { class: "lead" }, t(known(`play.${type}.lead`, "play.lead"))),
      others.length ? el("p", { class: "small" }, others.map(({ type: other }) => [el("a", { href: `/play/${other}` }, t("head.play", { game: word("game", other) })), " "])) : null),
    note ? el("p", { class: "notice", role: "alert" }, note) : null,
    foreign && !invite ? el("p", { class: "notice" }, t("play.not_yours"), " ", el("a", { href: `/watch/${encodeURIComponent(foreign)}` }, t("way.watch"))) : null,
    last ? el("p", { class: "notice" }, el("a", { href: address(last) }, t("play.last"))) : null,
    invite ? invitation(invite, again) : choice(again),
    el("p", { class: "quiet small" }, t("play.published"), " ", el("a", { href: "/privacy" }, t("foot.privacy"))),
    el("p", { class: "quiet small" }, t(kept.lasts() ? "play.key_kept" : "play.key_unkept")));
}

const known = (key, other) => (t(key) === key ? other : key);

/** Who plays: the name of a new agent, or the agent that this browser has. */
class Player {
  constructor(again) {
    const one = person();
    this.code = codeField();
    this.name = el("input", { type: "text", name: "name", maxlength: NAME_CHARS, autocomplete: "nickname", "aria-required": "true" });
    this.field = field(t("play.name"), this.name, { hint: t("play.name.hint") });
    const place = el("div");
    const change = async () => {
      if (!(await sure(t("play.forget.sure", { name: one.name })))) return;
      forgetPerson();
      again({ invite: asked("invite") });
    };
    this.owned = el("input", { type: "checkbox", name: "owned" });
    const owner = el("div", { hidden: true }, el("label", { class: "choice" }, this.owned, el("span", {}, t("play.owned"))));
    // The browser of an owner registers the agent as the owner's, if the person wants that.
    if (!one) signedIn().then((is) => { owner.hidden = !is; });
    this.node = one
      ? el("div", { class: "row" }, el("span", {}, t("play.as"), " ", named(one.name)), actionButton(t("play.forget"), change, { place, class: "bare" }), place)
      : el("div", { class: "stack" }, this.field, owner, this.code.node);
  }

  /** What is missing, shown at its field. */
  missing() {
    if (person()) return false;
    const fault = this.name.value.trim() ? "" : t("form.required");
    this.field.showFault(fault);
    if (fault) this.name.focus();
    return Boolean(fault);
  }

  /** Register the agent, unless this browser has one; false if its name is refused, which is shown at its field. */
  async enter() {
    if (person()) return true;
    const body = { name: this.name.value.trim(), kind: "person" };
    const code = this.code.value();
    try {
      setPerson(this.owned.checked
        ? await call("POST", "/api/owners/me/agents", body, { as: "owner" })
        : await post("/api/agents", code ? { ...body, invite_code: code } : body, { as: "anonymous" }));
      return true;
    } catch (error) {
      if (error.code === "not_found") error.code = "invite_code";
      const fault = error.errors?.find((one) => one.field === "name");
      if (!fault) throw error;
      this.field.showFault(inWords(fault).message);
      this.name.focus();
      return false;
    }
  }
}

/** Whether this browser has opened an owner: by its key in this tab, or by a sign-in. */
async function signedIn() {
  if (ownerKey()) return true;
  if (!kept.get(SIGNED_IN)) return false;
  try {
    setCsrf((await get("/auth/session", { as: "anonymous" })).csrf);
    return true;
  } catch {
    kept.remove(SIGNED_IN);
    return false;
  }
}

/** A button that takes a seat by `act`, which gives a game's id; a seat that exists already is returned to. */
function seatButton(text, player, act, place, props) {
  return actionButton(text, async () => {
    if (player.missing()) return;
    try {
      if (await player.enter()) go(address(await act()));
    } catch (error) {
      if (error.code === "already_seated" && error.game) {
        go(address(error.game));
        return;
      }
      if (error.status === 401) forgetPerson();
      throw error;
    }
  }, { place, ...props });
}

const join = async (body) => (await post("/api/games/join", { gameType: type, ...body }, { as: "person" })).game_id;

function invitation(invite, again) {
  const player = new Player(again);
  const place = el("div");
  const watch = el("a", { hidden: true }, t("way.watch"));
  const sit = async () => {
    try {
      return await join({ invite });
    } catch (error) {
      // Who comes too late for a seat may still watch.
      watch.hidden = !(error.code === "already_started" && error.game);
      watch.href = `/watch/${encodeURIComponent(error.game)}?invite=${encodeURIComponent(invite)}`;
      throw error;
    }
  };
  return el("section", { class: "card on", "aria-labelledby": "invited" }, el("h2", { id: "invited" }, t("play.invited")),
    el("p", {}, t("play.invited.lead")), player.node, place,
    el("div", { class: "row end" }, watch, el("a", { href: `/play/${type}` }, t("play.other")),
      seatButton(t("play.sit"), player, sit, place, { first: true })));
}

/** Ways into a game. */
function choice(again) {
  const player = new Player(again);
  const place = el("div");
  const ways = ["house", "friends", ...(people ? ["public"] : [])].map((way, n) => {
    const input = el("input", { type: "radio", name: "way", value: way });
    input.checked = n === 0;
    return [way, input, el("label", { class: "choice" }, input, el("span", {}, el("strong", {}, t(`play.way.${way}`)), " ", el("span", { class: "quiet" }, t(`play.way.${way}.about`))))];
  });
  const spoken = select(LANGUAGES.map((code) => [code, word("language", code)]), language(), { name: "language" });
  const time = select(TIMES.map((one) => [one, t(`play.time.${one || "own"}`)]), TIMES[0], { name: "time" });
  const pace = select(["quick", "slow"].map((one) => [one, t(`play.pace.${one}`)]), "quick", { name: "pace" });
  const filling = select(FILLS.map((one) => [one, one ? t("play.fill.after", { n: Number(one) / 60 }) : t("play.fill.never")]), FILLS[0], { name: "fill" });
  const [timeField, paceField, fillField] = [field(t("play.time"), time), field(t("play.pace"), pace), field(t("play.fill"), filling)];
  const now = () => ways.find(([, input]) => input.checked)?.[0] ?? "house";
  const follow = () => {
    timeField.hidden = now() === "public";
    paceField.hidden = now() !== "public";
    fillField.hidden = now() !== "friends";
  };
  const form = el("div", { class: "stack" }, player.node,
    el("fieldset", {}, el("legend", {}, t("play.way")), ways.map(([, , node]) => node), people ? null : el("p", { class: "quiet small" }, t("play.way.closed"))),
    el("div", { class: "even" }, field(t("play.language"), spoken), timeField, paceField, fillField));
  form.addEventListener("change", follow);
  const sent = keepDraft(`play ${type}`, form);
  follow();
  const open = async () => {
    const game = now() === "public" ? await join({ language: spoken.value, pace: pace.value }) : await opened();
    sent();
    return game;
  };
  const opened = async () => {
    const seconds = now() === "house" ? "0" : filling.value;
    return (await post("/api/games", { gameType: type, language: spoken.value,
      ...(seconds && { fill: "house", fill_after_seconds: Number(seconds) }),
      ...(time.value && { deadline_seconds: Number(time.value) }) }, { as: "person" })).game_id;
  };
  return el("div", { class: "stack" },
    el("section", { class: "card", "aria-labelledby": "new" }, el("h2", { id: "new" }, t("play.new")), form, place,
      el("div", { class: "row end" }, seatButton(t("play.start"), player, open, place, { first: true }))),
    haveInvite());
}

/** For an invite that came without its link. It leads to the page of an invite. */
function haveInvite() {
  const control = el("input", { type: "text", name: "invite", autocomplete: "off", spellcheck: "false" });
  const place = field(t("play.invite"), control, { hint: t("play.invite.hint") });
  const use = async () => {
    const found = INVITE.exec(control.value.trim());
    place.showFault(found ? "" : t("form.wrong"));
    if (found) go(`/play/${type}?invite=${encodeURIComponent(found[1])}`);
    else control.focus();
  };
  return el("details", {}, el("summary", {}, t("play.invite.has")),
    el("form", { class: "stack", novalidate: true, onsubmit: (event) => event.preventDefault() }, place, el("div", { class: "row end" }, actionButton(t("play.invite.use"), use, { type: "submit" }))));
}

/** The jurors: conversation, evidence, debate, secret notes. */

import { post } from "../parts/api.js";
import { announce, around, content, el, field, fill, focusOn, ofContent, select } from "../parts/dom.js";
import { keepDraft } from "../sessions/drafts.js";
import { actionButton, trouble } from "../parts/frame.js";
import { openItems } from "./case.js";
import { t, word } from "../parts/language.js";

export const BANDS = ["innocent", "leaning_innocent", "undecided", "leaning_guilty", "guilty"];
const CHAT_CHARS = 4000;
/** Rounds of deliberation, unless the session sets them. */
const ROUNDS = 4;
const NOTE_CHARS = 200;

/** A five-step scale from innocent to guilty with the current step. */
export function bandView(band, stance) {
  return el("div", { class: "tight" },
    el("div", { class: "band", "aria-hidden": "true" }, BANDS.map((one) => el("i", { class: one === band ? "on" : null }))),
    el("span", { class: "small" }, word("band", band), stance === undefined ? "" : ` · ${stance}`));
}

/** Why a juror moved, or that it did not. */
export function whyMoved(game, message, topics = []) {
  const about = topics.length ? ` (${topics.map((one) => `${word("topic", one.topic)}: ${word("impact", one.impact)}`).join(", ")})` : "";
  return `${game.narration.line(message)}${about}`;
}

/** All jurors, and the conversation with one. */
export function jurorsPanel(game) {
  const cards = el("ul", { class: "thirds", "aria-label": t("game.jurors") });
  const stage = el("section", { class: "card", "aria-label": t("game.talk") });
  let chosen = game.session.jurors[0].id;
  const draw = () => fill(cards, game.session.jurors.map((juror) => el("li", {},
    el("div", { class: `card plain${juror.id === chosen ? " on" : ""}` },
      el("h3", ofContent(), juror.name),
      el("p", { class: "quiet small", ...ofContent() }, juror.personality.join(" · ")),
      bandView(juror.band, juror.stance),
      el("div", { class: "row apart" }, el("span", { class: "quiet small" }, t("game.rounds_left", { n: juror.rounds_left })),
        el("button", { type: "button", "aria-pressed": String(juror.id === chosen), "data-focus": juror.id, "data-juror": juror.id,
          onclick: () => choose(juror.id) }, t("game.talk"), el("span", { class: "unseen" }, " ", content(juror.name))))))));
  const talk = new JurorTalk(game, stage);
  const choose = (id) => {
    chosen = id;
    draw();
    talk.open(id);
    focusOn(stage.querySelector("h2"));
  };
  draw();
  talk.open(chosen);
  game.listen((message) => {
    if (message) talk.hear(message);
    else draw();
  });
  return el("div", { class: "stack" }, jurorsHead(), cards, stage);
}

/** A hidden heading between the page's and the jurors', for heading navigation. */
function jurorsHead() {
  return el("h2", { class: "unseen" }, t("game.jurors"));
}

/** Show that the model is still working; the stream delivers the answer. */
function stillThinking(place) {
  fill(place, el("p", { class: "quiet waiting", role: "status" }, t("game.thinking")));
}

/** Clear the sent text from a field, but keep what was typed meanwhile. */
function emptied(field, text, sent) {
  if (field.value.trim() !== text) return;
  field.value = "";
  sent();
}

class JurorTalk {
  constructor(game, stage) {
    this.game = game;
    this.stage = stage;
  }

  open(juror) {
    this.juror = juror;
    this.reactions = [];
    this.said = el("div", { class: "talk", tabindex: "0", role: "log", "aria-label": t("game.conversation") });
    this.text = el("textarea", { name: "text", maxlength: CHAT_CHARS, rows: 3 });
    this.items = select([], null, ofContent());
    this.place = el("div");
    const name = this.game.juror(juror);
    const words = field(around("game.say_to", name), this.text);
    this.sent = keepDraft(`${this.game.session.id} persuasion ${juror}`, words);
    fill(this.stage, el("h2", ofContent(), name), this.said, words,
      el("div", { class: "row end" }, actionButton(t("send"), () => this.say(), { place: this.place, first: true })),
      el("div", { class: "row bottom" }, field(t("game.present_item"), this.items),
        actionButton(t("game.present"), () => this.present(), { place: this.place })),
      this.place);
    for (const message of this.game.messages) this.hear(message);
    this.load().catch((error) => fill(this.place, trouble(error)));
  }

  async load() {
    const items = await openItems(this.game);
    fill(this.items, items.map(([id, text]) => el("option", { value: id }, text)));
  }

  async say() {
    const { juror, text: field, sent, place } = this;
    const text = field.value.trim();
    if (!text) {
      field.focus();
      return;
    }
    this.answered(await post(`${this.game.path}/chat/${juror}`, { text }), place);
    emptied(field, text, sent);
  }

  async present() {
    const { place } = this;
    this.answered(await post(`${this.game.path}/jurors/${this.juror}/present/${this.items.value}`, {}), place);
  }

  answered(reply, place) {
    if (reply.pending) stillThinking(place);
    else if (reply.weakness_hit) announce(t("game.weakness"));
  }

  /** Add a message of the stream to its conversation. */
  hear(message) {
    if (message.juror_id !== this.juror) return;
    const name = this.game.juror(this.juror);
    if (message.type === "overseer_said") this.topics = message.topics;
    if (message.type === "evidence_presented") this.topics = [];
    const text = {
      overseer_said: () => el("p", { class: "said mine" }, el("span", { class: "who" }, t("you")), content(message.text)),
      evidence_presented: () => el("p", { class: "said mine" }, el("span", { class: "who" }, t("you")), t("game.presented", { id: message.evidence_id })),
      juror_said: () => el("p", { class: "said" }, el("span", { class: "who" }, name), content(message.text)),
      turn_failed: () => el("p", { class: "fault" }, this.game.narration.line(message)),
      stance_changed: () => el("p", { class: "quiet small" }, whyMoved(this.game, message, message.cause === "chat" ? this.topics : [])),
    }[message.type]?.();
    if (["juror_said", "turn_failed"].includes(message.type)) fill(this.place);
    if (!text) return;
    // In the log a juror's move precedes its answer; show the answer first.
    if (message.type === "stance_changed" && ["chat", "evidence", "weakness"].includes(message.cause)) {
      this.reactions.push(text);
      return;
    }
    this.said.append(text, ...(message.type === "juror_said" ? this.reactions.splice(0) : []));
    this.said.scrollTop = this.said.scrollHeight;
  }
}

/** Four rounds of debate, and notes between them. */
export function deliberationPanel(game) {
  const jurors = el("ul", { class: "thirds", "aria-label": t("game.jurors") });
  const rounds = el("div", { class: "stack" });
  const place = el("div");
  const text = el("textarea", { name: "note", maxlength: NOTE_CHARS, rows: 2 });
  const to = select(game.session.jurors.map((juror) => [juror.id, juror.name]), null, { name: "to", ...ofContent() });
  const left = el("span", { class: "quiet small" });
  const draw = () => {
    fill(jurors, game.session.jurors.map((juror) => el("li", { class: "card plain" }, el("h3", ofContent(), juror.name), bandView(juror.band, juror.stance))));
    fill(rounds, roundsOf(game));
    fill(left, t("game.notes_left", { n: game.session.notes_left }));
    const of = game.session.rounds ?? ROUNDS;
    fill(next, t("game.next_round", { n: Math.min(game.session.round + 1, of), of }));
  };
  const next = actionButton("", async () => {
    const reply = await post(`${game.path}/deliberation/next`, {});
    if (reply.pending) stillThinking(place);
    await game.refresh();
  }, { place, first: true });
  const send = actionButton(t("game.send_note"), async () => {
    const note = text.value.trim();
    if (!note) {
      text.focus();
      return;
    }
    await post(`${game.path}/notes`, { juror_id: to.value, text: note });
    emptied(text, note, sent);
    announce(t("game.note_sent"));
    await game.refresh();
  }, { place });
  const words = field(t("game.note_text"), text);
  const sent = keepDraft(`${game.session.id} deliberation`, words);
  draw();
  game.listen((message) => {
    if (["speech", "turn_failed"].includes(message?.type)) fill(place);
    draw();
  });
  return el("div", { class: "stack" }, jurorsHead(), jurors,
    el("div", { class: "row" }, next), place, rounds,
    el("section", { class: "card", "aria-labelledby": "note" }, el("div", { class: "row apart" }, el("h2", { id: "note" }, t("game.note")), left),
      el("div", { class: "row" }, field(t("game.note_to"), to)), words, el("div", { class: "row end" }, send)));
}

/** The finished rounds, newest first. */
export function roundsOf(game, messages = game.messages) {
  const rounds = [];
  for (const message of messages) {
    if (message.type === "round_started") rounds.unshift({ ...message, parts: [], topics: {} });
    const round = rounds[0];
    if (!round) continue;
    if (message.type === "speech") {
      round.topics[message.juror_id] = message.topics;
      round.parts.push(el("div", { class: `speech${message.juror_id === round.leader ? " now" : ""}` },
        el("p", { class: "who" }, el("strong", {}, game.juror(message.juror_id)), message.juror_id === round.leader ? ` · ${t("game.leads")}` : ""),
        el("p", { class: "pre", ...ofContent() }, message.text)));
    } else if (message.type === "stance_changed" && message.cause === "speech" && message.band_before !== message.band) {
      round.parts.push(el("p", { class: "small" }, whyMoved(game, message, round.topics[message.by])));
    }
  }
  return rounds.map((round) => el("section", { class: "card" }, el("h2", {}, t("game.round", { n: round.round })), round.parts));
}

/** The form of what a seat may send now, drawn from the schemas that the game offers: no game is known here. */

import { post } from "../parts/api.js";
import { el, fill } from "../parts/dom.js";
import { inWords } from "../parts/faults.js";
import { Form } from "../parts/form.js";
import { actionButton, trouble } from "../parts/frame.js";
import { language, t, word } from "../parts/language.js";
import { keepDraft } from "../sessions/drafts.js";

const LONG_CHARS = 150;
/** Fields that the page fills in itself. */
const OWN = ["type", "turn_id"];
/** Refusals that say that the moment is over. What was typed stays. */
const LATE = ["stale_turn", "already_submitted", "wrong_phase", "wrong_action", "not_started", "game_over", "already_resigned", "nothing_to_forfeit"];

const has = (key) => t(key) !== key;
const spaced = (code) => code.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ");

/**
 * A card for a turn: `offer` is `{turn_id, actions: [{type, schema}]}`. `done(late)` is called when the answer was taken,
 * or came too late: then `late` says so.
 */
export function actionCard(game, type, offer, done) {
  const forms = offer.actions.map((action) => new Offered(game, type, offer.turn_id, action));
  const place = el("div");
  const body = el("div", { class: "stack" });
  const button = el("div", { class: "row end" });
  const show = (one) => {
    fill(body, one.about, one.form.node);
    fill(button, actionButton(one.button, () => one.send(place, done), { place, first: true, type: "submit" }));
  };
  const name = `action-${offer.turn_id}`;
  const choice = forms.length < 2 ? null : el("fieldset", {}, el("legend", {}, t("play.which")), forms.map((one, n) => {
    const input = el("input", { type: "radio", name, value: one.type, onchange: () => show(one) });
    input.checked = n === 0;
    return el("label", { class: "choice" }, input, el("span", {}, one.title));
  }));
  show(forms[0]);
  // Enter in a field sends: the button is the form's own.
  const node = el("form", { class: "stack", novalidate: true, onsubmit: (event) => event.preventDefault() }, choice, body, place, button);
  return el("section", { class: "card on turn", "aria-labelledby": "turn", "data-turn": offer.turn_id ?? "" },
    el("h2", { id: "turn" }, forms.length < 2 ? forms[0].title : t("play.your_turn")), node);
}

/** One action that is allowed. */
class Offered {
  constructor(game, gameType, turn, { type, schema }) {
    this.game = game;
    this.turn = turn;
    this.type = type;
    const key = `play.${gameType}.${type}`;
    this.title = has(key) ? t(key) : spaced(schema.title ?? type);
    this.button = has(`${key}.do`) ? t(`${key}.do`) : t("play.send");
    this.about = has(`${key}.about`) ? el("p", { class: "quiet" }, t(`${key}.about`))
      : !has(key) && schema.description ? el("p", { class: "quiet", lang: "en" }, schema.description) : null;
    const text = (path, rule) => {
      const own = `${key}.${path}`;
      if (has(own)) return t(own);
      return has(`field.${path}`) ? word("field", path) : rule.title ?? spaced(path);
    };
    const option = (path, value) => {
      const own = `${key}.${path}.${value}`;
      if (has(own)) return t(own);
      return typeof value === "boolean" ? t(value ? "yes" : "no") : word(path, value);
    };
    const hint = (path, rule) => {
      const chars = rule.type === "string" && rule.maxLength ? t("play.chars", { n: rule.maxLength }) : "";
      if (has(`${key}.${path}.hint`)) return [t(`${key}.${path}.hint`), chars].filter(Boolean).join(" ");
      return has(key) || language() !== "en" ? chars : [rule.description, chars].filter(Boolean).join(" ");
    };
    const rules = Object.entries(schema.properties ?? {}).filter(([name]) => !OWN.includes(name));
    // What this seat can no longer use is shown and cannot be chosen.
    const closed = rules.filter(([, rule]) => rule.type === "boolean" && "const" in rule).map(([name, rule]) => [name, !rule.const]);
    const properties = Object.fromEntries(rules.map(([name, rule]) => [name, { ...rule }]));
    for (const [name] of closed) delete properties[name].const;
    const required = (schema.required ?? []).filter((name) => !OWN.includes(name));
    this.form = new Form({ ...schema, properties, required }, { long: LONG_CHARS, text, option, hint });
    for (const [path, value] of closed) {
      for (const input of this.form.node.querySelectorAll(`input[data-field="${CSS.escape(path)}"]`)) {
        if (input.value === String(value)) input.disabled = true;
      }
    }
    this.sent = keepDraft(draftOf(game, turn, type), this.form.node);
  }

  async send(place, done) {
    if (this.form.showFault(this.form.check())) return;
    const body = { type: this.type, ...(this.turn && { turn_id: this.turn }), ...this.form.value() };
    try {
      const { status } = await post(`/api/games/${this.game}/actions`, body, { as: "person" });
      if (status !== "pass") this.sent();
      await done(status === "pass" ? "late" : "");
    } catch (error) {
      if (LATE.includes(error.code)) await done(error.code === "already_submitted" ? "already" : "late");
      else if (error.errors?.length) this.form.showFault(error.errors.map(inWords));
      else fill(place, trouble(error));
    }
  }
}

/** The name of the draft of a turn; `draftOf(game)` begins those of all its turns. */
export const draftOf = (game, turn, type = "") => (turn === undefined ? `${game} turn ` : `${game} turn ${turn} ${type}`);

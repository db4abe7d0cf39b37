/** Changing facts at an open gate, and repeating the turns that relied on them. */

import { post } from "../parts/api.js";
import { content, el, field } from "../parts/dom.js";
import { inWords } from "../parts/faults.js";
import { actionButton } from "../parts/frame.js";
import { t } from "../parts/language.js";

const ENTRY = 2000;
const REASON = 300;
const OFFERED = { proposed: ["confirm", "dispute"], agreed: ["dispute"], disputed: ["confirm"] };

/** The actions for a valid fact. */
export function changeFact(path, fact, done) {
  const text = field(t("fact.text"), el("textarea", { rows: 2, maxlength: ENTRY }));
  text.control.value = fact.text;
  const reason = field(t("fact.reason"), el("input", { maxlength: REASON }));
  const place = el("div");
  const send = (action) => async () => {
    for (const one of [text, reason]) one.showFault("");
    const body = { action };
    if (action === "correct") body.text = text.control.value;
    if (reason.control.value.trim()) body.reason = reason.control.value;
    try {
      done(await post(`${path}/facts/${fact.id}`, body));
    } catch (error) {
      const fields = { text, reason };
      const rest = error.errors?.filter((fault) => !fields[fault.field]?.showFault(inWords(fault).message) && !fields[fault.field]);
      if (!error.errors?.length || rest.length) throw error;
    }
  };
  const actions = ["correct", ...OFFERED[fact.state], "withdraw"];
  return el("details", {}, el("summary", { "aria-label": `${t("fact.change")} ${fact.id}` }, t("fact.change")),
    el("div", { class: "stack" }, text, reason, place,
      el("div", { class: "row" }, actions.map((action) => actionButton(t(`fact.${action}`), send(action), { place })))));
}

/** Facts to confirm or correct, and turns that relied on changed facts; null if there are none. */
export function settling(path, session, done) {
  const { gate, facts, turns } = session;
  if (!gate) return null;
  const doubted = [...facts.confirmed, ...facts.disputed].filter((fact) => gate.facts_to_settle.includes(fact.id));
  const stale = turns.filter((turn) => turn.stale.length);
  if (!doubted.length && !stale.length) return null;
  const place = el("div");
  const redo = async () => done(await post(`${path}/redo`, {}));
  return el("section", { class: "card", "aria-labelledby": "settle" }, el("h2", { id: "settle" }, t("fact.settle")),
    doubted.length ? el("ul", { class: "tight" }, doubted.map((fact) => el("li", {},
      el("span", { class: "tag plain" }, fact.id), " ", content(fact.text), changeFact(path, fact, done)))) : null,
    stale.length ? [el("p", {}, t("fact.stale", { turns: stale.map((turn) => turn.n).join(", ") })), place,
      el("div", { class: "row end" }, actionButton(t("fact.redo"), redo, { place }))] : null);
}

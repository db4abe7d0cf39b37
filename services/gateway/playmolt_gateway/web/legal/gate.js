/** A gate: the verifier's findings and the form of gate.schema. */

import { post } from "../parts/api.js";
import { el, fill } from "../parts/dom.js";
import { keepDraft } from "../sessions/drafts.js";
import { Form } from "../parts/form.js";
import { inWords } from "../parts/faults.js";
import { actionButton, trouble } from "../parts/frame.js";
import { t, word } from "../parts/language.js";
import { marked } from "./turn.js";

export function gateForm(path, session, unverified, done) {
  const { gate } = session;
  const labels = Object.fromEntries(session.facts.questions.map((question) => [question.id, question.text]));
  const form = new Form(gate.schema, { labels });
  const place = el("div");
  const sent = keepDraft(`${session.id} gate ${gate.name} ${session.turns.length}`, form.node);
  const send = async () => {
    if (form.showFault(form.check())) return;
    try {
      const answered = await post(`${path}/steering`, form.value());
      sent();
      done(answered);
    } catch (error) {
      if (!error.errors?.length) fill(place, trouble(error));
      else form.showFault(error.errors.map(inWords));
    }
  };
  const list = (heading, items) => items.length
    ? el("div", { class: "tight" }, el("h3", {}, heading), el("ul", { class: "tight" }, items.map((item) =>
      el("li", { class: "row" }, item.id ? el("span", { class: "tag plain" }, item.id) : null, el("span", {}, marked(item.text ?? item, unverified)))))) : null;
  return el("section", { class: "card on", "aria-labelledby": "gate", "data-gate": gate.name },
    el("h2", { id: "gate" }, word("gate", gate.name)),
    gate.banner ? el("p", { class: "notice" }, gate.banner) : null,
    gate.name === "facts" ? list(t("facts.questions"), session.facts.questions) : null,
    list(t("gate.missing"), gate.missing_evidence), list(t("gate.checklist"), gate.checklist), list(t("gate.focus"), gate.focus),
    form.node, place,
    el("div", { class: "row end" }, actionButton(t("gate.send"), send, { place, first: true })));
}

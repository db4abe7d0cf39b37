/** The facts form and the list of facts. */

import { post } from "../parts/api.js";
import { content, el, field } from "../parts/dom.js";
import { keepDraft } from "../sessions/drafts.js";
import { Rows } from "../parts/form.js";
import { inWords } from "../parts/faults.js";
import { actionButton } from "../parts/frame.js";
import { t, word } from "../parts/language.js";
import { marked } from "./turn.js";
import { uploadNotes } from "./uploads.js";

const NARRATIVE = 20000;
const ENTRY = 2000;
const entry = { type: "string", maxLength: ENTRY };

/** The intake form. Empty fields keep the facts carried over from an earlier session. */
export function factsForm(path, session, done) {
  const carried = session.previous_session !== null;
  const area = (rows) => el("textarea", { rows, maxlength: NARRATIVE });
  const controls = { overview: area(4), acts: area(4), opposing_claims: area(3) };
  for (const [name, control] of Object.entries(controls)) control.name = name;
  const fields = Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, field(t(`facts.${name}`), control, { hint: t(`facts.${name}_hint`) })]));
  const rows = {
    timeline: new Rows("timeline", { title: t("facts.timeline"), items: { properties: { when: entry, what: entry, agreed: { type: "boolean" } } } }),
    evidence: new Rows("evidence", { title: t("facts.evidence"), items: { properties: { title: entry, description: entry } } }),
  };
  if (!carried) for (const one of Object.values(rows)) one.add();
  const place = el("div");
  const form = el("div", { class: "stack" }, Object.values(fields).slice(0, 2), rows.timeline.node, rows.evidence.node, fields.opposing_claims);
  const sent = keepDraft(`${session.id} facts`, form);
  const send = async () => {
    for (const one of [...Object.values(fields), ...Object.values(rows)]) one.showFault?.length === 1 ? one.showFault("") : one.clear();
    const body = {};
    for (const [name, control] of Object.entries(controls)) if (!carried || control.value.trim()) body[name] = control.value;
    for (const [name, one] of Object.entries(rows)) if (!carried || one.value()) body[name] = one.value() ?? [];
    try {
      const answer = await post(`${path}/facts`, body);
      sent();
      done(answer);
    } catch (error) {
      const rest = error.errors.filter((fault) => !show(fields, rows, fault));
      if (!error.errors.length || rest.length) throw error;
    }
  };
  return el("section", { class: "card on", "aria-labelledby": "facts-form" }, el("h2", { id: "facts-form" }, t("facts.tell")),
    el("p", { class: "quiet" }, t(carried ? "facts.carried" : "facts.lead")),
    form, place, el("div", { class: "row end" }, actionButton(t("facts.send"), send, { place, first: true })));
}

function show(fields, rows, fault) {
  const name = fault.field.split(/[.[]/)[0];
  if (fields[name]) {
    fields[name].showFault(inWords(fault).message);
    return true;
  }
  return rows[name]?.showFault(fault.field, inWords(fault).message) ?? false;
}

/** The facts by state; `unverified` are statutes and case numbers not in the material, `changing` draws the actions for a valid fact. */
export function factsView(facts, unverified, changing = () => null) {
  const backing = (fact) => [...fact.evidence, ...fact.timeline].join(", ");
  const factShown = (fact) => [marked(fact.text, unverified), fact.wording ? [" (", marked(fact.wording, unverified), ")"] : null,
    ` · ${word("fact_state", fact.state)}, ${word("fact_source", fact.source)}`, backing(fact) ? ` (${backing(fact)})` : null];
  const list = (heading, items, text) => el("section", { class: "card" }, el("h2", {}, heading),
    items.length ? el("ul", { class: "tight" }, items.map((item) => el("li", { id: item.id, class: "row" },
      item.id ? el("span", { class: "tag plain" }, item.id) : null, el("span", {}, text(item))))) : el("p", { class: "quiet" }, t("none")));
  return el("div", { class: "even" },
    list(t("facts.confirmed"), facts.confirmed, (fact) => [factShown(fact), changing(fact)]),
    list(t("facts.disputed"), facts.disputed, (fact) => [factShown(fact), changing(fact)]),
    list(t("facts.questions"), facts.questions, (question) => marked(question.text, unverified)),
    list(t("facts.evidence"), facts.evidence, (item) => (item.media_type ? [`${item.title} (${t(`upload.${item.kind}`)}, ${t("upload.chars", { n: item.chars })})`, uploadNotes(item)] : `${item.title}: ${item.description}`)),
    list(t("facts.timeline"), facts.timeline, (item) => [content(`${item.when}: ${item.what}`), item.agreed ? ` ✓ ${t("field.agreed")}` : ""]),
    facts.corrections.length ? list(t("facts.corrections"), facts.corrections, (one) => content(one.text)) : null,
    facts.past.length ? list(t("facts.past"), facts.past, factShown) : null,
    facts.refused.length ? list(t("facts.refused"), facts.refused.map((one) => ({ ...one, id: null })), (one) => [one.text, ` (${word("refusal", one.reason)}${one.particular ? `: ${one.particular}` : ""})`]) : null);
}

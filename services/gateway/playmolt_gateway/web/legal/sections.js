/** The contents of the report's sections; null for empty parts. */

import { el, table } from "../parts/dom.js";
import { t, word, zoned } from "../parts/language.js";
import { marked, outputView, percent, statement } from "./turn.js";
import { uploadNotes } from "./uploads.js";

const FINAL = "FINAL";

/** Draws a report's sections by name. */
export class Sections {
  constructor(report) {
    this.report = report;
    this.lastRound = Math.max(0, ...report.verifier.map((one) => one.round));
  }

  answer() {
    const { decisive, gaps, likelihood, next_steps: steps, outcome, question } = this.report.page_one;
    const facts = new Map([...this.report.facts.confirmed, ...this.report.facts.disputed].map((fact) => [fact.id, fact.text]));
    return [this.textList("report.question", [question]), this.textList("report.outcome", outcome ? [outcome] : []), this.estimate(likelihood),
      listed("report.decisive", decisive, (id) => [linked(id), " ", this.text(facts.get(id) ?? "")]),
      this.textList("report.gaps", gaps), this.textList("report.next", steps), this.final()];
  }

  /** The last turn's answer to the final instructions. */
  final() {
    const { final, final_failed: failed, guardrail_hits: hits } = this.report;
    return [failed ? [heading("report.final"), el("p", { class: "notice" }, t("report.final_failed"))] : null,
      final ? [heading("report.final"), this.statements(final.answer, ["Answer"], FINAL), this.textList("report.not_followed", final.not_followed)] : null,
      items(hits.filter((hit) => hit.phase === FINAL), (hit) => this.hit(hit))];
  }

  facts() {
    const { corrections, evidence } = this.report;
    const { confirmed, disputed, history, past, unknown } = this.report.facts;
    return [this.factTable("facts.confirmed", confirmed), this.factTable("facts.disputed", disputed), this.factTable("facts.past", past),
      listed("facts.questions", unknown, (one) => [anchor(one.id), " ", this.text(one.text)]),
      listed("report.history", history, (record) => this.change(record)),
      listed("facts.evidence", evidence, (one) => [anchor(one.id), " ", one.description ? `${one.title}: ${one.description}` : one.title, uploadNotes(one)]),
      listed("facts.corrections", corrections, (one) => [anchor(one.id), " ", this.text(one.text), " ", quiet(byYou(one.at))])];
  }

  factTable(key, facts) {
    const wording = (fact) => (fact.wording ? [" (", this.text(fact.wording), ")"] : null);
    return facts.length ? table(t(key), [t("report.id"), t("report.fact"), t("report.state"), t("report.source")], facts.map((fact) => [anchor(fact.id),
      el("span", {}, this.text(fact.text), wording(fact)),
      el("span", {}, word("fact_state", fact.state), fact.replaced_by ? [" → ", linked(fact.replaced_by)] : null),
      el("span", {}, word("fact_source", fact.source), fact.replaces && fact.evidence.length ? ` (${t("report.unlooked")})` : null, refs([...fact.evidence, ...fact.timeline]))])) : null;
  }

  change({ action, at, id, new: text, new_id: next, old, reason }) {
    return [quiet(zoned(at)), " ", linked(id), ` ${word("change", action)}`, text ? [": ", this.text(old), " → ", this.text(text), next && next !== id ? [" ", linked(next)] : null] : null,
      reason ? ` (${reason})` : null];
  }

  issues() {
    const { claimant, opposing } = this.report.case.parties;
    return this.report.arguments.map((argument) => [el("h4", {}, this.text(argument.issue)), el("div", { class: "even" },
      side(claimant, this.statements(argument.claimant, ["Claims"])), side(opposing, this.statements(argument.opposing, ["CounterArguments"])))]);
  }

  burden() {
    const { basis, standard, text } = this.report.burden;
    return [this.textList("report.standard", [standard]), text ? [heading("report.burden"), el("p", {}, this.text(text), refs(basis))] : null];
  }

  findings() {
    const { decision_range: range, findings, likelihood } = this.report;
    return [this.statements(findings, ["Findings"]), this.textList("report.outcome", range ? [range] : []), this.estimate(likelihood)];
  }

  risks() {
    return [this.statements(this.report.risks, ["ProceduralRisks", "WeakPoints"])];
  }

  strategy() {
    return [this.statements(this.report.strategy, ["LegalElements", "EvidencePlan", "DisproofPlan"])];
  }

  settlement() {
    return [this.statements(this.report.settlement, ["SettlementOptions"])];
  }

  matrix() {
    const rows = this.report.evidence_matrix;
    return rows.length ? [table(word("section", "matrix"), [t("report.fact"), t("report.backing"), t("report.relied")], rows.map((row) => [row.fact ? linked(row.fact) : "–",
      linked(row.evidence), row.relied_on_by.map((role) => word("role_legal", role)).join(", ") || "–"]), { hidden: true })] : [];
  }

  marks() {
    const { no_go: stop, verifier } = this.report;
    return [verifier.map((round) => this.round(round)), stop ? [this.textList("report.no_go", stop.reasons), this.textList("report.alternatives", stop.alternatives)] : null];
  }

  round({ missing, round, stale, status, unanswered, unsupported }) {
    const hits = this.report.guardrail_hits.filter((hit) => hit.phase.endsWith(`_R${round}`));
    const labelled = (key, ...rest) => [el("span", { class: "label" }, t(key)), " ", rest];
    return [el("h4", {}, t("round_n", { n: round }), " ", el("span", { class: "tag" }, status)), items([
      ...unsupported.map((one) => labelled("report.unsupported", this.text(one))),
      ...missing.map((one) => labelled("output.MissingEvidence", this.text(one))),
      ...unanswered.map((one) => labelled("report.unanswered", one.id, " ", this.text(one.text))),
      ...stale.map((one) => labelled("report.stale", this.turn(one.phase), refs(one.facts))),
      ...hits.map((hit) => this.hit(hit))], (one) => one)];
  }

  hit(hit) {
    return [el("span", { class: "tag plain" }, word("check", hit.check)), ` ${this.turn(hit.phase)}, ${word("output", hit.field)} (${t(hit.unresolved ? "report.open" : "report.mended")}): `, this.text(hit.text)];
  }

  /** A turn's title, with its round if it has one. */
  turn(phase) {
    const title = this.report.appendix.find((turn) => turn.phase === phase)?.title ?? phase;
    const round = /_R(\d+)$/.exec(phase)?.[1];
    return round ? `${title} · ${t("round_n", { n: round })}` : title;
  }

  chronology() {
    const agreed = new Set(this.report.timeline.filter((entry) => entry.agreed).map((entry) => entry.id));
    const happened = (entries) => table(word("section", "chronology"), [t("report.id"), t("field.when"), t("field.what")], entries.map((entry) => [anchor(entry.id),
      entry.inferred_from ? [entry.when, " ", quiet(t("report.inferred", { date: entry.date })), " ", linked(entry.inferred_from)] : entry.when,
      agreed.has(entry.id) ? `${entry.what} ✓ ${t("field.agreed")}` : entry.what]), { hidden: true });
    const [dated, undated] = [true, false].map((known) => this.report.chronology.filter((entry) => Boolean(entry.date) === known));
    return [dated.length ? happened(dated) : null, undated.length ? [heading("report.undated"), happened(undated)] : null];
  }

  /** Each gate's findings and answers, then the final steering. */
  steering() {
    const { gate_history: gates, steering } = this.report;
    const stood = entered(steering);
    return [gates.map((entry) => [el("h4", {}, word("gate", entry.gate), " ", quiet(byYou(entry.at))), this.gate(entry)]),
      stood.length ? [heading("report.steered"), pairs(stood)] : null];
  }

  gate({ banner, checklist, form, missing_evidence: missing }) {
    const { gate, missing_evidence_answers: answers = {}, ...rest } = form;
    const item = (one) => [el("span", { class: "tag plain" }, one.id), " ", this.text(one.text)];
    const filled = entered(rest);
    return [banner ? el("p", {}, banner) : null, items(checklist, item), items(missing, (one) => [item(one), answers[one.id] ? ` → ${answers[one.id]}` : null]),
      filled.length ? pairs(filled) : null];
  }

  citations() {
    return [items(this.report.citations, (one) => marked(one.text, one.unverified ? [one.text] : this.report.unverified))];
  }

  appendix() {
    const { appendix, refused, unverified } = this.report;
    return [appendix.map((turn) => el("details", {}, el("summary", {}, this.turn(turn.phase)), outputView(turn.output, { mark: linked, unverified }),
      turn.draft ? [heading("legal.draft"), outputView(turn.draft, { mark: linked, unverified })] : null)),
      listed("facts.refused", refused, (one) => [this.text(one.text), one.quote && one.quote !== one.text ? ` “${one.quote}”` : null, ` (${word("refusal", one.reason)}${one.particular ? `: ${one.particular}` : ""})`])];
  }

  text(one) {
    return marked(one, this.report.unverified);
  }

  textList(key, texts) {
    return listed(key, texts, (one) => this.text(one));
  }

  estimate(likelihood) {
    const said = likelihood ? el("p", {}, el("strong", {}, `${word("side", likelihood.side)}: ${percent(likelihood)}`), " · ", this.text(likelihood.text), refs(likelihood.basis)) : el("p", {}, t("report.no_likelihood"));
    return [heading("report.likelihood"), said];
  }

  /** Statements of these fields of a phase's answer or of the last round; those with unresolved hits are marked. */
  statements(said, fields, phase = `_R${this.lastRound}`) {
    const doubts = this.report.guardrail_hits.filter((hit) => hit.unresolved && hit.phase.endsWith(phase) && fields.includes(hit.field));
    const doubted = (one) => doubts.some(({ text }) => one.text.includes(text) || `${[one.basis].flat()[0]}: ${one.text}`.startsWith(text));
    return items(said, (one) => [statement(one, { mark: linked, unverified: this.report.unverified }), doubted(one) ? [" ", el("span", { class: "tag" }, t("report.open"))] : null]);
  }
}

const entered = (form) => Object.entries(form).filter(([, value]) => value !== null && value !== "" && !(typeof value === "object" && !Object.keys(value).length));
const pairs = (rows) => el("dl", { class: "facts" }, rows.map(([name, value]) => [el("dt", {}, word("field", name)), el("dd", { class: "pre" }, valueOf(name, value))]));

/** A form value as text. */
export function valueOf(name, value) {
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  if (Array.isArray(value)) return value.map((one) => valueOf(name, one)).join(" · ");
  if (value !== null && typeof value === "object") return entered(value).filter(([, one]) => one !== false).map(([key, one]) => (one === true ? word("field", key) : valueOf(key, one))).join(" · ");
  return word(`code.${name}`, value);
}

const heading = (key) => el("h4", {}, t(key));
const items = (some, render) => (some.length ? el("ul", { class: "tight" }, some.map((one) => el("li", {}, render(one)))) : null);
const listed = (key, some, render) => (some.length ? [heading(key), items(some, render)] : null);
const side = (name, said) => (said ? el("div", { class: "tight" }, el("strong", {}, name), said) : null);
const quiet = (text) => el("span", { class: "quiet small" }, text);
const byYou = (at) => `${t("fact_source.person")}, ${zoned(at)}`;
const anchor = (id) => el("span", { class: "tag plain", id: `report-${id}` }, id);
const linked = (id) => el("a", { class: "tag", href: `#report-${id}` }, id);
const refs = (ids) => ids.map((id) => [" ", id === "Unknown" ? el("span", { class: "tag plain" }, t("unknown")) : linked(id)]);

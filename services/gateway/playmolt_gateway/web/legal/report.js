/** The report of a session: read here, saved in every format. */

import { download, get } from "../parts/api.js";
import { el, table } from "../parts/dom.js";
import { actionButton } from "../parts/frame.js";
import { t, word } from "../parts/language.js";
import { shareCard } from "../share.js";
import { marked, statement } from "./turn.js";

const SECTIONS = ["answer", "facts", "issues", "burden", "findings", "risks", "strategy", "settlement", "matrix", "marks", "chronology", "steering", "citations", "appendix"];
const FORMATS = ["pdf", "docx", "html", "md", "json"];

/** The report, and what its owner may show of it. */
export async function reportView(path, session) {
  return el("div", { class: "stack" }, await reportCard(path, session), shareCard(path, "legal", { sections: SECTIONS }));
}

async function reportCard(path, session) {
  const report = await get(`${path}/report`);
  const place = el("div");
  const name = `report-${session.id.slice(-12)}`;
  const text = (one) => el("span", {}, marked(one, report.unverified));
  const texts = (items) => list(items, (item) => ["· ", text(item)]);
  const statements = (items) => list(items, (one) => statement(one, { mark: linked, unverified: report.unverified }));
  const fact = (item) => el("li", { id: `report-${item.id}` }, el("span", { class: "tag plain" }, item.id), " ", text(item.text));
  const facts = (heading, items) => el("div", { class: "tight" }, heading ? el("h4", {}, heading) : null,
    items.length ? el("ul", { class: "tight" }, items.map(fact)) : none());
  const listed = (key, items, told) => (items.length ? part(key, facts("", items.map((item) => ({ id: item.id, text: told(item) })))) : null);
  const cited = (one) => ["· ", marked(one.text, one.unverified ? [one.text] : report.unverified)];
  return el("article", { class: "card on", "aria-labelledby": "report" },
    el("div", { class: "row apart" }, el("h2", { id: "report" }, t("report.title")),
      el("div", { class: "row", role: "group", "aria-label": t("report.save") }, FORMATS.map((format) =>
        actionButton(format.toUpperCase(), () => download(`${path}/report?format=${format}`, `${name}.${format}`), { place, "aria-label": t("report.save_as", { format: format.toUpperCase() }) })))),
    place,
    el("p", { class: "notice" }, report.disclaimer),
    report.no_go ? el("div", { class: "notice" }, el("h3", {}, t("report.no_go")), texts(report.no_go.reasons), el("h3", {}, t("report.alternatives")), texts(report.no_go.alternatives)) : null,
    report.order.map((section) => part(`report.${section}`, statements(report[section]))),
    part("report.facts", [facts(t("facts.confirmed"), report.facts.confirmed), facts(t("facts.disputed"), report.facts.disputed), facts(t("facts.questions"), report.facts.unknown)]),
    listed("facts.evidence", report.evidence, (item) => `${item.title}: ${item.description}`),
    listed("facts.timeline", report.timeline, (item) => `${item.when}: ${item.what}${item.agreed ? ` ✓ ${t("field.agreed")}` : ""}`),
    part("report.issues", texts(report.issues)),
    part("report.findings", statements(report.findings)),
    part("report.range", el("p", {}, text(report.decision_range))),
    part("report.claimant", statements(report.best_cases.claimant), report.case.parties.claimant),
    part("report.opposing", statements(report.best_cases.opposing), report.case.parties.opposing),
    report.evidence_matrix.length ? table(t("report.matrix"), [t("report.fact"), t("report.backing"), t("report.relied")],
      report.evidence_matrix.map((row) => [row.fact ?? "–", row.evidence, row.relied_on_by.map((role) => word("role_legal", role)).join(", ") || "–"])) : null,
    report.guardrail_hits.length ? table(t("legal.hits"), [t("report.turn"), t("report.check"), t("report.text"), t("report.state")],
      report.guardrail_hits.map((hit) => [hit.phase, word("check", hit.check), text(hit.text), hit.unresolved ? t("report.open") : t("report.mended")])) : null,
    part("report.next", texts(report.next_steps)),
    part("report.citations", list(report.citations, cited)),
    part("report.gates", el("ul", { class: "tight" }, report.gate_history.map((entry) => el("li", {}, word("gate", entry.gate), gateShown(entry, text))))));
}

/** What a gate had shown: its banner, the conditions, and each missing item with the answer to it. */
function gateShown(entry, text) {
  const item = (one, ...rest) => el("li", {}, el("span", { class: "tag plain" }, one.id), " ", text(one.text), rest);
  return [entry.banner ? el("p", {}, entry.banner) : null,
    entry.checklist.length + entry.missing_evidence.length ? el("ul", { class: "tight" }, entry.checklist.map((one) => item(one)),
      entry.missing_evidence.map((one) => item(one, " → ", entry.form.missing_evidence_answers?.[one.id] ?? ""))) : null];
}

function part(key, content, name) {
  return el("section", { class: "tight" }, el("h3", {}, name ? `${t(key)}: ${name}` : t(key)), content);
}

const none = () => el("p", { class: "quiet" }, t("none"));
const list = (items, told) => (items.length ? el("ul", { class: "tight" }, items.map((one) => el("li", {}, told(one)))) : none());
const linked = (id) => el("a", { class: "tag", href: `#report-${id}` }, id);

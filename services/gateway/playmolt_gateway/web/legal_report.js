/** The report of a session: read here, saved in every format. */

import { download, get } from "./api.js";
import { el, table } from "./dom.js";
import { actionButton } from "./frame.js";
import { t, word } from "./language.js";
import { statement } from "./legal_turn.js";

const FORMATS = ["pdf", "docx", "html", "md", "json"];

export async function reportView(path, session) {
  const report = await get(`${path}/report`);
  const place = el("div");
  const name = `report-${session.id.slice(-12)}`;
  return el("article", { class: "card on", "aria-labelledby": "report" },
    el("div", { class: "row apart" }, el("h2", { id: "report" }, t("report.title")),
      el("div", { class: "row", role: "group", "aria-label": t("report.save") }, FORMATS.map((format) =>
        actionButton(format.toUpperCase(), () => download(`${path}/report?format=${format}`, `${name}.${format}`), { place, "aria-label": t("report.save_as", { format }) })))),
    place,
    el("p", { class: "notice" }, report.disclaimer),
    report.no_go ? el("div", { class: "notice" }, el("h3", {}, t("report.no_go")), texts(report.no_go.reasons), el("h3", {}, t("report.alternatives")), texts(report.no_go.alternatives)) : null,
    part("report.facts", [facts(t("facts.confirmed"), report.facts.confirmed), facts(t("facts.disputed"), report.facts.disputed), facts(t("facts.questions"), report.facts.unknown)]),
    listed("facts.evidence", session.facts.evidence, (item) => `${item.title}: ${item.description}`),
    listed("facts.timeline", session.facts.timeline, (item) => `${item.when}: ${item.what}`),
    part("report.issues", texts(report.issues)),
    report.order.map((section) => part(`report.${section}`, statements(report[section]))),
    part("report.findings", statements(report.findings)),
    part("report.range", el("p", {}, report.decision_range)),
    part("report.claimant", statements(report.best_cases.claimant), report.case.parties.claimant),
    part("report.opposing", statements(report.best_cases.opposing), report.case.parties.opposing),
    report.evidence_matrix.length ? table(t("report.matrix"), [t("report.fact"), t("report.backing"), t("report.relied")],
      report.evidence_matrix.map((row) => [row.fact ?? "–", row.evidence, row.relied_on_by.map((role) => word("role_legal", role)).join(", ") || "–"])) : null,
    report.guardrail_hits.length ? table(t("legal.hits"), [t("report.turn"), t("report.check"), t("report.text"), t("report.state")],
      report.guardrail_hits.map((hit) => [hit.phase, word("check", hit.check), hit.text, hit.unresolved ? t("report.open") : t("report.mended")])) : null,
    part("report.next", texts(report.next_steps)),
    part("report.citations", texts(report.citations.map((one) => (one.unverified ? `${one.text} (${t("legal.unverified")})` : one.text)))),
    part("report.gates", el("ul", { class: "tight" }, report.gate_history.map((entry) => el("li", {}, word("gate", entry.gate))))));
}

function listed(key, items, text) {
  return items.length ? part(key, facts("", items.map((item) => ({ id: item.id, text: text(item) })))) : null;
}

function part(key, content, name) {
  return el("section", { class: "tight" }, el("h3", {}, name ? `${t(key)}: ${name}` : t(key)), content);
}

const texts = (items) => (items.length ? el("ul", { class: "tight" }, items.map((item) => el("li", {}, `· ${item}`))) : el("p", { class: "quiet" }, t("none")));
const statements = (items) => (items.length ? el("ul", { class: "tight" }, items.map((one) => el("li", {}, statement(one, linked)))) : el("p", { class: "quiet" }, t("none")));
const linked = (id) => el("a", { class: "tag", href: `#report-${id}` }, id);
const facts = (heading, items) => el("div", { class: "tight" }, heading ? el("h4", {}, heading) : null, items.length
  ? el("ul", { class: "tight" }, items.map((item) => el("li", { id: `report-${item.id}` }, el("span", { class: "tag plain" }, item.id), " ", item.text))) : el("p", { class: "quiet" }, t("none")));

/** A session's report, and saving it. */

import { download, get } from "../parts/api.js";
import { el } from "../parts/dom.js";
import { actionButton } from "../parts/frame.js";
import { t, word, zoned } from "../parts/language.js";
import { shareCard } from "../share.js";
import { Sections } from "./sections.js";

const SECTIONS = ["answer", "facts", "issues", "burden", "findings", "risks", "strategy", "settlement", "matrix", "marks", "chronology", "steering", "citations", "appendix"];
const STYLED = ["risks", "strategy", "settlement"];
const FORMATS = ["pdf", "docx", "html", "md", "json"];

/** The report with its sharing card. */
export async function reportView(path, session) {
  return el("div", { class: "stack" }, await reportCard(path, session), shareCard(path, "legal", { sections: SECTIONS }));
}

async function reportCard(path, session) {
  const report = await get(`${path}/report`);
  const place = el("div");
  const name = `report-${session.id.slice(-12)}`;
  const saved = (format) => actionButton(format.toUpperCase(), () => download(`${path}/report?format=${format}`, `${name}.${format}`, place), { place, "aria-label": t("report.save_as", { format: format.toUpperCase() }) });
  return el("article", { class: "card on stack", "aria-labelledby": "report" },
    el("div", { class: "row apart" }, el("h2", { id: "report" }, t("report.title")),
      el("div", { class: "row", role: "group", "aria-label": t("report.save") }, FORMATS.map(saved))),
    place,
    el("p", { class: "notice" }, report.disclaimer),
    caseShown(report), sectionsShown(report));
}

function caseShown(report) {
  const { case_type, jurisdiction, parties, title } = report.case;
  const rows = [["legal.case_title", title], ["legal.case_type", word("case", case_type)], ["legal.jurisdiction", jurisdiction], ["report.parties", `${parties.claimant} / ${parties.opposing}`],
    ["legal.side", word("side", report.side)], ["legal.language", word("language", report.language)], ["report.ended", zoned(report.ended_at)]];
  return el("dl", { class: "facts" }, rows.map(([key, value]) => [el("dt", {}, t(key)), el("dd", {}, value)]));
}

/** The sections in the order of all formats; empty ones are omitted, the rest is numbered consecutively. */
function sectionsShown(report) {
  const sections = new Sections(report);
  const styled = report.order.values();
  const drawn = SECTIONS.map((name) => (STYLED.includes(name) ? styled.next().value : name))
    .map((name) => [name, sections[name]().flat(Infinity).filter(Boolean)]).filter(([, parts]) => parts.length);
  return drawn.map(([name, parts], place) => el("section", { class: "tight", "data-section": name },
    el("h3", {}, `${place + 1}. ${word("section", name)}`), parts));
}

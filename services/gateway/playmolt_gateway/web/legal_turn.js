/** What a role said in its turn, with what it rests on and what the guardrails found. */

import { el } from "./dom.js";
import { t, word } from "./language.js";

export function turnView(turn) {
  const head = el("div", { class: "row" }, el("h3", {}, turn.title), el("span", { class: "quiet small" }, t("round_n", { n: turn.round })),
    turn.gate_status ? el("span", { class: "tag" }, turn.gate_status) : null,
    turn.draft ? el("span", { class: "tag plain" }, t("legal.rewritten")) : null,
    turn.unresolved.length ? el("span", { class: "tag" }, t("legal.unresolved", { n: turn.unresolved.length })) : null);
  const fields = Object.entries(turn.output).filter(([name, value]) => name !== "SteeringComplianceCheck" && !(Array.isArray(value) && !value.length));
  return el("article", { class: "card" }, head,
    el("dl", { class: "stack" }, fields.map(([name, value]) => el("div", { class: "tight" }, el("dt", { class: "label" }, word("output", name)), el("dd", { class: "tight" }, said(value, turn))))),
    found(t("legal.hits"), turn.hits), found(t("legal.unresolved_hits"), turn.unresolved), found(t("legal.warnings"), turn.warnings),
    turn.draft ? el("details", {}, el("summary", {}, t("legal.draft")), el("pre", { class: "pre small" }, JSON.stringify(turn.draft, null, 1))) : null);
}

function said(value, turn) {
  if (Array.isArray(value)) return el("ul", { class: "tight" }, value.map((one) => el("li", {}, said(one, turn))));
  if (value !== null && typeof value === "object") return statement(value, { unverified: turn.unverified });
  const whole = turn.citations?.some((citation) => citation.text === value && citation.unverified);
  return el("span", {}, marked(String(value), whole ? [value] : turn.unverified));
}

/** A text with a tag behind every statute and case number in it that nobody supplied. */
export function marked(text, unverified = []) {
  const first = unverified.map((one) => [text.indexOf(one), one]).filter(([place]) => place >= 0)
    .sort(([a, one], [b, other]) => a - b || other.length - one.length)[0];
  if (!first) return [text];
  const end = first[0] + first[1].length;
  return [text.slice(0, end), " ", el("span", { class: "tag" }, t("legal.unverified")), ...marked(text.slice(end), unverified)];
}

/** A statement with the ids it rests on, or a piece of evidence with its purpose. `mark` makes the node of an id. */
export function statement(one, { mark = (id) => el("span", { class: "tag plain" }, id), unverified = [] } = {}) {
  if ("purpose" in one) return el("span", {}, mark(one.evidence), " ", marked(one.purpose, unverified));
  const basis = Array.isArray(one.basis) ? one.basis : [one.basis].filter(Boolean);
  return el("span", {}, marked(one.text, unverified), basis.map((id) => [" ", id === "Unknown" ? el("span", { class: "tag plain" }, t("unknown")) : mark(id)]));
}

function found(heading, hits) {
  if (!hits.length) return null;
  return el("details", {}, el("summary", {}, `${heading} (${hits.length})`),
    el("ul", { class: "tight" }, hits.map((hit) => el("li", { class: "small" }, el("span", { class: "tag plain" }, word("check", hit.check)), ` ${hit.field}: ${hit.text}`))));
}

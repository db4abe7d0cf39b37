/** A role's turn, with its basis and the guardrail hits. */

import { content, el } from "../parts/dom.js";
import { t, word } from "../parts/language.js";

export function turnView(turn) {
  const head = el("div", { class: "row" }, el("h3", {}, turn.title), el("span", { class: "quiet small" }, t("round_n", { n: turn.round })),
    turn.gate_status ? el("span", { class: "tag" }, turn.gate_status) : null,
    turn.draft ? el("span", { class: "tag plain" }, t("legal.rewritten")) : null,
    turn.unresolved.length ? el("span", { class: "tag" }, t("legal.unresolved", { n: turn.unresolved.length })) : null,
    turn.stale.length ? el("span", { class: "tag" }, t("legal.stale", { facts: turn.stale.join(", ") })) : null,
    turn.redone ? el("span", { class: "quiet small" }, t("legal.redone", { n: turn.redone })) : null);
  const cited = (turn.citations ?? []).filter((citation) => citation.unverified).map((citation) => citation.text);
  return el("article", { class: "card" }, head, outputView(turn.output, { unverified: turn.unverified, cited }),
    found(t("legal.hits"), turn.hits, turn), found(t("legal.unresolved_hits"), turn.unresolved, turn), found(t("legal.warnings"), turn.warnings, turn),
    turn.draft ? el("details", {}, el("summary", {}, t("legal.draft")), el("pre", { class: "pre small" }, JSON.stringify(turn.draft, null, 1))) : null);
}

/** An answer field by field. `unverified` is marked inside texts, `cited` where it is the whole text. */
export function outputView(output, { mark, unverified = [], cited = [] } = {}) {
  const said = (value) => {
    if (Array.isArray(value)) return el("ul", { class: "tight" }, value.map((one) => el("li", {}, said(one))));
    if (value !== null && typeof value === "object") return statement(value, { mark, unverified });
    return el("span", {}, marked(String(value), cited.includes(value) ? [value] : unverified));
  };
  const fields = Object.entries(output).filter(([name, value]) => name !== "SteeringComplianceCheck" && !(Array.isArray(value) && !value.length));
  return el("dl", { class: "stack" }, fields.map(([name, value]) => el("div", { class: "tight" }, el("dt", { class: "label" }, word("output", name)), el("dd", { class: "tight" }, said(value)))));
}

/** A range of likelihood. */
export const percent = ({ high, low }) => `${low}–${high}%`;

/** A text with a tag after every statute and case number that is not in the material. */
export function marked(text, unverified = []) {
  return places(text, unverified).flatMap((piece, n) => (n ? [" ", el("span", { class: "tag" }, t("legal.unverified")), content(piece)] : [content(piece)]));
}

/** Splits a text after each of the given texts, as whole words: Article 75 does not match Article 750. */
export function places(text, named) {
  const pieces = [];
  let start = 0;
  const longestFirst = [...named].filter(Boolean).sort((one, other) => other.length - one.length);
  const found = longestFirst.length ? text.matchAll(new RegExp(longestFirst.map(whole).join("|"), "gu")) : [];
  for (const match of found) {
    pieces.push(text.slice(start, match.index + match[0].length));
    start = match.index + match[0].length;
  }
  return [...pieces, text.slice(start)];
}

function whole(text) {
  const before = /^\p{N}/u.test(text) ? "(?<!\\p{N})" : /^\p{L}/u.test(text) ? "(?<![\\p{L}\\p{N}_])" : "";
  const after = /\p{N}$/u.test(text) ? "(?!-?\\p{N})" : "(?![A-Za-z0-9]|\\s?의\\s?\\p{N})";
  return before + text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") + after;
}

/** A statement with its ids, or evidence with its purpose. `mark` renders an id. */
export function statement(one, { mark = (id) => el("span", { class: "tag plain" }, id), unverified = [] } = {}) {
  if ("purpose" in one) return el("span", {}, one.evidence === "Unknown" ? el("span", { class: "tag plain" }, t("unknown")) : mark(one.evidence), " ", marked(one.purpose, unverified));
  const basis = Array.isArray(one.basis) ? one.basis : [one.basis].filter(Boolean);
  return el("span", {}, "low" in one ? [el("strong", {}, percent(one)), " · "] : null, marked(one.text, unverified), basis.map((id) => [" ", id === "Unknown" ? el("span", { class: "tag plain" }, t("unknown")) : mark(id)]));
}

function found(heading, hits, turn) {
  if (!hits.length) return null;
  return el("details", {}, el("summary", {}, `${heading} (${hits.length})`),
    el("ul", { class: "tight" }, hits.map((hit) => el("li", { class: "small" }, el("span", { class: "tag plain" }, word("check", hit.check)), ` ${hit.field}: `, marked(hit.text, turn.unverified)))));
}

/** The generic view of a game: its state field by field. */

import { el, table } from "../parts/dom.js";
import { t, word } from "../parts/language.js";

export const any = { scene, seats, secrets: null, reader: "anonymous" };

const UNTOLD = ["type", "name", "game_id", "gameType", "version", "at", "phase", "round", "maxRounds", "allowed_actions",
  "phase_submissions"];
const names = new Map();

function seats(state) {
  return (state.participants ?? []).map((seat) => [seat.id, seat.name]);
}

function scene(state) {
  const fields = Object.entries(state).filter(([name, value]) => !UNTOLD.includes(name) && !isEmpty(value));
  const plain = fields.filter(([, value]) => typeof value !== "object");
  return [heading(state), plain.length ? el("section", { class: "card" }, facts(plain)) : null,
    ...fields.filter(([, value]) => typeof value === "object").map(([name, value]) => part(name, value))];
}

function heading(state) {
  return el("section", { class: "card" },
    el("div", { class: "row" }, el("span", { class: "tag" }, word("phase", state.phase)),
      state.round ? el("span", { class: "quiet small" }, `${t("round")} ${state.round}`) : null));
}

function facts(fields) {
  return el("dl", { class: "facts" }, fields.map(([name, value]) => [el("dt", {}, spaced(name)), el("dd", {}, named(value))]));
}

/** Lists of objects are shown as tables, objects as lists of fields, deeper values as JSON. */
function part(name, value) {
  if (!Array.isArray(value)) return el("section", { class: "card" }, el("h3", {}, spaced(name)), facts(Object.entries(value)));
  const rows = value.map((row) => (row !== null && typeof row === "object" ? row : { [name]: row }));
  const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))]
    .filter((head, _, all) => head !== "type" && !(head === "id" && all.includes("name")));
  return el("section", { class: "card" },
    table(spaced(name), heads.map(spaced), rows.map((row) => heads.map((head) => named(row[head])))));
}

function isEmpty(value) {
  return value === null || (Array.isArray(value) && !value.length);
}

function named(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return JSON.stringify(value);
  return names.get(value) ?? String(value);
}

function spaced(code) {
  return code.replaceAll("_", " ");
}

/** Drafts: unsent input survives reloads, changes by other tabs and the end of a phase. */

import { kept } from "../parts/browser.js";
import { el } from "../parts/dom.js";
import { t } from "../parts/language.js";

const PREFIX = "playmolt.draft ";
const DAYS = 30;
const CONTROLS = "textarea, select, input:not([type=range]):not([type=password]):not([type=file]):not([readonly])";

/**
 * Save and restore the input of a node under a name, which begins with the session's id. Each control needs a `name` or
 * `data-field`: a label is in the page's language. Returns a function that deletes the draft.
 */
export function keepDraft(name, node) {
  const key = PREFIX + name;
  for (const choice of node.querySelectorAll("select")) choice.dataset.initial = choice.value;
  for (const [control, value] of Object.entries(read(key).values ?? {})) restore(node, control, value);
  const keep = () => {
    const values = Object.fromEntries(controls(node).filter(([, control]) => typed(control)).map(([id, control]) => [id, value(control)]));
    if (Object.keys(values).length) kept.set(key, JSON.stringify({ values, at: Date.now() }));
    else kept.remove(key);
  };
  node.addEventListener("input", keep);
  node.addEventListener("change", keep);
  return () => kept.remove(key);
}

/** Delete all drafts of an erased session. */
export function forgetDrafts(session) {
  for (const key of kept.names().filter((one) => one.startsWith(PREFIX + session))) kept.remove(key);
}

/** Unsent texts whose names have this prefix, but for those with a longer one. */
function unsent(beginning, except) {
  const found = kept.names().filter((key) => key.startsWith(PREFIX + beginning) && !(except && key.startsWith(PREFIX + except)));
  return found.flatMap((key) => Object.values(read(key).values ?? {})).filter((one) => typeof one === "string" && one.trim());
}

/**
 * A card with unsent texts of a finished phase; null if there are none. `except` is the prefix of what a form still
 * shows; `use(text)` puts a text into that form.
 */
export function leftBehind(beginning, { except = "", use = null } = {}) {
  const texts = unsent(beginning, except);
  return texts.length ? el("section", { class: "card", "aria-labelledby": "unsent" }, el("h2", { id: "unsent" }, t("draft.title")),
    el("p", { class: "quiet" }, t("draft.text")), texts.map((text) => [el("p", { class: "pre said mine" }, text),
      use ? el("div", { class: "row end" }, el("button", { type: "button", class: "bare", onclick: () => use(text) }, t("draft.use"))) : null])) : null;
}

function read(key) {
  try {
    return JSON.parse(kept.get(key)) ?? {};
  } catch {
    return {};
  }
}

/** [id, control] of a node's controls; equal names are numbered. */
function controls(node) {
  const counts = new Map();
  return [...node.querySelectorAll(CONTROLS)].filter((control) => control.dataset.field || control.name).map((control) => {
    const group = control.dataset.field || control.name;
    const id = ["radio", "checkbox"].includes(control.type) && control.value !== "on" ? `${group}=${control.value}` : group;
    counts.set(id, (counts.get(id) ?? 0) + 1);
    return [`${id}#${counts.get(id)}`, control];
  });
}

const ticked = (control) => ["radio", "checkbox"].includes(control.type);
const value = (control) => (ticked(control) ? control.checked : control.value);
const typed = (control) => (ticked(control) ? control.checked : control.value !== (control.dataset.initial ?? control.defaultValue ?? ""));

function restore(node, id, draft) {
  let found = controls(node).find(([one]) => one === id);
  if (!found) {
    // An added line: its list adds it again.
    const path = id.split("#")[0].split(".")[0];
    node.querySelector(`fieldset[data-path="${CSS.escape(path)}"] > button`)?.click();
    found = controls(node).find(([one]) => one === id);
  }
  if (!found) return;
  if (ticked(found[1])) found[1].checked = draft;
  else if (found[1].tagName !== "SELECT" || [...found[1].options].some((one) => one.value === draft)) found[1].value = draft;
  found[1].dispatchEvent(new Event("change", { bubbles: true }));
}

// Delete old drafts.
for (const key of kept.names().filter((one) => one.startsWith(PREFIX))) {
  if (!(read(key).at > Date.now() - DAYS * 86_400_000)) kept.remove(key);
}

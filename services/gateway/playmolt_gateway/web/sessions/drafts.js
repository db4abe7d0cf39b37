/** Drafts: unsent input survives reloads, changes by other tabs and the end of a phase. */

import { kept } from "../parts/browser.js";
import { el } from "../parts/dom.js";
import { t } from "../parts/language.js";

const PREFIX = "playmolt.draft ";
const DAYS = 30;
const CONTROLS = "textarea, input:not([type=range]):not([type=password]):not([readonly])";

/** Save and restore the input of a node under a name. Returns a function that deletes it. */
export function keepDraft(name, node) {
  const key = PREFIX + name;
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

/** Unsent texts whose names have this prefix. */
function unsent(beginning) {
  const found = kept.names().filter((key) => key.startsWith(PREFIX + beginning));
  return found.flatMap((key) => Object.values(read(key).values ?? {})).filter((one) => typeof one === "string" && one.trim());
}

/** A card with unsent texts of a finished phase; null if there are none. */
export function leftBehind(beginning) {
  const texts = unsent(beginning);
  return texts.length ? el("section", { class: "card", "aria-labelledby": "unsent" }, el("h2", { id: "unsent" }, t("draft.title")),
    el("p", { class: "quiet" }, t("draft.text")), texts.map((text) => el("p", { class: "pre said mine" }, text))) : null;
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
  return [...node.querySelectorAll(CONTROLS)].map((control) => {
    const group = control.dataset.field || control.name || control.closest(".field")?.querySelector("label")?.textContent || control.type;
    const id = ["radio", "checkbox"].includes(control.type) && control.value !== "on" ? `${group}=${control.value}` : group;
    counts.set(id, (counts.get(id) ?? 0) + 1);
    return [`${id}#${counts.get(id)}`, control];
  });
}

const ticked = (control) => ["radio", "checkbox"].includes(control.type);
const value = (control) => (ticked(control) ? control.checked : control.value);
const typed = (control) => (ticked(control) ? control.checked : control.value !== (control.defaultValue ?? ""));

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
  else found[1].value = draft;
  found[1].dispatchEvent(new Event("change", { bubbles: true }));
}

// Delete old drafts.
for (const key of kept.names().filter((one) => one.startsWith(PREFIX))) {
  if (!(read(key).at > Date.now() - DAYS * 86_400_000)) kept.remove(key);
}

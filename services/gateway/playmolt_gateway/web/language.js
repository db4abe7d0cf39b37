/** The page's language: Korean, English or Chinese. Every text is data, in texts.*.json. */

export const LANGUAGES = [["en", "English"], ["ko", "한국어"], ["zh", "中文"]];
const KEPT = "playmolt.language";

let texts = {};
let chosen = "en";

function wanted() {
  const asked = new URLSearchParams(location.search).get("lang");
  const known = (code) => LANGUAGES.some(([id]) => id === code);
  if (known(asked)) return asked;
  const kept = localStorage.getItem(KEPT);
  if (known(kept)) return kept;
  return navigator.languages.map((code) => code.slice(0, 2)).find(known) ?? "en";
}

/** Load the texts. A page awaits this before it draws anything. */
export async function loadLanguage(code = wanted()) {
  const answer = await fetch(`/assets/texts.${code}.json`);
  if (!answer.ok) throw new Error(`the texts of ${code} did not come: ${answer.status}`);
  texts = await answer.json();
  chosen = code;
  document.documentElement.lang = code;
}

/** Keep a language for the next visits. */
export function keepLanguage(code) {
  localStorage.setItem(KEPT, code);
}

export function language() {
  return chosen;
}

/** Give a text, with {name} replaced by values.name; the key itself where there is none. */
export function t(key, values = {}) {
  const text = texts[key];
  if (text === undefined) return key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Give the text of a code, such as a phase; a code that has none is shown as it is. */
export function word(group, code) {
  if (code === null || code === undefined) return "";
  return texts[`${group}.${code}`] ?? String(code);
}

/** A time as the reader's own clock shows it. */
export function clock(at) {
  return new Date(at).toLocaleString(chosen, { dateStyle: "medium", timeStyle: "short" });
}

/** The page's language: Korean, English or Chinese. Every text is data, in texts.*.json. */

export const LANGUAGES = [["en", "English"], ["ko", "한국어"], ["zh", "中文"]];
const KEPT = "playmolt.language";

/** Where any of these stands in a text, what stands beside it must not be drawn into its direction. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\u202e\ufb1d-\ufdff\ufe70-\ufefc]/;

let texts = {};
let spoken = "en";

const known = (code) => LANGUAGES.some(([id]) => id === code);

/** The language that a person has chosen, by the address or by an earlier choice; null for none. */
export function chosenLanguage() {
  const asked = new URLSearchParams(location.search).get("lang");
  return [asked, localStorage.getItem(KEPT)].find(known) ?? null;
}

/** Give the texts of a language: the one named, else the chosen one, else the browser's. */
export async function readTexts(named) {
  const code = named ?? chosenLanguage() ?? navigator.languages.map((one) => one.slice(0, 2)).find(known) ?? "en";
  const answer = await fetch(new URL(`texts.${code}.json`, document.querySelector("link[rel=icon]").href));
  if (!answer.ok) throw new Error(`the texts of ${code} did not come: ${answer.status}`);
  return { code, texts: await answer.json() };
}

/** Speak by these texts from now on. A page does so before it draws anything. */
export function speak(read) {
  texts = read.texts;
  spoken = read.code;
  document.documentElement.lang = spoken;
}

/** Keep a language for the next visits; what the address said before does not count any more. */
export function keepLanguage(code) {
  localStorage.setItem(KEPT, code);
  const address = new URL(location.href);
  address.searchParams.delete("lang");
  history.replaceState(null, "", address);
}

export function language() {
  return spoken;
}

/** Give a text, with {name} replaced by values.name; the key itself where there is none. */
export function t(key, values = {}) {
  const text = texts[key];
  if (text === undefined) return key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? isolated(String(values[name])) : whole));
}

/** Keep a text that is written from right to left from drawing its neighbours along. */
export function isolated(text) {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

/** The texts whose keys begin so: what is behind it, and the text. */
export function textsUnder(begin) {
  return Object.entries(texts).filter(([key]) => key.startsWith(begin)).map(([key, text]) => [key.slice(begin.length), text]);
}

/** Give the text of a code, such as a phase; a code that has none is shown as it is. */
export function word(group, code) {
  if (code === null || code === undefined) return "";
  return texts[`${group}.${code}`] ?? String(code);
}

/** A time as the reader's own clock shows it. */
export function clock(at) {
  return new Date(at).toLocaleString(spoken, { dateStyle: "medium", timeStyle: "short" });
}

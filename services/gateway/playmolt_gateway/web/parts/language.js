/** The page's language: Korean, English or Chinese. Every text is data, in texts.*.json; a page loads those of its module. */

import { kept, rewrite, wantedLanguages } from "./browser.js";

export const LANGUAGES = [["en", "English"], ["ko", "한국어"], ["zh", "中文"]];
const KEPT = "playmolt.language";

/** Texts with any of these characters need bidi isolation. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\u202e\ufb1d-\ufdff\ufe70-\ufefc]/;

let texts = {};
let spoken = "en";

/** The language of a tag such as "ko-KR" or "zh_Hant", if it is one of the page's. */
const codeOf = (tag) => LANGUAGES.find(([id]) => id === tag?.split(/[-_]/)[0].toLowerCase())?.[0];

/** The language chosen by URL or on an earlier visit, or null. */
export function chosenLanguage() {
  const asked = new URLSearchParams(location.search).get("lang");
  return codeOf(asked) ?? codeOf(kept.get(KEPT)) ?? null;
}

/**
 * What the head preloads, by address. Asked for at once: an engine warns of what is not used soon after the page has
 * loaded, as in another language than the browser's, or where texts come slowly. The mode is the one in which Chromium,
 * Firefox and WebKit all match a request to its preload.
 */
const early = new Map([...document.querySelectorAll("link[rel=preload]")].map(({ href }) =>
  [href, fetch(href, { mode: "no-cors", credentials: "include" })]));
// The first request for it reports a failure.
for (const answer of early.values()) answer.catch(() => {});

/** Fetch. The first request for what the head preloads takes the answer that came early. */
export function fetched(address, options) {
  const { href } = new URL(address, location.href);
  const answer = early.get(href);
  if (!early.delete(href)) return fetch(address, options);
  const late = new Promise((_, fail) => options?.signal?.addEventListener("abort", () => fail(new Error("the answer is late"))));
  return Promise.race([answer, late]);
}

/** The texts lie beside the page's module. */
function textsAddress(code) {
  return document.querySelector("script[type=module][src^='/assets/']").src.replace(/\.js$/, `.${code}.json`);
}

/** The texts of the given, chosen or browser language. */
export async function readTexts(named) {
  const code = named ?? chosenLanguage() ?? wantedLanguages().map(codeOf).find(Boolean) ?? "en";
  const answer = await fetched(textsAddress(code));
  if (!answer.ok) throw new Error(`the texts of ${code} did not come: ${answer.status}`);
  return { code, texts: await answer.json() };
}

/** Use these texts; call before drawing. */
export function speak(read) {
  texts = read.texts;
  spoken = read.code;
  document.documentElement.lang = spoken;
}

/** Store a language for later visits and remove it from the URL; where nothing is stored the URL keeps it. */
export function keepLanguage(code) {
  kept.set(KEPT, code);
  const address = new URL(location.href);
  if (kept.lasts()) address.searchParams.delete("lang");
  else address.searchParams.set("lang", code);
  rewrite(address);
}

export function language() {
  return spoken;
}

/** A text with {name} replaced by values.name; the key itself if there is no text. */
export function t(key, values = {}) {
  const text = texts[key];
  if (text === undefined) return key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? isolated(String(values[name])) : whole));
}

/** What the server sends instead of a text or name that the operator hid. */
const WITHHELD = "[withheld]";

/** JSON with the reader's word for what is withheld. */
export function parsed(text) {
  return text.includes(WITHHELD) ? JSON.parse(text, (_, value) => (value === WITHHELD ? t("withheld") : value)) : JSON.parse(text);
}

/** Identifies what moderation changed in a state, for addresses of its pictures: browsers keep these for a year. "" for nothing. */
export function moderationOf(state) {
  const text = JSON.stringify(state);
  const renamed = (state.participants ?? []).some((seat) => seat.name && seat.name === seat.handle);
  if (!renamed && !text.includes(JSON.stringify(t("withheld")))) return "";
  let hash = 2166136261;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  return (hash >>> 0).toString(36);
}

/** Isolate right-to-left text from its neighbors. */
export function isolated(text) {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

/** [rest of key, text] of the texts with this key prefix. */
export function textsUnder(begin) {
  return Object.entries(texts).filter(([key]) => key.startsWith(begin)).map(([key, text]) => [key.slice(begin.length), text]);
}

/** The text of a code such as a phase, or the code itself. */
export function word(group, code) {
  if (code === null || code === undefined) return "";
  return texts[`${group}.${code}`] ?? String(code);
}

/** A time in the reader's time zone, which it names: in what is read elsewhere, too, such as a report. */
export function zoned(at) {
  return new Date(at).toLocaleString(spoken, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
}

/** A time in the reader's time zone. */
export function clock(at) {
  return new Date(at).toLocaleString(spoken, { dateStyle: "medium", timeStyle: "short" });
}

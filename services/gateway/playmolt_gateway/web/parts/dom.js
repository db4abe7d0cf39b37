/** Nodes of the page. Text is only ever set as text: no string that a model or an agent wrote is read as HTML. */

import { sizes } from "./browser.js";
import { t } from "./language.js";

/**
 * Make an element. `props` are attributes; `on…` are listeners, `class` a class list, booleans are there or not,
 * `maxlength` counts characters as the server does.
 * Children are nodes, texts, numbers or lists of them; null and false are left out.
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in node) node.value = value;
    else if (name === "maxlength") limit(node, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

/** Make an element of SVG. */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) node.setAttribute(name, String(value));
  append(node, children);
  return node;
}

let contentLanguage = null;

/** What agents, players and cases say from now on is in this language: that of the game or session, not the page's. */
export function contentIn(language) {
  contentLanguage = language ?? null;
}

/** The attribute of an element that holds such a text. */
export const ofContent = () => ({ lang: contentLanguage });

/** Such a text in a sentence of the page. */
export function content(...children) {
  return el("bdi", ofContent(), children);
}

/** A text of the page around a name of the content, which keeps its own language. */
export function around(key, name) {
  const [before, after] = t(key).split("{name}");
  return [before, content(name), after];
}

/** The name of somebody else, whatever its direction of writing. `language` is that of a title or question. */
export function named(text, language = null) {
  return el("bdi", { class: "name", lang: language }, text);
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** The browser's own limit counts UTF-16 units and would cut a text of emoji at its half. */
function limit(control, most) {
  const cut = ({ isComposing }) => {
    if (isComposing || control.value.length <= most) return;
    const characters = [...control.value];
    if (characters.length > most) control.value = characters.slice(0, most).join("");
  };
  control.addEventListener("input", cut);
  control.addEventListener("compositionend", cut);
}

/**
 * Put children in place of what a node holds. The focus stays where it was and details stay open, if what has the same
 * `data-focus` or `data-open` comes again.
 */
export function fill(node, ...children) {
  const focused = node.contains(document.activeElement) ? document.activeElement.dataset?.focus : undefined;
  const opened = [...node.querySelectorAll("details[open][data-open]")].map((details) => details.dataset.open);
  node.replaceChildren();
  append(node, children);
  for (const details of node.querySelectorAll("details[data-open]")) {
    if (opened.includes(details.dataset.open)) details.open = true;
  }
  if (focused) node.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

/** Give a function that fills a node with what `draw()` gives, and leaves it alone as long as `value` is what it was. */
export function filler(node) {
  let shown;
  return (value, draw) => {
    const now = JSON.stringify(value);
    if (now === shown) return;
    fill(node, draw());
    shown = now;
  };
}

/** Move the focus to a heading, so that a screen reader reads on from there. */
export function focusOn(node) {
  if (!node) return;
  node.tabIndex = -1;
  node.focus({ preventScroll: false });
}

// Live regions must exist before their first text, or it is not announced.
const region = el("div", { class: "unseen", role: "status", "aria-live": "polite" });
document.body.append(region);

/** Say something to a screen reader without moving the focus. */
export function announce(text) {
  region.textContent = text;
}

let numbers = 0;

/** Give an id that no other element has. */
export function unique(name) {
  numbers += 1;
  return `${name}-${numbers}`;
}

/** A control with its label above it. `fault` is shown below and tied to it. */
export function field(label, control, { hint = "", fault = "" } = {}) {
  control.id ||= unique("field");
  const notes = [];
  if (hint) notes.push(el("span", { class: "quiet small", id: `${control.id}-hint` }, hint));
  const faultNode = el("span", { class: "fault", id: `${control.id}-fault`, role: fault ? "alert" : null }, fault);
  notes.push(faultNode);
  control.setAttribute("aria-describedby", notes.map((note) => note.id).join(" "));
  if (fault) control.setAttribute("aria-invalid", "true");
  const node = el("div", { class: "field" }, el("label", { for: control.id }, label), control, notes);
  node.control = control;
  node.showFault = (text) => {
    faultNode.textContent = text;
    if (text) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  };
  return node;
}

/** Show a text at a place, selected, to be copied by hand: not every browser lets a page copy. */
export function byHand(place, text) {
  const shown = el("input", { type: "text", readonly: true, value: text, "data-copy": "" });
  fill(place, field(t("copy.by_hand"), shown));
  shown.focus({ preventScroll: true });
  shown.select();
}

/** A select of [value, text] pairs. */
export function select(options, value, props = {}) {
  const node = el("select", props, options.map(([id, text]) => el("option", { value: id }, text)));
  if (value !== undefined && value !== null) node.value = value;
  return node;
}

/** A table with a caption, heads and rows of cells; a cell is a text, a node, or {number: text}. */
export function table(caption, heads, rows, { hidden = false } = {}) {
  const cell = (tag, value, props = {}) =>
    value !== null && typeof value === "object" && "number" in value
      ? el(tag, { ...props, class: "number" }, value.number)
      : el(tag, props, value);
  const wide = el("div", { class: "wide" }, el("table", {},
    el("caption", { class: hidden ? "unseen" : null }, caption),
    el("thead", {}, el("tr", {}, heads.map((head) => cell("th", head, { scope: "col" })))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((value, place) =>
      place ? cell("td", value) : cell("th", value, { scope: "row", class: typeof value === "number" ? "short" : null })))))));
  scrolledByKeys.observe(wide);
  return wide;
}

/** Where a table is wider than its place, keys reach it, so that they can move it. */
const scrolledByKeys = sizes((changes) => {
  for (const { target } of changes) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

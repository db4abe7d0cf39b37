/**
 * A form drawn from a JSON Schema: what the gates of a legal session ask, and what a seat of a game may send. It knows
 * the parts of JSON Schema that they use: const, enum with titles, boolean, string, numbers, what may also be null, lists
 * of texts (with examples or offered codes), lists of objects, objects, and allOf/if/then that makes a field required,
 * which is then shown only while the condition holds.
 */

import { el, field, fill, focusOn, unique } from "./dom.js";
import { t, word } from "./language.js";

const LONG = 300;

/**
 * Make a form of a schema. `labels` maps an id that the schema lists to a text a person reads; a text of `long` characters
 * has several lines; `text(path, schema)`, `option(path, value)` and `hint(path, schema)` name a field, one of its values,
 * and what to know of it.
 */
export class Form {
  constructor(schema, { labels = {}, long = LONG, text = title, option = plain, hint = () => "" } = {}) {
    this.root = new Group("", schema, { labels, long, text, option, hint });
    this.summary = el("div");
    this.node = el("div", { class: "stack" }, this.summary, this.root.node);
  }

  value() {
    return this.root.value() ?? {};
  }

  /** Show faults, each at its field; gives whether there were any. */
  showFault(faults) {
    this.root.clear();
    const rest = faults.filter((fault) => !this.root.showFault(fault.field, fault.message));
    fill(this.summary, faults.length
      ? el("div", { class: "notice", role: "alert" }, el("p", {}, t("form.faults", { n: faults.length })),
        rest.map((fault) => el("p", {}, `${fault.field}: ${fault.message}`))) : null);
    const first = this.node.querySelector("[aria-invalid='true'], fieldset.faulty input");
    if (first) first.focus();
    else if (faults.length) focusOn(this.summary);
    return faults.length > 0;
  }

  /** What is missing before anything is sent. */
  check() {
    return this.root.missing();
  }
}

function editor(path, declared, words, required) {
  const schema = withoutNull(declared);
  if ("const" in schema) return new Fixed(schema.const);
  if (schema.enum?.length === 1 && required) return new Fixed(schema.enum[0]);
  if (schema.type === "object") return new Group(path, schema, words, required);
  if (schema.type === "array") {
    const { items } = schema;
    if (items.type === "object") return items.properties.id?.enum ? new Answers(path, schema, words) : new Rows(path, schema);
    return new Texts(path, schema, words, required);
  }
  const named = (value) => [value, words.option(path, value)];
  if (schema.type === "boolean") return new Choice(path, schema, words, [named(true), named(false)], required);
  if (schema.enum) return new Choice(path, schema, words, schema.oneOf ? schema.oneOf.map((one) => [one.const, one.title]) : schema.enum.map(named), required);
  if (["integer", "number"].includes(schema.type)) return new Figure(path, schema, words, required);
  return new Text(path, schema, words, required);
}

/** What may also be null is asked for as what else it may be: who leaves it empty sends none. */
function withoutNull(schema) {
  const kinds = schema.anyOf?.filter((one) => one.type !== "null") ?? [];
  if (kinds.length === 1) return { ...schema, anyOf: undefined, ...kinds[0] };
  return Array.isArray(schema.type) ? { ...schema, type: schema.type.find((one) => one !== "null") } : schema;
}

const title = (path, schema) => schema.title ?? word("field", path.split(".").pop().replace(/\[\d+\]$/, ""));
const plain = (_, value) => (typeof value === "boolean" ? t(value ? "yes" : "no") : String(value));
const optional = (text, required) => (required ? text : `${text} (${t("optional")})`);

class Fixed {
  constructor(fixed) {
    this.fixed = fixed;
    this.node = null;
  }
  value() { return this.fixed; }
  missing() { return []; }
  showFault() { return false; }
  clear() {}
}

class Text {
  constructor(path, schema, words, required) {
    this.path = path;
    this.required = required;
    const long = (schema.maxLength ?? 0) >= words.long;
    this.control = el(long ? "textarea" : "input", { maxlength: schema.maxLength, name: path, "aria-required": required ? "true" : null, ...(long ? { rows: 3 } : { type: "text" }) });
    this.node = field(optional(words.text(path, schema), required), this.control, { hint: words.hint(path, schema) });
  }
  value() { return this.control.value.trim() || undefined; }
  missing() { return this.required && this.value() === undefined ? [{ field: this.path, message: t("form.required") }] : []; }
  showFault(path, message) {
    if (path !== this.path) return false;
    this.node.showFault(message);
    return true;
  }
  clear() { this.node.showFault(""); }
}

/** A number; the browser's own field for numbers would read a comma, a letter or nothing alike. */
class Figure extends Text {
  constructor(path, schema, words, required) {
    super(path, { title: schema.title }, words, required);
    this.schema = schema;
    this.control.inputMode = schema.type === "integer" && !(schema.minimum < 0) ? "numeric" : "text";
  }
  value() {
    const text = this.control.value.trim();
    return text === "" ? undefined : Number(text);
  }
  missing() {
    const value = this.value();
    if (value === undefined) return super.missing();
    const { type, minimum = -Infinity, maximum = Infinity } = this.schema;
    const fits = type === "integer" ? Number.isSafeInteger(value) : Number.isFinite(value);
    return fits && value >= minimum && value <= maximum ? [] : [{ field: this.path, message: t("form.wrong") }];
  }
}

class Boxed {
  constructor(path, legend) {
    this.path = path;
    this.fault = el("p", { class: "fault", id: unique("fault") });
    this.node = el("fieldset", { "data-path": path, "aria-describedby": this.fault.id }, el("legend", {}, legend), this.fault);
  }
  showFault(path, message) {
    if (path !== this.path && !path.startsWith(`${this.path}[`) && !path.startsWith(`${this.path}.`)) return false;
    this.fault.textContent = message;
    this.fault.setAttribute("role", "alert");
    this.node.classList.add("faulty");
    return true;
  }
  clear() {
    this.fault.textContent = "";
    this.node.classList.remove("faulty");
  }
  missing() { return []; }
}

class Choice extends Boxed {
  constructor(path, schema, words, options, required) {
    super(path, optional(words.text(path, schema), required));
    this.required = required;
    const name = unique(path || "choice");
    this.inputs = options.map(([value, text]) => {
      const input = el("input", { type: "radio", name, value: String(value), "data-field": path });
      this.node.append(el("label", { class: "choice" }, input, el("span", {}, text)));
      return [value, input];
    });
  }
  value() { return this.inputs.find(([, input]) => input.checked)?.[0]; }
  missing() { return this.required && this.value() === undefined ? [{ field: this.path, message: t("form.choose") }] : []; }
}

/** A list of texts: offered ones to tick, and lines of one's own. */
class Texts extends Boxed {
  constructor(path, schema, words, required) {
    super(path, optional(words.text(path, schema), required));
    this.required = required;
    this.most = schema.maxItems;
    const codes = (schema.items.anyOf ?? []).filter((one) => "const" in one).map((one) => [one.const, one.title]);
    const offered = [...codes, ...(schema.examples ?? []).map((text) => [text, text])];
    this.ticks = offered.map(([value, text]) => {
      const input = el("input", { type: "checkbox", value, "data-field": path });
      this.node.append(el("label", { class: "choice" }, input, el("span", {}, text)));
      return [value, input];
    });
    this.own = el("div", { class: "tight" });
    this.label = offered.length ? t("form.own") : words.text(path, schema);
    this.length = schema.items.maxLength;
    this.node.append(this.own, el("button", { type: "button", class: "bare", onclick: () => this.#line().focus() }, t("form.add")));
    if (!offered.length) this.#line();
  }
  #line() {
    const input = el("input", { type: "text", "aria-label": this.label, maxlength: this.length, "data-field": this.path });
    this.own.append(input);
    return input;
  }
  value() {
    const ticked = this.ticks.filter(([, input]) => input.checked).map(([value]) => value);
    const own = [...this.own.children].map((input) => input.value.trim()).filter(Boolean);
    const all = [...ticked, ...own];
    return all.length ? all : undefined;
  }
  missing() {
    const count = this.value()?.length ?? 0;
    if (this.required && count === 0) return [{ field: this.path, message: t("form.one") }];
    return this.most && count > this.most ? [{ field: this.path, message: t("form.most", { n: this.most }) }] : [];
  }
}

/** A list of objects, a row each, such as entries of a timeline. */
export class Rows extends Boxed {
  constructor(path, schema) {
    super(path, title(path, schema));
    this.schema = schema;
    this.rows = [];
    this.list = el("div", { class: "stack" });
    this.node.append(this.list, el("button", { type: "button", class: "bare", onclick: () => this.add() }, t("form.add")));
  }
  add(values = {}) {
    const keys = Object.keys(this.schema.items.properties);
    const controls = keys.map((key) => {
      const rule = this.schema.items.properties[key];
      if (rule.type === "boolean") {
        const input = el("input", { type: "checkbox", "data-field": `${this.path}.${key}` });
        input.checked = Boolean(values[key]);
        return [key, input, el("label", { class: "choice" }, input, el("span", {}, word("field", key)))];
      }
      const input = el("input", { type: "text", maxlength: rule.maxLength, value: values[key] ?? "", "data-field": `${this.path}.${key}` });
      return [key, input, field(word("field", key), input)];
    });
    const row = { controls };
    row.node = el("div", { class: "entry" }, controls.map(([, , node]) => node),
      el("button", { type: "button", class: "bare", onclick: () => {
        this.rows = this.rows.filter((one) => one !== row);
        row.node.remove();
      } }, t("form.remove")));
    this.rows.push(row);
    this.list.append(row.node);
    controls[0][1].focus({ preventScroll: true });
  }
  value() {
    const rows = this.rows.map((row) => Object.fromEntries(row.controls.map(([key, input]) => [key, input.type === "checkbox" ? input.checked : input.value.trim()])))
      .filter((row) => Object.values(row).some((value) => typeof value === "string" && value));
    return rows.length ? rows : undefined;
  }
}

/** An answer to each of the questions whose ids the schema lists; those left empty are left out. */
class Answers extends Boxed {
  constructor(path, schema, { labels }) {
    super(path, title(path, schema));
    const { properties } = schema.items;
    this.inputs = properties.id.enum.map((id) => {
      const input = el("textarea", { rows: 2, maxlength: properties.text.maxLength, "data-field": `${path}.${id}` });
      this.node.append(field(labels[id] ? `${id}. ${labels[id]}` : id, input));
      return [id, input];
    });
  }
  value() {
    const answers = this.inputs.map(([id, input]) => ({ id, text: input.value.trim() })).filter((one) => one.text);
    return answers.length ? answers : undefined;
  }
}

class Group {
  constructor(path, schema, words, required = true) {
    this.path = path;
    this.required = required;
    const needed = new Set(schema.required ?? []);
    this.rules = (schema.allOf ?? []).filter((rule) => rule.if && rule.then?.required)
      .map((rule) => ({ if: rule.if.properties, fields: rule.then.required }));
    const conditional = new Set(this.rules.flatMap((rule) => rule.fields));
    this.parts = Object.entries(schema.properties ?? {}).map(([name, one]) => {
      const own = path ? `${path}.${name}` : name;
      return { name, conditional: conditional.has(name), editor: editor(own, one, words, needed.has(name) || conditional.has(name)) };
    });
    const nodes = this.parts.map((part) => part.editor.node).filter(Boolean);
    this.node = path && nodes.length
      ? el("fieldset", { class: "stack" }, el("legend", {}, words.text(path, schema)), nodes) : el("div", { class: "stack" }, nodes);
    if (path && !nodes.length) this.node = null;
    this.node?.addEventListener("change", () => this.#follow());
    this.#follow();
  }

  #follow() {
    for (const part of this.parts) if (part.conditional) part.editor.node.hidden = !this.#wanted(part);
  }

  #wanted(part) {
    if (!part.conditional) return true;
    const now = (name) => this.parts.find((one) => one.name === name)?.editor.value();
    return this.rules.some((rule) => rule.fields.includes(part.name)
      && Object.entries(rule.if).every(([name, test]) => now(name) === test.const));
  }

  value() {
    const filled = this.parts.filter((part) => this.#wanted(part)).map((part) => [part.name, part.editor.value()])
      .filter(([, value]) => value !== undefined);
    return filled.length || !this.path ? Object.fromEntries(filled) : undefined;
  }

  missing() {
    const wanted = this.parts.filter((part) => this.#wanted(part));
    return wanted.flatMap((part) => part.editor.missing());
  }

  showFault(path, message) {
    if (this.parts.some((part) => part.editor.showFault(path, message))) return true;
    if (!this.path || path !== this.path) return false;
    // A fault of the group as a whole, such as one of its answers: shown at the first control.
    const first = this.parts.find((part) => part.editor.node);
    return Boolean(first?.editor.showFault(first.editor.path, message));
  }

  clear() {
    for (const part of this.parts) part.editor.clear();
  }
}

/**
 * Public messages as text. The sentences are data: `narration.<language>.json` of each game and shared ones. The
 * terminal uses the same data and rules (`terminal/narration.py`).
 */

import { isolated, t, textsUnder, word } from "./language.js";

const ENVELOPE = ["type", "name", "game_id", "session_id", "version", "at"];
const PART = /<([\w.]+): ([^<>]*)>|\[([^[\]]*)\]|\{([\w.]+)(?::(\w+))?\}/g;
const NEEDED = /<([\w.]+): [^<>]*>|\{([\w.]+)/g;

/** Narrates the messages of one game in order; remembers names, and who is a person. */
export class Narration {
  constructor(game) {
    this.sentences = new Map([...sentences("any"), ...sentences(game)]);
    this.names = new Map();
    this.people = new Set();
  }

  /** The line of a message, or "". Without a sentence it is made of the type and the fields. */
  line(message) {
    for (const one of [message, ...list(message.participants)]) this.meet(one);
    if (message.type === "progress") return "";
    const sentence = this.#chosen(message);
    return sentence === null ? this.#byName(message) : this.#filled(sentence, message);
  }

  /** Remember the name of an agent, and whether it is a person. */
  meet(one) {
    this.call(idOf(one), one.name);
    if (one.kind === "person" && idOf(one)) this.people.add(idOf(one));
  }

  /** Remember a name. */
  call(id, name) {
    if (typeof id === "string" && typeof name === "string") this.names.set(id, name);
  }

  /** A name, with a mark if it is a person's. */
  #marked(id, name) {
    return this.people.has(id) ? t("named.person", { name }) : name;
  }

  /** The matching sentence with the most conditions. */
  #chosen(message) {
    const holding = (this.sentences.get(message.type) ?? []).filter((one) => one.conditions.every((condition) => holds(condition, message)));
    if (!holding.length) return null;
    const { text } = holding.reduce((most, one) => (one.conditions.length > most.conditions.length ? one : most));
    const needed = [...text.replace(/\[[^[\]]*\]/g, "").matchAll(NEEDED)].map((found) => found[1] ?? found[2]);
    return needed.some((path) => value(message, path) === null) ? null : text;
  }

  #filled(sentence, message) {
    return sentence.replace(PART, (_, items, each, optional, path, group) => {
      if (items) return list(value(message, items)).map((item) => this.#filled(each, item)).join(", ");
      if (optional === undefined && path === "name") return isolated(this.#marked(idOf(message), String(value(message, path))));
      if (optional === undefined) return this.#shown(value(message, path), group);
      const paths = [...optional.matchAll(/\{([\w.]+)/g)].map((found) => found[1]);
      return paths.every((one) => isThere(value(message, one))) ? this.#filled(optional, message) : "";
    });
  }

  #shown(found, group) {
    if (Array.isArray(found)) return found.map((one) => this.#shown(one, group)).join(", ");
    return isolated(group === "name" ? this.#marked(found, this.names.get(found) ?? String(found)) : word(group, found));
  }

  #byName(message) {
    const plain = Object.entries(message).filter(([name, found]) => !ENVELOPE.includes(name) && found !== null && typeof found !== "object");
    return [spaced(message.type), ...plain.map(([name, found]) => this.names.has(found) ? this.#marked(found, this.names.get(found)) : `${spaced(name)} ${found}`)].join(" · ");
  }
}

/** Event type → its sentences with the conditions of their keys. */
function sentences(game) {
  const found = new Map();
  for (const [key, text] of textsUnder(`event.${game}.`)) {
    const [type, ...conditions] = key.split(".");
    found.set(type, [...(found.get(type) ?? []), { conditions, text }]);
  }
  return found;
}

/** `field`: present and not false or empty; `field=value`; `field==other field`. */
function holds(condition, message) {
  const [, field, equals, wanted] = /^(\w+)(=*)(.*)$/.exec(condition);
  if (!equals) return isThere(message[field]);
  return equals === "==" ? message[field] === message[wanted] : String(message[field]) === wanted;
}

/** The value at a path; for lists, of each item. */
function value(message, path) {
  return path.split(".").reduce((at, name) => (Array.isArray(at) ? at.map((one) => one[name]) : at?.[name]), message) ?? null;
}

/** The id of the agent that a message or a part of it is about. */
function idOf(one) {
  return one.agent_id || one.id;
}

function isThere(found) {
  return found !== null && found !== undefined && found !== false && found !== "" && !(Array.isArray(found) && !found.length);
}

function list(found) {
  return Array.isArray(found) ? found : [];
}

function spaced(code) {
  return code.replaceAll("_", " ");
}

/** The case of the AI jury: dossier, evidence, witnesses. */

import { get, post } from "../parts/api.js";
import { announce, content, el, field, fill, focusOn, ofContent, select } from "../parts/dom.js";
import { actionButton, trouble } from "../parts/frame.js";
import { t } from "../parts/language.js";

/** The tabs of the case; witnesses only during the investigation. */
export function caseTabs(game, witnesses) {
  const list = [["dossier", t("game.dossier"), dossier(game)], ["evidence", t("game.evidence"), evidence(game)]];
  return witnesses ? [...list, ["witnesses", t("game.witnesses"), witnessPanel(game)]] : list;
}

/** The unlocked items: [[id, title]]. */
export async function openItems(game) {
  const { evidence: items } = await get(`${game.path}/evidence`);
  return items.filter((item) => !item.locked).map((item) => [item.id, `${item.id} · ${item.title}`]);
}

function loading(panel, load) {
  fill(panel, el("p", { class: "quiet waiting" }, t("loading")));
  load().catch((error) => fill(panel, trouble(error)));
  return panel;
}

function dossier(game) {
  const panel = el("div", { class: "card" });
  return loading(panel, async () => {
    const dossier = await get(`${game.path}/dossier`);
    fill(panel, el("h2", ofContent(), dossier.title), el("p", { class: "prose", ...ofContent() }, dossier.text));
  });
}

function evidence(game) {
  const panel = el("div", { class: "two" });
  const shelf = el("ul", { class: "tight" });
  const page = el("article", { class: "card", "aria-live": "polite" }, el("p", { class: "quiet" }, t("game.choose_evidence")));
  const read = new Set();
  const draw = async () => {
    for (const message of game.messages) if (message.type === "evidence_read") read.add(message.evidence_id);
    const { evidence: items } = await get(`${game.path}/evidence`);
    fill(shelf, items.map((item) => el("li", {}, el("button", { type: "button", class: "line", disabled: item.locked, "data-focus": item.id,
      onclick: () => open(item.id) },
      item.locked ? `${item.id} · ${t("game.locked")}` : [`${item.id} · `, content(item.title), read.has(item.id) ? " ✓" : ""]))));
  };
  const open = async (id) => {
    try {
      const item = await get(`${game.path}/evidence/${id}`);
      const head = el("h2", {}, `${item.id} · `, content(item.title));
      fill(page, head, el("p", { class: "prose", ...ofContent() }, item.text));
      focusOn(head);
    } catch (error) {
      fill(page, trouble(error));
    }
  };
  game.listen((message) => {
    if (["evidence_unlocked", "evidence_read"].includes(message?.type)) draw().catch(() => {});
  });
  panel.append(page, shelf);
  draw().catch((error) => fill(page, trouble(error)));
  return panel;
}

function witnessPanel(game) {
  const panel = el("div", { class: "two" });
  const people = el("ul", { class: "tight" });
  const stage = el("div", { class: "card" }, el("p", { class: "quiet" }, t("game.choose_witness")));
  let chosen = "";
  const draw = async () => {
    const { witnesses } = await get(`${game.path}/witnesses`);
    fill(people, witnesses.map((one) => el("li", {}, el("button", { type: "button", class: "line", "aria-pressed": String(one.id === chosen),
      "data-focus": one.id, onclick: () => choose(one) }, one.name, one.cracked ? ` · ${t("game.cracked")}` : ""))));
    return witnesses;
  };
  const choose = async (one) => {
    chosen = one.id;
    await Promise.all([draw(), new Talk(game, one, stage, draw).step({})]);
  };
  panel.append(stage, people);
  draw().catch((error) => fill(stage, trouble(error)));
  return panel;
}

/** The conversation with a witness. */
class Talk {
  constructor(game, witness, stage, changed) {
    this.game = game;
    this.witness = witness;
    this.stage = stage;
    this.changed = changed;
  }

  async step(body, said = null) {
    try {
      const talk = await post(`${this.game.path}/witnesses/${this.witness.id}/talk`, body);
      await this.draw(talk, said);
      if (talk.unlocked.length || talk.cracked) await this.changed();
    } catch (error) {
      fill(this.stage.querySelector(".trouble") ?? this.stage, trouble(error));
    }
  }

  async draw(talk, said) {
    const items = await openItems(this.game);
    const head = el("h2", ofContent(), this.witness.name);
    const shown = select(items);
    fill(this.stage,
      el("div", { class: "row apart" }, head,
        el("span", { class: "quiet small" }, talk.cracked ? t("game.cracked") : t("game.pressure", { n: talk.pressure }))),
      said ? el("p", { class: "said mine" }, said) : null,
      el("blockquote", { ...ofContent(), class: "speech pre", "data-node": talk.node }, talk.text),
      talk.unlocked.length
        ? el("p", { class: "notice", role: "status" }, t("game.unlocked", { ids: talk.unlocked.join(", ") })) : null,
      talk.choices.length ? el("ul", { class: "tight", "aria-label": t("game.say") }, talk.choices.map((choice) =>
        el("li", {}, el("button", { type: "button", class: "line", "data-choice": choice.id,
          onclick: () => this.step({ choice: choice.id }, choice.text) }, content(choice.text)))))
        : el("p", { class: "quiet" }, t("game.nothing_to_say")),
      items.length ? el("div", { class: "row bottom" }, field(t("game.show_item"), shown),
        actionButton(t("game.show"), () => this.step({ evidence_id: shown.value }, shown.selectedOptions[0].textContent))) : null,
      el("div", { class: "trouble" }));
    if (said) focusOn(head);
    announce(`${this.witness.name}: ${talk.text}`);
  }
}

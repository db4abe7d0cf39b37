/** The view of an Agora run: places, actions, market and ranks. */

import { el, table } from "../../parts/dom.js";
import { t, word } from "../../parts/language.js";
import { Narration } from "../../parts/narration.js";

/** Only the operator may read a run's log, which contains thoughts and whispers. */
export const game = { scene, seats, secrets, mark, reader: "operator" };

/** Marks for turns and world events. */
function mark(event) {
  if (event.type === "run_ended") return { name: t("mark.end"), high: true };
  if (["agent_died", "tax_changed", "rank_changed", "whisper_leaked", "billboard_posted"].includes(event.type)) {
    return { name: new Narration("agora").line(event), high: true };
  }
  return event.type === "epoch_started" ? { name: `${t("agora.turn")} ${event.turn}`, round: event.turn } : null;
}

function seats(state) {
  return state.agents.map((agent) => [agent.id, agent.id]);
}

function scene(state, event, seat) {
  return [heading(state), state.self ? seen(state.self) : null, places(state, event), state.self ? null : acts(state), agents(state, seat)];
}

/** The events in an agent's prompt and the agents nearby. */
function seen(self) {
  return el("section", { class: "card on" }, el("h2", {}, t("agora.seen", { agent: self.id })),
    el("p", { class: "quiet small" }, self.here.length ? t("agora.beside", { agents: self.here.join(", ") }) : t("agora.alone")),
    self.seen.length ? el("ol", {}, [...self.seen].reverse().map((line) => el("li", { class: "speech" }, line))) : el("p", { class: "quiet" }, t("agora.nothing_seen")));
}

/** An agent's thoughts, whispers and answers to questions asked aside, each shown until its next turn. */
function secrets(records, seat) {
  const found = [];
  for (const { version, type, data } of records) {
    if (type === "interviewed" && data.agent === seat) {
      const answer = data.text ?? data.value ?? data.choice ?? data.parse_code;
      found.push({ from: version, to: Infinity, text: t("secret.answer", { question: data.id, answer }) });
    }
    const turn = data.record;
    if (!turn) continue;
    if (turn.agent === seat) {
      for (const secret of found) secret.shown ??= version;
      if (turn.thought) found.push({ from: version, to: Infinity, text: t("secret.thought", { thought: turn.thought }) });
    }
    if (turn.action === "whisper" && turn.success && [turn.agent, turn.target].includes(seat)) {
      found.push({ from: version, to: Infinity, text: t("secret.whisper", { agent: turn.agent, target: turn.target, content: turn.content }) });
    }
  }
  return found;
}

function heading(state) {
  const share = state.progress.total ? Math.round((100 * state.progress.done) / state.progress.total) : 0;
  const facts = [
    [t("agora.turn"), `${state.turn} / ${state.turns}`],
    [t("agora.residents"), `${state.residents} / ${state.residents_start}`],
    [t("agora.gini"), state.gini], [t("agora.tax"), state.tax_rate === null ? null : `${state.tax_rate} %`],
    [t("agora.treasury"), state.treasury], [t("agora.pool"), state.pool], [t("agora.crisis"), word("crisis", state.crisis)],
    [t("agora.next"), state.next_agent],
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  const progress = el("progress", { max: 100, value: share, "aria-label": t("agora.progress") });
  return el("section", { class: "card" },
    el("div", { class: "row" }, el("span", { class: "tag" }, word("phase", state.phase)),
      el("span", { class: "tag plain" }, word("world", state.world)), state.set ? el("span", { class: "tag plain" }, t("agora.set", { set: state.set })) : null,
      el("span", { class: "tag plain" }, word("language", state.language)),
      state.scripted ? el("span", { class: "tag plain" }, t("agora.scripted")) : null,
      state.exploratory ? el("span", { class: "tag plain" }, t("agora.exploratory")) : null),
    el("h2", {}, t("agora.run", { cell: state.cell, number: state.number })),
    progress,
    el("dl", { class: "facts" }, facts.map(([name, value]) => [el("dt", {}, name), el("dd", { class: "number" }, String(value))])),
    state.billboard ? el("p", { class: "notice" }, state.billboard) : null,
    state.parent ? el("p", { class: "quiet small" }, t("agora.parent"), " ", el("a", { href: `/watch/${state.parent.run}` }, state.parent.run)) : null);
}

function places(state, event) {
  return el("section", { class: "even", "aria-label": t("agora.places") }, state.places.map((place) => {
    const here = state.agents.filter((agent) => agent.alive && agent.place === place);
    return el("div", { class: "card plain" }, el("div", { class: "row apart" },
      el("h3", {}, word("place", place)), el("span", { class: "quiet number" }, here.length)),
      el("ul", { class: "row" }, here.map((agent) => el("li", { class: `tag${agent.id === event?.agent_id ? "" : " plain"}` }, agent.id))));
  }));
}

function acts(state) {
  const narration = new Narration("agora");
  return el("section", { class: "card" }, el("h2", {}, t("agora.acts")),
    el("ol", {}, [...state.acts].reverse().map((one) => el("li", { class: "speech" },
      el("p", { class: "who" }, el("strong", {}, one.agent_id), ` · ${t("agora.turn")} ${one.turn} · ${word("place", one.location)}`),
      el("p", {}, narration.line({ ...one, type: one.code ? "turn_failed" : "agent_acted" }).replace(`${one.agent_id} · `, ""))))));
}

function agents(state, seat) {
  const heads = [t("agent"), t("agora.model"), t("agora.persona"), t("agora.place")];
  const energy = state.agents.some((agent) => agent.energy !== null);
  const influence = state.agents.some((agent) => agent.influence !== null);
  if (energy) heads.push({ number: t("agora.energy") });
  if (influence) heads.push({ number: t("agora.influence") }, t("agora.rank"));
  const rows = state.agents.map((agent) => [agent.id === seat ? `${agent.id} ←` : agent.id, agent.model, agent.persona ? word("persona", agent.persona) : "–",
    agent.alive ? word("place", agent.place) : t("agora.died", { turn: agent.died }),
    ...(energy ? [{ number: agent.energy }] : []), ...(influence ? [{ number: agent.influence }, word("standing", agent.rank)] : [])]);
  return el("section", { class: "card" }, table(t("agora.agents"), heads, rows));
}

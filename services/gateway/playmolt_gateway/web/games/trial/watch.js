/** The view of a trial: case, seats, transcript, votes, result. */

import { el, ofContent, table } from "../../parts/dom.js";
import { t, word } from "../../parts/language.js";
import { agentLink, kindTag } from "../../parts/rows.js";

export const game = { scene, seats, secrets, mark, played, reader: "anonymous" };

function mark(event) {
  if (event.type === "game_started") return { name: word("phase", "opening"), high: true };
  if (event.type === "phase_change") {
    return { name: phase(event.to, event.round), high: true, round: event.to === "argument" ? event.round : undefined };
  }
  if (event.type === "jury_tally") return { name: t("mark.verdict"), high: true };
  return event.type === "game_end" || event.type === "game_aborted" ? { name: t("mark.end"), high: true } : null;
}

function seats(state) {
  return state.participants.map((seat) => [seat.id, seat.role ? `${seat.name} (${word("role", seat.role)})` : seat.name]);
}

function phase(name, round) {
  return name === "argument" ? `${word("phase", name)} ${round}` : word("phase", name);
}

function scene(state, event, seat) {
  return [heading(state), parties(state, event, seat), state.tally ? tally(state) : null,
    state.results ? results(state) : null, record(state, event, seat), state.case ? evidence(state.case) : null];
}

/** Above and below the form of a seat: who speaks next needs the evidence and what was said. */
function played(state, seat) {
  const end = [state.tally ? tally(state) : null, state.results ? results(state) : null];
  return [[heading(state)], [...end, state.case ? evidence(state.case) : null, record(state, undefined, seat), parties(state, undefined, seat)]];
}

function heading(state) {
  const waits = state.phase_submissions.total
    ? t("submissions", { submitted: state.phase_submissions.submitted, total: state.phase_submissions.total }) : "";
  return el("section", { class: "card" },
    el("div", { class: "row" }, el("span", { class: "tag" }, phase(state.phase, state.round)),
      el("span", { class: "quiet small" }, waits),
      state.verdict ? el("strong", {}, word("verdict", state.verdict)) : null),
    el("h2", state.case ? ofContent() : {}, state.case?.title ?? t("waiting_for_agents")),
    state.case ? el("p", ofContent(), state.case.description) : null);
}

function parties(state, event, seat) {
  return el("section", { class: "seats", "aria-label": t("participants") }, state.participants.map((one) =>
    el("div", { class: `seat${one.id === event?.agent_id || one.id === seat ? " on" : ""}` },
      el("span", { class: "quiet small" }, one.role ? word("role", one.role) : t("waiting")),
      el("strong", {}, agentLink(one)),
      el("span", { class: "quiet small" }, one.submitted ? `✓ ${t("submitted")}` : " "))));
}

function record(state, event, seat) {
  const kinds = new Map(state.participants.map(({ id, kind }) => [id, kind]));
  const said = state.history.map((entry, place) => {
    const now = event?.type === "speak" && place === state.history.length - 1;
    return el("li", { class: `speech${now ? " now" : ""}${entry.agent_id === seat ? " mine" : ""}` },
      el("p", { class: "who" }, el("strong", {}, entry.name), kindTag(kinds.get(entry.agent_id)), ` · ${word("role", entry.role)} · ${phase(entry.phase, entry.round)}`),
      el("p", { class: "pre", ...(entry.forfeit ? {} : ofContent()) }, entry.forfeit ? t("forfeit") : entry.text));
  });
  return el("section", { class: "card", "aria-labelledby": "record" }, el("h2", { id: "record" }, t("record")),
    said.length ? el("ol", {}, said.reverse()) : el("p", { class: "quiet" }, t("record.empty")));
}

function evidence(trialCase) {
  const list = (title, items) => el("div", { class: "tight" }, el("h3", {}, title),
    el("ul", { class: "tight" }, items.map((item) => el("li", ofContent(), item))));
  return el("section", { class: "card" }, el("div", { class: "even" },
    list(t("evidence.for"), trialCase.evidence_for), list(t("evidence.against"), trialCase.evidence_against)));
}

function tally(state) {
  const { GUILTY: guilty, NOT_GUILTY: not, votes } = state.tally;
  const seats = new Map(state.participants.map((seat) => [seat.id, seat]));
  return el("section", { class: "card" },
    table(t("tally", { guilty, not }), [t("agent"), t("vote")],
      votes.map((vote) => [agentLink(seats.get(vote.agent_id)), vote.verdict ? word("verdict", vote.verdict) : t("abstained")])));
}

function results(state) {
  return el("section", { class: "card" },
    table(t("results"), [t("agent"), t("role"), t("team"), { number: t("points") }],
      state.results.map((row) => [agentLink({ ...row, id: row.agent_id }), word("role", row.role), row.team ? word("role", row.team) : "–", { number: row.points }])));
}

/** A seat's secret: its vote until the tally. */
function secrets(records, seat) {
  const end = records.find((record) => record.type === "jury_tally")?.version ?? Infinity;
  return records
    .filter((record) => record.type === "vote_submitted" && record.data.agent_id === seat && record.data.verdict)
    .map((record) => ({ from: record.version, to: end, text: t("secret.vote", { verdict: word("verdict", record.data.verdict) }) }));
}

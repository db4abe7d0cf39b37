/** The view of an O/X game: question, sides, scores, rounds. */

import { content, el, ofContent, table } from "../../parts/dom.js";
import { t, word } from "../../parts/language.js";
import { agentLink, kindTag } from "../../parts/rows.js";

export const game = { scene, seats, secrets, mark, played, reader: "anonymous" };

function mark(event, round) {
  const of = (what) => t("mark.round", { round, what: t(`mark.${what}`) });
  if (event.type === "question_open") return { name: of("question"), round };
  if (event.type === "reveal") return { name: of("reveal"), high: true };
  if (event.type === "switch_submitted" && event.switched) return { name: t("mark.switches", { name: event.name }), high: true };
  if (event.type === "round_result") return { name: of("result"), high: true };
  return event.type === "game_end" || event.type === "game_aborted" ? { name: t("mark.end"), high: true } : null;
}

function seats(state) {
  return state.participants.map((seat) => [seat.id, seat.name]);
}

function scene(state, event, seat) {
  return [heading(state), state.self?.first_choice || state.reveal.length ? sides(state, event, seat) : null,
    waiting(state), state.results ? results(state) : score(state, seat), rounds(state)];
}

/** Above and below the form of a seat: who decides whether to switch sees both sides first. */
function played(state, seat) {
  const [question, sidesShown, ...others] = scene(state, undefined, seat);
  return [[question, sidesShown], others];
}

function heading(state) {
  const { submitted, total } = state.phase_submissions;
  return el("section", { class: "card" },
    el("div", { class: "row" }, el("span", { class: "tag" }, word("phase", state.phase)),
      state.round ? el("span", { class: "quiet small" }, t("round_of", { round: state.round, of: state.maxRounds })) : null,
      el("span", { class: "quiet small" }, total ? t("submissions", { submitted, total }) : "")),
    el("h2", { class: "question", ...(state.question && ofContent()) }, state.question ?? t("waiting_for_agents")));
}

function waiting(state) {
  if (state.reveal.length) return null;
  return el("section", { class: "seats", "aria-label": t("participants") }, state.participants.map((one) =>
    el("div", { class: "seat" }, el("strong", {}, agentLink(one)))));
}

/** The current sides: the reveal with the switches so far. */
function sides(state, event, seat) {
  const decided = new Map((state.decisions ?? []).map((decision) => [decision.id, decision]));
  const ended = state.phase === "end" ? state.history.at(-1) : null;
  const shown = state.reveal.length ? state.reveal
    : [{ id: state.self.id, name: state.self.name, choice: state.self.first_choice, comment: t("only_this_seat") }];
  const people = shown.map((one) => {
    const last = ended?.choices.find((choice) => choice.id === one.id);
    const decision = decided.get(one.id) ?? (last && { switched: last.switched, comment: last.switch_comment });
    const other = one.choice === "O" ? "X" : "O";
    return { ...one, decision, side: decision?.switched ? other : one.choice };
  });
  const kinds = new Map(state.participants.map(({ id, kind }) => [id, kind]));
  const side = (name) => {
    const here = people.filter((one) => one.side === name);
    return el("div", { class: `side-${name.toLowerCase()}` },
      el("div", { class: "row apart" }, el("h3", { class: "big" }, name), el("span", { class: "big number" }, here.length)),
      here.map((one) => el("div", { class: `speech${one.id === event?.agent_id ? " now" : ""}${one.id === seat ? " mine" : ""}` },
        el("p", { class: "row" }, el("strong", {}, one.name), kindTag(kinds.get(one.id)),
          one.decision ? el("span", { class: "tag" }, t(one.decision.switched ? "switched" : "kept")) : null),
        el("p", { class: "pre small", ...(state.reveal.length ? ofContent() : {}) }, one.comment),
        one.decision?.comment ? el("p", { class: "pre small", ...ofContent() }, `→ ${one.decision.comment}`) : null)));
  };
  return el("section", { class: "sides", "aria-label": t("choices") }, side("O"), side("X"));
}

function score(state, seat) {
  if (!state.scoreboard.length) return null;
  const rows = state.scoreboard.map((row) => [[agentLink(row), row.id === seat ? " ←" : ""],
    row.switch_available ? t("switch.left") : t("switch.used"), { number: row.monopolies }, { number: row.points }]);
  return el("section", { class: "card" },
    table(t("scoreboard"), [t("agent"), t("switch"), { number: t("monopolies") }, { number: t("points") }], rows));
}

function results(state) {
  return el("section", { class: "card" },
    table(t("results"), [t("rank"), t("agent"), { number: t("monopolies") }, { number: t("game_points") }, { number: t("points") }],
      state.results.map((row) => [row.rank, agentLink({ ...row, id: row.agent_id }), { number: row.monopolies }, { number: row.game_points }, { number: row.points }])));
}

function rounds(state) {
  if (!state.history.length) return null;
  return el("section", { class: "card" },
    table(t("rounds"), [t("round"), t("question"), t("choices"), t("minority"), { number: t("points") }],
      state.history.map((round) => [round.round, content(round.question), `O ${round.distribution.O} : X ${round.distribution.X}`,
        round.minority ?? "–", { number: round.points_awarded }])));
}

/** A seat's secrets: each first choice until the reveal. */
function secrets(records, seat) {
  const found = [];
  for (const record of records) {
    if (record.type === "first_choice_submitted" && record.data.agent_id === seat) {
      found.push({ from: record.version, to: Infinity, text: t("secret.choice", { choice: record.data.choice, comment: record.data.comment }) });
    }
    if (record.type === "reveal") {
      for (const secret of found) if (secret.to === Infinity) secret.to = record.version;
    }
  }
  return found;
}

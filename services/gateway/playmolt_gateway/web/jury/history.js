/** What happened in a session of the AI jury, and where every juror stood at any moment of it. */

import { el } from "../parts/dom.js";
import { bandView, roundsOf, whyMoved } from "./jurors.js";
import { line as voteLine } from "./verdict.js";
import { t, word } from "../parts/language.js";
import { SessionHistory } from "../parts/session_history.js";

export function history(game) {
  return new SessionHistory({
    line: (message) => line(game, message),
    scene: (messages) => scene(game, messages),
    version: game.session.version,
    open: () => game.show("history"),
  });
}

function line(game, message) {
  const juror = game.juror(message.juror_id);
  switch (message.type) {
    case "jury_opened": return t("event.opened");
    case "phase_changed": return t("event.phase", { phase: word("phase", message.to) });
    case "witness_talked": return t("event.talked", { witness: game.witnesses.get(message.witness_id) ?? message.witness_id });
    case "evidence_unlocked": return t("event.unlocked", { id: message.evidence_id });
    case "evidence_read": return t("event.read", { id: message.evidence_id });
    case "overseer_said": return `${t("you")} → ${juror}: ${message.text}`;
    case "evidence_presented": return t("event.presented", { id: message.evidence_id, juror });
    case "juror_said": return `${juror}: ${message.text}`;
    case "note_sent": return t("event.note", { juror });
    case "round_started": return t("game.round", { n: message.round });
    case "speech": return `${juror}: ${message.text}`;
    case "stance_changed":
      // A round has twelve of these, and most move nobody: only those that do are worth a line.
      return message.cause === "speech" && message.band === message.band_before ? "" : whyMoved(game, message);
    case "tool_called": {
      const looked = message.input?.evidence_ids ?? [];
      return looked.length ? t("event.tool", { juror, what: looked.join(", ") }) : "";
    }
    case "turn_failed": return t("game.turn_failed");
    case "verdict_read": return t("event.verdict", { verdict: word("verdict", message.verdict) });
    case "ended": return t("over");
    case "game_aborted": return t("event.aborted", { reason: message.reason });
    default: return voteLine(game, message);
  }
}

function scene(game, messages) {
  const bands = new Map();
  // Where a juror began is told by its first change; until one is told it stands where it stands now.
  for (const message of game.messages) {
    if (message.type === "stance_changed" && !bands.has(message.juror_id)) bands.set(message.juror_id, message.band_before);
  }
  for (const message of messages) if (message.type === "stance_changed") bands.set(message.juror_id, message.band);
  const last = messages.at(-1);
  return [
    el("section", { class: "card", "aria-live": "polite" }, el("p", { class: "pre" }, last ? line(game, last) || t("event.quiet") : "")),
    el("h2", { class: "unseen" }, t("game.jurors")),
    el("ul", { class: "thirds" }, game.session.jurors.map((juror) => el("li", { class: `card plain${last?.juror_id === juror.id ? " on" : ""}` },
      el("h3", {}, juror.name), bandView(bands.get(juror.id) ?? juror.band)))),
    roundsOf(game, messages)];
}

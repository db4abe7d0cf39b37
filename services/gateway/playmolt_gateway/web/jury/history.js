/** The history of a jury session, with every juror's position at any version. */

import { el } from "../parts/dom.js";
import { bandView, roundsOf } from "./jurors.js";
import { t } from "../parts/language.js";
import { SessionHistory } from "../sessions/history.js";

export function history(game) {
  return new SessionHistory({
    path: game.path,
    line: (message) => game.narration.line(message),
    scene: (messages) => scene(game, messages),
    highlight,
    version: game.session.version,
    over: ["ended", "aborted"].includes(game.session.phase),
    log: true,
    open: () => game.show("history"),
  });
}

/** Marks are phases and rounds; highlights are band changes, votes and the verdict. */
function highlight({ type, band, band_before: before }) {
  if (type === "stance_changed") return band === before ? null : true;
  return { phase_changed: false, round_started: false, vote_cast: true, verdict_read: true }[type] ?? null;
}

function scene(game, messages) {
  const bands = new Map();
  // A juror's initial position is that before its first change, or the current one.
  for (const message of game.messages) {
    if (message.type === "stance_changed" && !bands.has(message.juror_id)) bands.set(message.juror_id, message.band_before);
  }
  for (const message of messages) if (message.type === "stance_changed") bands.set(message.juror_id, message.band);
  const last = messages.at(-1);
  return [
    el("section", { class: "card", "aria-live": "polite" }, el("p", { class: "pre" }, last ? game.narration.line(last) || t("event.quiet") : "")),
    el("h2", { class: "unseen" }, t("game.jurors")),
    el("ul", { class: "thirds" }, game.session.jurors.map((juror) => el("li", { class: `card plain${last?.juror_id === juror.id ? " on" : ""}` },
      el("h3", {}, juror.name), bandView(bands.get(juror.id) ?? juror.band)))),
    roundsOf(game, messages)];
}

/** What happened in a session of the AI jury, and where every juror stood at any moment of it. */

import { el } from "../parts/dom.js";
import { bandView, roundsOf } from "./jurors.js";
import { t } from "../parts/language.js";
import { SessionHistory } from "../parts/session_history.js";

export function history(game) {
  return new SessionHistory({
    path: game.path,
    line: (message) => game.narration.tell(message),
    scene: (messages) => scene(game, messages),
    version: game.session.version,
    over: ["ended", "aborted"].includes(game.session.phase),
    log: true,
    open: () => game.show("history"),
  });
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
    el("section", { class: "card", "aria-live": "polite" }, el("p", { class: "pre" }, last ? game.narration.tell(last) || t("event.quiet") : "")),
    el("h2", { class: "unseen" }, t("game.jurors")),
    el("ul", { class: "thirds" }, game.session.jurors.map((juror) => el("li", { class: `card plain${last?.juror_id === juror.id ? " on" : ""}` },
      el("h3", {}, juror.name), bandView(bands.get(juror.id) ?? juror.band)))),
    roundsOf(game, messages)];
}

/** What every game with seats tells of them, and of an end that its operator made. */

import { t } from "../parts/language.js";

export function seatLine(event) {
  switch (event.type) {
    case "game_created": return t("event.created", { needed: event.needed });
    case "agent_joined": return t("event.joined", { name: event.name });
    case "agent_left": return t("event.left", { name: event.name });
    case "game_aborted": return t("event.aborted", { reason: event.reason });
    default: return "";
  }
}

/** Which case is heard: the shipped one, the operator's, and the visitor's own. */

import { ensureKey, get, key } from "../parts/api.js";
import { el, field, fill, select } from "../parts/dom.js";
import { actionButton } from "../parts/frame.js";
import { t } from "../parts/language.js";

/** Offer the cases there are; `choose(case)` is told of the one that is chosen, null for the shipped one. */
export async function caseChoice(choose, place) {
  const node = el("div", { class: "row" });
  const show = async (asked) => {
    const { cases } = await get("/api/jury/cases");
    if (cases.length > 1) fill(node, choice(cases, choose));
    else fill(node, asked ? el("p", { class: "quiet" }, t("game.case.none")) : null);
  };
  if (key()) await show(false).catch(() => fill(node));
  if (!key()) fill(node, actionButton(t("game.case.others"), async () => {
    await ensureKey();
    await show(true);
  }, { place }));
  return node;
}

function choice(cases, choose) {
  const about = el("p", { class: "quiet small" });
  const names = cases.map((one) => [one.id, one.title]);
  const control = select(names, cases[0].id, { onchange: () => tell() });
  const tell = () => {
    const chosen = cases.find((one) => one.id === control.value);
    fill(about, t("game.case.size", { jurors: chosen.jurors, evidence: chosen.evidence, witnesses: chosen.witnesses }));
    choose(chosen.shipped ? null : chosen);
  };
  tell();
  return el("div", {}, field(t("game.case"), control), about);
}

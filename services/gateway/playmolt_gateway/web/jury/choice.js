/** The choice of a case: shipped, the operator's, or the visitor's. */

import { get, key } from "../parts/api.js";
import { el, field, fill, select } from "../parts/dom.js";
import { actionButton } from "../parts/frame.js";
import { t } from "../parts/language.js";

/** List the cases; `choose(case)` is called with the chosen one, null for the shipped case. */
export async function caseChoice(choose, place, invite) {
  const node = el("div", { class: "row" });
  const show = async (asked) => {
    const { cases } = await get("/api/jury/cases");
    if (cases.length > 1) fill(node, choice(cases, choose));
    else fill(node, asked ? el("p", { class: "quiet" }, t("game.case.none")) : null);
  };
  if (key()) await show(false).catch(() => fill(node));
  if (!key()) fill(node, actionButton(t("game.case.others"), async () => {
    await invite.enter();
    await show(true);
  }, { place }));
  return node;
}

function choice(cases, choose) {
  const about = el("p", { class: "quiet small" });
  const names = cases.map((one) => [one.id, one.title]);
  const control = select(names, cases[0].id, { onchange: () => update() });
  const update = () => {
    const chosen = cases.find((one) => one.id === control.value);
    fill(about, t("game.case.size", { jurors: chosen.jurors, evidence: chosen.evidence, witnesses: chosen.witnesses }));
    choose(chosen.shipped ? null : chosen);
  };
  update();
  return el("div", {}, field(t("game.case"), control), about);
}

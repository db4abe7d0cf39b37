/** The erase button with its confirmation, and erased sessions in lists. */

import { call } from "../parts/api.js";
import { el, fill } from "../parts/dom.js";
import { actionButton, sure } from "../parts/frame.js";
import { forgetDrafts } from "./drafts.js";
import { clock, t } from "../parts/language.js";

/** `back` is the page of all sessions; `stop` ends this page's work. */
export function eraseCard(path, back, stop) {
  const place = el("div");
  const erase = async () => {
    if (!(await sure(t("erase.sure")))) return;
    const { linked } = await call("DELETE", path);
    stop();
    forgetDrafts(path.split("/").pop());
    fill(document.getElementById("main"), el("section", { class: "stack" }, el("h1", {}, t("erased")),
      linked ? el("p", {}, t("erased.linked"), " ", el("a", { href: `${back}?session=${linked}` }, linked)) : null,
      el("p", {}, el("a", { href: "/privacy" }, t("erase.more"))), el("p", {}, el("a", { href: back }, t("erase.back")))));
  };
  return el("p", { class: "row end" }, el("a", { class: "small", href: "/privacy" }, t("erase.more")), actionButton(t("erase"), erase, { place }), place);
}

/** A list row; erased sessions have no link. */
export function erasedLine(one) {
  forgetDrafts(one.id);
  return el("li", {}, el("span", { class: "quiet" }, one.id.slice(0, 14), " ", el("span", { class: "tag plain" }, t("erased.on")),
    el("span", { class: "side" }, clock(one.erased_at))));
}

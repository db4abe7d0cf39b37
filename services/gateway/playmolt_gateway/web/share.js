/** Creating and revoking a share link. */

import { call, post } from "./parts/api.js";
import { copied } from "./parts/browser.js";
import { announce, byHand, el, field, fill } from "./parts/dom.js";
import { actionButton } from "./parts/frame.js";
import { t, word } from "./parts/language.js";

/**
 * A card for the session or experiment at `path`. `kind` selects its texts; `sections` are the optional parts, if any.
 */
export function shareCard(path, kind, { as = "me", sections = [] } = {}) {
  const place = el("div");
  const link = el("div", { class: "stack", role: "status" });
  const ticks = sections.map((name) => [name, el("input", { type: "checkbox", checked: true, "data-section": name })]);
  const chosen = () => ticks.filter(([, tick]) => tick.checked).map(([name]) => name);
  const make = async () => {
    const { url } = await post(`${path}/share`, ticks.length ? { sections: chosen() } : {}, { as });
    const address = el("input", { type: "text", readonly: true, value: url, "data-shared": "" });
    const copy = async () => {
      if (await copied(url)) announce(t("share.copied"));
      else byHand(hand, url);
    };
    const hand = el("div");
    fill(link, field(t("share.address"), address), hand, el("div", { class: "row" },
      actionButton(t("share.copy"), copy, { place }), el("a", { href: url }, url)));
    address.select();
  };
  const stop = async () => {
    await call("DELETE", `${path}/share`, undefined, { as });
    fill(link, el("p", {}, t("share.stopped")));
  };
  return el("section", { class: "card", "aria-labelledby": "share" }, el("h2", { id: "share" }, t("share.title")),
    el("p", { class: "quiet" }, t(`share.hint.${kind}`)),
    ticks.length ? el("fieldset", {}, el("legend", {}, t("share.sections")), ticks.map(([name, tick]) =>
      el("label", { class: "choice" }, tick, el("span", {}, word("section", name))))) : null,
    el("div", { class: "row" }, actionButton(t("share.make"), make, { place, first: true }), actionButton(t("share.stop"), stop, { place })),
    place, link);
}

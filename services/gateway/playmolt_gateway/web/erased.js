/** The page for an erased session. */

import { el } from "./parts/dom.js";
import { page } from "./parts/frame.js";
import { t } from "./parts/language.js";

page(() => t("head.erased"), (main) => {
  main.append(el("section", { class: "stack" },
    el("h1", {}, t("erased")), el("p", {}, el("a", { href: "/privacy" }, t("erase.more"))),
    el("p", {}, el("a", { href: "/" }, t("nowhere.lobby")))));
});

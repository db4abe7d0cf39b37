/** The page for unknown addresses. */

import { el } from "./parts/dom.js";
import { page } from "./parts/frame.js";
import { t } from "./parts/language.js";

page(() => t("nowhere"), (main) => {
  main.append(el("section", { class: "stack" },
    el("h1", {}, t("nowhere")), el("p", { class: "lead" }, t("nowhere.lead")),
    el("p", {}, el("a", { href: "/" }, t("nowhere.lobby")))));
});

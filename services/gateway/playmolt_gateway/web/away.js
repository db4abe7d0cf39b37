/** The page for a share link whose engine is unavailable. It reloads itself. */

import { el } from "./parts/dom.js";
import { page } from "./parts/frame.js";
import { t } from "./parts/language.js";

const AGAIN_SECONDS = 10;

page(() => t("head.away"), (main) => {
  main.append(el("section", { class: "stack" },
    el("h1", {}, t("head.away")), el("p", { class: "lead", role: "status" }, t("away.lead"))));
  setTimeout(() => location.reload(), AGAIN_SECONDS * 1000);
});

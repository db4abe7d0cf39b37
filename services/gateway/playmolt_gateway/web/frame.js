/** What every page shares: the head with the way to the others, the main part, the choice of a language. */

import { el, fill, select } from "./dom.js";
import { LANGUAGES, keepLanguage, language, loadLanguage, t } from "./language.js";

const WAYS = [["/", "nav.lobby"], ["/game", "nav.game"], ["/legal", "nav.legal"], ["/agora", "nav.agora"]];

/**
 * Load the texts, draw the frame and give the main part to `draw`; a change of language draws the page anew.
 * `draw(main)` may give a function that stops what it has started.
 */
export async function page(title, draw) {
  const top = el("header", { class: "top" });
  const main = el("main", { id: "main", tabindex: "-1" });
  const foot = el("footer", { class: "foot" });
  let stop = null;

  async function show(code) {
    await loadLanguage(code);
    document.title = title() === "PlayMolt" ? title() : `${title()} · PlayMolt`;
    fill(top, head(change));
    fill(foot, bottom());
    stop?.();
    main.replaceChildren();
    stop = await draw(main, change);
  }

  async function change(code) {
    if (code === language()) return;
    keepLanguage(code);
    await show(code);
  }

  document.body.prepend(top, main, foot);
  try {
    await show();
  } catch (error) {
    fill(main, el("p", { class: "notice", role: "alert" }, String(error.message ?? error)));
    throw error;
  }
}

function head(change) {
  const here = location.pathname;
  const choice = select(LANGUAGES, language(), { "aria-label": t("language"), "data-focus": "language" });
  choice.addEventListener("change", () => change(choice.value));
  return el("div", {},
    el("a", { class: "skip", href: "#main" }, t("skip")),
    el("a", { class: "mark", href: "/" }, el("img", { src: "/assets/mark.svg", alt: "" }), "PlayMolt"),
    el("nav", { "aria-label": t("nav.label") }, el("ul", {}, WAYS.map(([path, text]) =>
      el("li", {}, el("a", { href: path, "aria-current": here === path ? "page" : null }, t(text)))))),
    el("label", {}, choice));
}

function bottom() {
  return el("div", {},
    el("span", {}, t("foot")),
    el("a", { href: "/docs" }, t("foot.docs")),
    el("a", { href: "/llms.txt" }, t("foot.bots")));
}

/** A problem for the eyes of a person, read out at once; where the server speaks to programs, in the page's own words. */
export function trouble(error) {
  const own = t(`problem.${error.code}`);
  return el("div", { class: "notice", role: "alert" },
    el("p", {}, own.startsWith("problem.") ? error.message : own),
    error.errors?.length
      ? el("ul", {}, error.errors.map((fault) => el("li", {}, `${fault.field}: ${fault.message}`)))
      : null);
}

/** A button that shows that it works, takes one press at a time, and says what went wrong below `place`. */
export function actionButton(text, act, { place, first = false, ...props } = {}) {
  const button = el("button", { type: "button", class: first ? "first" : null, ...props }, text);
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-busy") === "true") return;
    button.setAttribute("aria-busy", "true");
    button.classList.add("waiting");
    place?.replaceChildren();
    try {
      await act(button);
    } catch (error) {
      if (!place) throw error;
      fill(place, trouble(error));
    } finally {
      button.removeAttribute("aria-busy");
      button.classList.remove("waiting");
    }
  });
  return button;
}

/** The frame of all pages: navigation, main part, language choice. */

import { drawnBy, go, keptInTab } from "./browser.js";
import { el, fill, select } from "./dom.js";
import { inWords, refusal } from "./faults.js";
import { LANGUAGES, keepLanguage, language, readTexts, speak, t } from "./language.js";

/** Of the games that a person plays, the first; each page names the others. */
const PLAY = "/play/ox";
const WAYS = [["/", "nav.lobby"], ["/games", "nav.games"], ["/tournaments", "nav.tournaments"], [PLAY, "nav.play"], ["/game", "nav.game"], ["/legal", "nav.legal"], ["/agora", "nav.agora"], ["/me", "head.me"]];

/**
 * Load the texts, draw the frame and pass the main part to `draw`; a change of language redraws the page.
 * `draw(main, show)` may return a function that stops its work; `show(code)` redraws in another language for this visit.
 */
export async function page(title, draw) {
  const top = el("header", { class: "top" });
  const foot = el("footer", { class: "foot" });
  let main = el("main", { id: "main", tabindex: "-1" });
  let newest = 0;
  let stop = null;

  /** Each drawing has its own main part; an outdated one is stopped and discarded. */
  async function show(code) {
    newest += 1;
    const own = newest;
    const texts = await readTexts(code);
    if (own !== newest) return;
    speak(texts);
    stop?.();
    stop = null;
    if (newest > 1 || title() !== null) document.title = [title(), "PlayMolt"].filter((one, at, all) => one && all.indexOf(one) === at).join(" · ");
    fill(top, head(change));
    fill(foot, bottom());
    const before = main;
    main = el("main", { id: "main", tabindex: "-1" });
    before.replaceWith(main);
    const started = await draw(main, show);
    if (own === newest) stop = started;
    else started?.();
  }

  async function change(choice) {
    if (choice.value === language()) return;
    const [wanted, before] = [choice.value, language()];
    if (typedIn(main)) {
      choice.value = before;
      if (!(await sure(t("language.lose")))) return;
    }
    keepLanguage(wanted);
    try {
      await show(wanted);
    } catch (error) {
      choice.value = before;
      keepLanguage(before);
      main.prepend(trouble(error));
    }
  }

  document.body.prepend(top, offlineNote(), main, foot);
  drawnBy(() => show());
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
  choice.addEventListener("change", () => change(choice));
  return el("div", {},
    el("a", { class: "skip", href: "#main" }, t("skip")),
    el("a", { class: "mark", href: "/" }, el("img", { src: document.querySelector("link[rel=icon]").href, alt: "" }), "PlayMolt"),
    el("nav", { "aria-label": t("nav.label") }, el("ul", {}, WAYS.map(([path, text]) =>
      el("li", {}, el("a", { href: path, "aria-current": here === path || (path === PLAY && here.startsWith("/play/")) ? "page" : null }, t(text)))))),
    el("label", {}, choice));
}

/** A notice while the browser is offline: the page may be out of date. */
function offlineNote() {
  const note = el("p", { class: "notice offline", role: "status", hidden: navigator.onLine });
  const update = () => {
    note.hidden = navigator.onLine;
    note.textContent = navigator.onLine ? "" : t("offline.now");
  };
  addEventListener("offline", update);
  addEventListener("online", update);
  return note;
}

/** Ask yes or no before something is lost. In the page, because in-app browsers and frames suppress `confirm`. */
export function sure(question) {
  return new Promise((decide) => {
    const end = (yes) => {
      asking.close(); // gives the focus back
      asking.remove();
      decide(yes);
    };
    const button = (text, yes, first) => el("button", { type: "button", class: first ? "first" : null, onclick: () => end(yes) }, text);
    const asking = el("dialog", { class: "card", role: "alertdialog", "aria-label": question, oncancel: () => end(false) },
      el("p", {}, question), el("div", { class: "row end" }, button(t("no"), false, true), button(t("yes"), true, false)));
    document.body.append(asking);
    asking.showModal();
  });
}

/** Where nothing is stored, a link to a page of the same kind is drawn in place, with the visitor's key. */
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("main a[href]");
  const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (!link || !plain || link.download || link.target || link.hash || link.pathname !== location.pathname || keptInTab.lasts()) return;
  event.preventDefault();
  go(link.href);
});

/** Whether a form has unsent input. */
function typedIn(main) {
  const kept = (control) => (["checkbox", "radio"].includes(control.type) ? control.checked : control.value.trim());
  return [...main.querySelectorAll("[data-touched]")].some(kept);
}

document.addEventListener("input", ({ target }) => {
  if (target.matches("textarea, input:not([type=range])")) target.dataset.touched = "";
});

function bottom() {
  return el("div", {},
    el("span", {}, t("foot")),
    el("a", { href: "/docs" }, t("foot.docs")),
    el("a", { href: "/llms.txt" }, t("foot.bots")),
    el("a", { href: "/privacy" }, t("foot.privacy")));
}

/** A problem as an alert, with the page's own text where the API's is meant for programs. */
export function trouble(error) {
  const own = error.code === "rate_limited" && error.wait ? t("problem.wait", { time: duration(error.wait) }) : refusal(error);
  return el("div", { class: "notice", role: "alert" },
    el("p", {}, own),
    error.errors?.length
      ? el("ul", {}, error.errors.map(inWords).map((fault) => el("li", {}, `${fault.field}: ${fault.message}`)))
      : null);
}

function duration(seconds) {
  const [n, unit] = seconds > 90 ? [Math.ceil(seconds / 60), "minute"] : [Math.ceil(seconds), "second"];
  return new Intl.NumberFormat(language(), { style: "unit", unit, unitDisplay: "long" }).format(n);
}

/** A button that shows progress, accepts one press at a time, and shows errors below `place`. */
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

/** The button that reports a name, a speech, an agent or an owner to the operator. */

import { post } from "./api.js";
import { el, field, fill, select } from "./dom.js";
import { inWords } from "./faults.js";
import { actionButton, trouble } from "./frame.js";
import { t } from "./language.js";

const REASON_CHARS = 500;

/**
 * A button that opens the form. `things()` gives what may be reported as [text, body] pairs, the likeliest first; the
 * bodies are those of `POST /api/reports` without the reason.
 */
export function reportButton(things) {
  const said = el("p", { class: "quiet small", role: "status" });
  const button = el("button", { type: "button", onclick: () => ask(things(), said) }, t("reporting.open"));
  return el("div", { class: "row" }, button, said);
}

function ask(things, said) {
  fill(said, things.length ? "" : t("reporting.nothing"));
  if (!things.length) return;
  const what = select(things.map(([text], place) => [String(place), text]), "0", { name: "what" });
  const why = el("textarea", { name: "reason", rows: 3, maxlength: REASON_CHARS });
  const reason = field(t("reporting.why"), why, { hint: t("reporting.why.hint") });
  const place = el("div");
  const title = el("h2", { id: "report-title" }, t("reporting.title"));
  const end = () => {
    dialog.close(); // gives the focus back
    dialog.remove();
  };
  const send = async () => {
    reason.showFault("");
    if (!why.value.trim()) {
      reason.showFault(t("form.required"));
      why.focus();
      return;
    }
    try {
      await post(address(), { ...things[Number(what.value)][1], reason: why.value.trim() }, { as: "anonymous" });
    } catch (error) {
      const fault = (error.errors ?? []).find((one) => one.field === "reason");
      if (fault) reason.showFault(inWords(fault).message);
      else fill(place, trouble(error));
      return;
    }
    end();
    fill(said, t("reporting.sent"));
  };
  const dialog = el("dialog", { class: "card", "aria-labelledby": "report-title", oncancel: end },
    el("form", { class: "stack", novalidate: true, onsubmit: (event) => event.preventDefault() }, title,
      field(t("reporting.what"), what), reason, place,
      el("div", { class: "row end" }, el("button", { type: "button", onclick: end }, t("reporting.cancel")),
        actionButton(t("reporting.send"), send, { first: true, type: "submit" }))));
  document.body.append(dialog);
  dialog.showModal();
}

/** A private game exists for those with its invite alone. */
function address() {
  const invite = new URLSearchParams(location.search).get("invite");
  return invite ? `/api/reports?invite=${encodeURIComponent(invite)}` : "/api/reports";
}

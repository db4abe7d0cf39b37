/** The invite code that admits a person where too many come from one address or registration is closed. */

import { deleteKey, ensureKey, key } from "../parts/api.js";
import { rewrite } from "../parts/browser.js";
import { el, field } from "../parts/dom.js";
import { actionButton, sure } from "../parts/frame.js";
import { t } from "../parts/language.js";

const LINKED = /^#invite=([A-Za-z0-9-]{1,64})$/;

/** The field for a code. A link carries it as `#invite=CODE`, which browsers send to no server. */
export function codeField() {
  const linked = LINKED.exec(location.hash)?.[1] ?? "";
  if (linked) rewrite(location.pathname + location.search);
  const control = el("input", { type: "text", maxlength: 64, autocomplete: "off", spellcheck: "false", value: linked });
  const node = el("details", { open: linked ? "" : null }, el("summary", {}, t("invite.has")), field(t("invite.code"), control));
  return { node, value: () => control.value.trim() };
}

/** The same for a visitor, who needs none with a token. */
export function inviteField() {
  const code = codeField();
  return { node: key() ? null : code.node, enter: () => ensureKey(code.value()) };
}

/** The button that deletes this browser's token, after a confirmation. `done` draws the page again. */
export function forgetButton(done) {
  const place = el("div");
  return el("div", {}, actionButton(t("token.delete"), async () => {
    if (!(await sure(t("token.sure")))) return;
    await deleteKey();
    done();
  }, { place, class: "quiet small" }), place);
}

/**
 * Refusals in the page's language. The API names a reason in English; English pages show it as it is, others the text of
 * the first pattern that fits. A test walks every code and every reason of the server.
 */

import { language, t } from "./language.js";

const REASONS = [
  [/encrypted PDF/i, "fault.encrypted"],
  [/PDF without text/i, "fault.scanned"],
  [/damaged PDF/i, "fault.damaged"],
  [/takes too long to read/i, "fault.slow"],
  [/limit of [\d,]+ uploads/i, "fault.uploads"],
  [/characters for all uploads/i, "fault.uploads_long"],
  [/more than [\d,]+ characters of text/i, "fault.long_text"],
  [/bytes; the maximum/i, "fault.large"],
  [/base64/i, "fault.unread"],
  [/not a PDF/i, "fault.no_pdf"],
  [/is a PDF/i, "fault.is_pdf"],
  [/not UTF-8/i, "fault.encoding"],
  [/NUL|surrogate/i, "fault.binary"],
  [/visible character/i, "fault.blank"],
  [/control|bidi|line separator/i, "form.letters"],
  [/needs an answer/i, "fault.answers"],
  [/not stale/i, "fault.fresh"],
  [/allowed only with|requires |needs by=|is required with/i, "fault.only_with"],
  [/cannot be combined|must be false/i, "fault.not_both"],
  [/valid time|in the future|outside /i, "fault.time"],
  [/publicly|address|resolve|https?:/i, "fault.address"],
  [/next_cursor|cursor/i, "fault.cursor"],
  [/unknown|no such|does not exist|not available|not an open question|nothing like|is not valid/i, "form.unknown"],
  [/duplicate|twice/i, "form.twice"],
  [/must be one of|must be "|true or false/i, "form.choose"],
  [/limit of [\d,]+|entries; the maximum|must contain \d+ to \d+ strings|list of|must hold \d+ to/i, "form.list"],
  [/must contain 1 to [\d,]+ characters|characters; the maximum|code points|at most|too long|longer|characters/i, "form.long"],
  [/required|missing|must have|must be there/i, "form.required"],
  [/must be |must map |between /i, "fault.form"],
];
/** Codes whose own text English pages show too: the API's is meant for programs. */
const OWN = ["budget_spent", "erased", "invite_code", "not_found", "rate_limited", "registration_closed", "unauthorized"];

/** A field's fault in the page's language. */
export function inWords(fault) {
  if (language() === "en") return fault;
  const found = REASONS.find(([reason]) => reason.test(fault.message));
  const bounds = fault.message.match(/\d[\d,]*/g) ?? [];
  return { ...fault, message: t(found ? found[1] : "form.wrong", { n: bounds.at(-1) ?? "" }) };
}

/** A refusal in the page's language. */
export function refusal({ code, message, errors }) {
  const own = t(`problem.${code}`);
  if (own.startsWith("problem.") || (language() === "en" && !OWN.includes(code))) return message;
  // With its reasons beside it, that a form has faults says nothing more.
  return errors?.length && ["invalid_request", "invalid_form"].includes(code) ? t("problem.fields") : own;
}

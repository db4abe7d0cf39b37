/**
 * Refusals in the page's language. The API names a reason in English; English pages show it as it is, others the text of
 * the first pattern that fits. A test walks every code and every reason of the server.
 */

import { language, t } from "./language.js";

const REASONS = [
  [/is a text in an encoding that is not certain\. As "(.+)" it begins: “(.*)”/i, "fault.file.encoding.guess"],
  [/cannot be read as "(.+)", an unknown encoding/i, "fault.file.encoding.unknown"],
  [/is not a text in the encoding "(.+)"/i, "fault.file.encoding.wrong"],
  [/is a text in UTF-8 with damaged characters, first in the line “(.*)”\./i, "fault.file.encoding.damaged"],
  [/is an archive\./i, "fault.file.format.archive"],
  [/is a file that was encoded as base64 twice\./i, "fault.file.format.base64"],
  [/is a binary file of an unknown kind\./i, "fault.file.format.binary"],
  [/is an e-book\./i, "fault.file.format.book"],
  [/is a Word 97 document\./i, "fault.file.format.doc"],
  [/is an HWP 5 document of Hancom Office\./i, "fault.file.format.hwp"],
  [/is an e-mail\./i, "fault.file.format.mail"],
  [/is an OpenDocument text\./i, "fault.file.format.odt"],
  [/is an old Office document\./i, "fault.file.format.ole"],
  [/is a document of Pages or Numbers\./i, "fault.file.format.pages"],
  [/is a picture\./i, "fault.file.format.picture"],
  [/is a PostScript file\./i, "fault.file.format.postscript"],
  [/is a program\./i, "fault.file.format.program"],
  [/is a sound or video recording\./i, "fault.file.format.recording"],
  [/is an RTF document\./i, "fault.file.format.rtf"],
  [/is a spreadsheet\./i, "fault.file.format.sheet"],
  [/is a presentation\./i, "fault.file.format.slides"],
  [/is a web page\./i, "fault.file.format.web"],
  [/is an XPS document\./i, "fault.file.format.xps"],
  [/is a ZIP archive\./i, "fault.file.format.zip"],
  [/has no text of its own/i, "fault.file.no_text.embedded"],
  [/has no text: its pages are pictures/i, "fault.file.no_text.pictures"],
  [/must name pages of the file.*its last page is ([\d,]+)/i, "fault.file.pages"],
  [/is an HWPX document with a password\./i, "fault.file.password.hwpx"],
  [/is an Office document with a password\./i, "fault.file.password.office"],
  [/is a PDF that needs a password\./i, "fault.file.password.pdf"],
  [/is a ZIP archive with a password\./i, "fault.file.password.zip"],
  [/has ([\d,]+) bytes and exceeds the limit of ([\d,]+) bytes/i, "fault.file.too_large.bytes"],
  [/has ([\d,]+) characters of text and exceeds the limit of ([\d,]+) characters/i, "fault.file.too_large.chars"],
  [/has ([\d,]+) parts and exceeds the limit of ([\d,]+) parts/i, "fault.file.too_large.entries"],
  [/has more than ([\d,]+) characters of text and exceeds the limit of ([\d,]+) characters/i, "fault.file.too_large.more_chars"],
  [/has a part of ([\d,]+) bytes and exceeds the limit of ([\d,]+) bytes a part/i, "fault.file.too_large.part"],
  [/has ([\d,]+) characters and exceeds the limit of ([\d,]+) characters for all uploads of a session; ([\d,]+) are used/i, "fault.file.too_large.session"],
  [/has a text of ([\d,]+) bytes and exceeds the limit of ([\d,]+) bytes of text/i, "fault.file.too_large.text_bytes"],
  [/has ([\d,]+) bytes when unpacked and exceeds the limit of ([\d,]+) unpacked bytes/i, "fault.file.too_large.unpacked"],
  [/cannot be read: it is damaged/i, "fault.file.unreadable"],
  [/cannot be extracted reliably/i, "fault.file.unreadable_text"],
  [/visible character/i, "fault.file.empty"],
  [/has no text/i, "fault.file.no_text"],
  [/limit of [\d,]+ uploads/i, "fault.uploads"],
  [/base64/i, "fault.unread"],
  [/NUL|surrogate/i, "fault.binary"],
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
const OWN = ["archived", "budget_spent", "erased", "invite_code", "not_found", "rate_limited", "registration_closed", "unauthorized"];

/** A field's fault in the page's language. */
export function inWords(fault) {
  if (language() === "en") return fault;
  const found = REASONS.find(([reason]) => reason.test(fault.message));
  const bounds = fault.message.match(/\d[\d,]*/g) ?? [];
  const [, a = "", b = "", c = ""] = found ? fault.message.match(found[0]) : [];
  return { ...fault, message: t(found ? found[1] : "form.wrong", { n: bounds.at(-1) ?? "", a, b, c }) };
}

/** A refusal in the page's language. */
export function refusal({ code, message, errors }) {
  const own = t(`problem.${/the prompt is too long/.test(message) ? "prompt_too_long" : code}`);
  if (own.startsWith("problem.") || (language() === "en" && !OWN.includes(code))) return message;
  // With its reasons beside it, that a form has faults says nothing more.
  return errors?.length && ["invalid_request", "invalid_form"].includes(code) ? t("problem.fields") : own;
}

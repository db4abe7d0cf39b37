/** Checks the log of a finished game: the hash chain, and the event of a receipt. */

import { canHash, firstBroken } from "../parts/chain.js";
import { el, field, fill } from "../parts/dom.js";
import { actionButton } from "../parts/frame.js";
import { t } from "../parts/language.js";

/** A card; `read()` returns the records of `stream`, `choose(version)` shows a version. */
export function logCard(stream, read, choose) {
  const receipt = el("input", { type: "text", autocomplete: "off", spellcheck: "false", maxlength: 64 });
  const place = el("div");
  const found = el("div", { class: "stack", role: "status" });
  const check = async () => {
    fill(found);
    const records = await read();
    fill(found, verdict(records, await firstBroken(stream, records)), sought(records, receipt.value.trim().toLowerCase(), choose));
  };
  return el("section", { class: "card", "aria-labelledby": "check" },
    el("h2", { id: "check" }, t("check.title")),
    el("p", { class: "quiet" }, t(canHash() ? "check.text" : "check.insecure")),
    canHash() ? [field(`${t("check.receipt")} (${t("optional")})`, receipt), place,
      el("div", { class: "row end" }, actionButton(t("check.run"), check, { place }))] : null, found);
}

function verdict(records, broken) {
  if (broken) return el("p", { class: "notice" }, t("check.broken", { version: broken }));
  const withheld = records.filter((record) => record.withheld?.length).length;
  return el("p", {}, t("check.sound", { n: records.length }), " ", withheld ? `${t("check.withheld", { n: withheld })} ` : null,
    el("code", {}, records.at(-1)?.hash));
}

function sought(records, hash, choose) {
  if (!hash) return null;
  const record = records.find((one) => one.hash === hash);
  if (!record) return el("p", { class: "notice" }, t("check.unknown"));
  return el("p", {}, el("button", { type: "button", class: "bare", onclick: () => choose(record.version) },
    t("check.found", { version: record.version })));
}

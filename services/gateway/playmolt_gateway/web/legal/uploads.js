/** Uploads of evidence and statutes. */

import { post } from "../parts/api.js";
import { el, field, fill, select } from "../parts/dom.js";
import { inWords } from "../parts/faults.js";
import { actionButton } from "../parts/frame.js";
import { t } from "../parts/language.js";

const BYTES = 1024 * 1024;

/** The card with the file field; `done` is called after an upload. */
export function uploadCard(path, done) {
  const controls = {
    content: el("input", { type: "file", accept: ".txt,.md,.pdf,text/plain,application/pdf" }),
    title: el("input", { type: "text", maxlength: 200 }),
    kind: select([["evidence", t("upload.evidence")], ["statute", t("upload.statute")]]),
  };
  const fields = Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, field(t(`upload.${name}`), control, name === "content" ? { hint: t("upload.hint") } : {})]));
  controls.content.addEventListener("change", () => {
    const [file] = controls.content.files;
    if (file && !controls.title.value.trim()) controls.title.value = [...file.name].slice(0, 200).join("");
  });
  const place = el("div", { role: "status" });
  const send = async () => {
    for (const one of Object.values(fields)) one.showFault("");
    const [file] = controls.content.files;
    if (!file) return void fields.content.showFault(t("upload.none"));
    if (file.size > BYTES) return void fields.content.showFault(t("upload.large"));
    const bytes = new Uint8Array(await file.arrayBuffer());
    const body = { title: controls.title.value.trim(), kind: controls.kind.value, media_type: isPdf(bytes) ? "application/pdf" : "text/plain", content: base64(bytes) };
    try {
      const added = await post(`${path}/evidence`, body);
      controls.content.value = controls.title.value = "";
      fill(place, t("upload.added", { id: added.id, n: added.chars }));
      done();
    } catch (error) {
      const rest = (error.errors ?? []).filter((fault) => !fields[fault.field]?.showFault(inWords(fault).message) && !fields[fault.field]);
      if (!error.errors?.length || rest.length) throw error;
    }
  };
  return el("section", { class: "card", "aria-labelledby": "upload" }, el("h2", { id: "upload" }, t("upload.head")),
    el("div", { class: "even" }, fields.content, fields.title, fields.kind), place,
    el("div", { class: "row end" }, actionButton(t("upload.send"), send, { place })));
}

const isPdf = (bytes) => String.fromCharCode(...bytes.slice(0, 5)) === "%PDF-";

function base64(bytes) {
  let text = "";
  // In chunks: the number of arguments of a function is limited.
  for (let start = 0; start < bytes.length; start += 0x8000) text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(text);
}

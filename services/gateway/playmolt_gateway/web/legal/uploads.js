/**
 * Uploads of evidence and statutes: files are chosen, dropped or pasted, read by the server one after the other, and
 * added once the person has seen what was read.
 */

import { post } from "../parts/api.js";
import { announce, el, field, fill, ofContent, select, unique } from "../parts/dom.js";
import { inWords } from "../parts/faults.js";
import { actionButton, trouble } from "../parts/frame.js";
import { language, t } from "../parts/language.js";

const BYTES = 8 * 1024 * 1024;
const TITLE = 200;
const TYPES = ".pdf,.docx,.hwpx,.txt,.md,.csv,application/pdf,application/vnd.openxmlformats-officedocument.wordprocessingml.document,application/hwp+zip,text/plain";

/** The card that takes files; `done` is called after an upload. */
export function uploadCard(path, done) {
  return new Uploads(path, done).node;
}

class Uploads {
  constructor(path, done) {
    this.path = path;
    this.done = done;
    this.rows = [];
    this.queue = Promise.resolve();
    const input = el("input", { type: "file", multiple: true, accept: TYPES });
    input.addEventListener("change", () => {
      this.take([...input.files]);
      input.value = "";
    });
    this.files = field(t("upload.content"), input, { hint: t("upload.drop") });
    this.progress = el("progress", { max: 1, value: 0, hidden: true, "aria-label": t("upload.reading") });
    this.status = el("p", { class: "quiet small", role: "status" });
    this.list = el("ol", { class: "stack plain" });
    this.place = el("div");
    this.all = el("div", { class: "row end", hidden: true }, actionButton(t("upload.all"), () => this.addAll(), { place: this.place, first: true }));
    this.node = el("section", { class: "card drop", "aria-labelledby": "upload" }, el("h2", { id: "upload" }, t("upload.head")),
      this.files, this.progress, this.status, this.list, this.place, this.all);
    this.listen();
  }

  listen() {
    const over = (on) => this.node.classList.toggle("over", on);
    for (const kind of ["dragenter", "dragover"]) {
      this.node.addEventListener(kind, (event) => {
        if (![...event.dataTransfer.types].includes("Files")) return;
        event.preventDefault();
        over(true);
      });
    }
    this.node.addEventListener("dragleave", (event) => this.node.contains(event.relatedTarget) || over(false));
    this.node.addEventListener("drop", (event) => {
      over(false);
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      this.take([...event.dataTransfer.files]);
    });
    const paste = (event) => {
      if (!this.node.isConnected) return void document.removeEventListener("paste", paste);
      const { files } = event.clipboardData;
      const typing = event.target.closest?.("input:not([type=file]), textarea, [contenteditable]");
      if (!this.node.offsetParent || (typing && !files.length)) return;
      const text = files.length ? "" : event.clipboardData.getData("text/plain");
      const taken = text.trim() ? [new File([text], t("upload.pasted"), { type: "text/plain" })] : [...files];
      if (!taken.length) return;
      event.preventDefault();
      this.take(taken);
    };
    document.addEventListener("paste", paste);
  }

  /** Read files one after the other: each costs the server a process. */
  take(files) {
    for (const file of files) {
      const row = new Row(this, file);
      this.rows.push(row);
      this.list.append(row.node);
      this.read(row);
    }
  }

  read(row) {
    row.waits();
    this.draw();
    this.queue = this.queue.then(() => this.rows.includes(row) && row.read()).then(() => this.draw());
  }

  remove(row) {
    this.rows = this.rows.filter((one) => one !== row);
    row.node.remove();
    this.draw();
  }

  async addAll() {
    for (const row of this.rows.filter((one) => one.ready)) await row.add();
  }

  draw() {
    const read = this.rows.filter((row) => !row.waiting).length;
    this.progress.hidden = read === this.rows.length;
    this.progress.max = Math.max(1, this.rows.length);
    this.progress.value = read;
    this.status.textContent = this.rows.length ? t("upload.progress", { n: read, m: this.rows.length }) : this.status.textContent;
    this.all.hidden = this.rows.filter((row) => row.ready).length < 2;
  }
}

/** A file with what the server read of it. */
class Row {
  constructor(uploads, file) {
    this.uploads = uploads;
    this.file = file;
    this.waiting = true;
    this.ready = false;
    this.title = el("input", { type: "text", maxlength: TITLE, value: [...file.name.normalize("NFC")].slice(0, TITLE).join("") });
    this.kind = select([["evidence", t("upload.evidence")], ["statute", t("upload.statute")]]);
    this.pages = el("input", { type: "text", maxlength: 100 });
    this.encoding = el("input", { type: "text", maxlength: 40, autocapitalize: "off", spellcheck: "false" });
    this.fields = {
      title: field(t("upload.title"), this.title),
      kind: field(t("upload.kind"), this.kind),
      pages: field(t("upload.pages"), this.pages, { hint: t("upload.pages_hint") }),
      encoding: field(t("upload.encoding"), this.encoding, { hint: t("upload.encoding_hint") }),
    };
    for (const control of [this.pages, this.encoding]) {
      control.addEventListener("input", () => {
        this.ready = false; // what is added has been shown
        this.shown("");
      });
    }
    this.state = el("span", { class: "quiet" });
    this.fault = el("p", { class: "fault", role: "alert" });
    this.result = el("div", { class: "stack" });
    this.place = el("div");
    const name = unique("upload");
    this.send = actionButton(t("upload.send"), () => this.add(), { place: this.place });
    this.again = actionButton(t("upload.again"), () => this.uploads.read(this), { place: this.place });
    this.node = el("li", { class: "upload", "aria-labelledby": name },
      el("div", { class: "row" }, el("strong", { id: name }, el("bdi", {}, file.name)), this.state), this.fault, this.result,
      el("div", { class: "even" }, Object.values(this.fields)), this.place,
      el("div", { class: "row end" }, actionButton(t("upload.remove"), () => this.uploads.remove(this), { place: this.place }), this.again, this.send));
  }

  waits() {
    this.waiting = true;
    this.ready = false;
    this.shown("upload.waiting");
  }

  shown(key) {
    this.state.textContent = key ? t(key) : "";
    this.state.classList.toggle("waiting", Boolean(key));
    this.send.hidden = !this.ready;
    this.again.hidden = this.waiting;
    this.fields.encoding.hidden = !this.encoding.value && !this.asksEncoding;
  }

  async body() {
    const body = { title: this.title.value.trim() || t("upload.pasted"), kind: this.kind.value, content: await base64(this.file) };
    if (this.file.type) body.media_type = this.file.type;
    for (const name of ["pages", "encoding"]) if (this[name].value.trim()) body[name] = this[name].value.trim();
    return body;
  }

  /** Ask the server what it reads of the file. */
  async read() {
    this.clear();
    this.shown("upload.reading");
    try {
      if (this.file.size > BYTES) throw tooLarge(this.file.size);
      const read = await post(`${this.uploads.path}/evidence?dry=1`, await this.body());
      this.ready = true;
      this.asksEncoding = read.encoding !== null && read.sure !== null && read.sure < 1;
      fill(this.result, shownText(read));
      announce(t("upload.text", { n: read.chars }));
    } catch (error) {
      this.failed(error);
    } finally {
      this.waiting = false;
      this.shown("");
    }
  }

  /** Store it. What was read is what is shown: the same bytes, pages and encoding. */
  async add() {
    this.clear({ result: false });
    this.shown("upload.sending");
    try {
      const added = await post(`${this.uploads.path}/evidence`, await this.body());
      this.uploads.remove(this);
      this.uploads.status.textContent = t("upload.added", { id: added.id, n: added.chars });
      this.uploads.done();
    } catch (error) {
      this.failed(error);
    } finally {
      this.shown("");
    }
  }

  clear({ result = true } = {}) {
    this.fault.textContent = "";
    this.place.replaceChildren();
    for (const one of Object.values(this.fields)) one.showFault("");
    if (result) this.result.replaceChildren();
  }

  failed(error) {
    const rest = [];
    for (const fault of error.errors ?? []) {
      if (fault.reason === "encoding") this.asksEncoding = true;
      if (this.fields[fault.field]) this.fields[fault.field].showFault(inWords(fault).message);
      else if (fault.field === "content") this.fault.textContent = inWords(fault).message;
      else rest.push(fault);
    }
    if (!error.errors?.length || rest.length) fill(this.place, trouble(error));
  }
}

/** What was left out of an upload, and what the models do not see of it. */
export function uploadNotes({ notes = [], chars = 0, prompt_chars: seen = chars }) {
  const cut = seen < chars ? el("li", {}, t("upload.cut", { n: number(seen), m: number(chars) })) : null;
  return notes.length || cut ? el("ul", { class: "tight quiet small" }, notes.map((note) => el("li", ofContent(), note.text)), cut) : null;
}

/** What was read, and what was left out. */
function shownText(read) {
  return [
    uploadNotes(read),
    el("details", { open: true }, el("summary", {}, t("upload.text", { n: number(read.chars) })),
      el("div", { class: "pre read", dir: "auto", tabindex: 0, role: "region", "aria-label": t("upload.text", { n: number(read.chars) }), ...ofContent() }, read.text)),
  ];
}

const number = (value) => value.toLocaleString(language());

/** The refusal that the server would send. */
function tooLarge(size) {
  const message = `has ${size.toLocaleString("en")} bytes and exceeds the limit of ${BYTES.toLocaleString("en")} bytes. Split the file, or save it with smaller pictures`;
  return Object.assign(new Error(message), { errors: [{ field: "content", reason: "too_large", message }] });
}

function base64(file) {
  return new Promise((take, fail) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => take(reader.result.slice(reader.result.indexOf(",") + 1)));
    reader.addEventListener("error", () => fail(Object.assign(new Error(), { errors: [{ field: "content", message: "is not base64" }] })));
    reader.readAsDataURL(file);
  });
}

#!/usr/bin/env bash
# Text of a PDF page, installed 2026-11: pypdf 7.1.1, pdfminer.six 20260107, pdfplumber 0.11.10, pypdfium2 5.15.2,
# PyMuPDF 2.0 (PyPI), pdfjs-dist 5.6.205 (npm).
# Guess: each returns what a person reads on the page, also a filled answer of a form and a note typed onto the page, as both
#        carry their own drawing; text behind glyphs without letters is taken from /ActualText.
# Seen:  only PyMuPDF returns all three, and puts answer and note at the end of the text, away from their question. The others
#        return the printed questions alone, without an error. /ActualText is used by PyMuPDF and pypdfium2; the other four
#        return the letters that the glyphs stand for otherwise.
# Why it matters: a claim that was filed on a court's form reaches an analysis without its answers. Read the annotations and
#        the form too (pypdf get_fields(), pdfjs getAnnotations() have them), or flatten the file first.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    pypdf==7.1.1 pdfminer.six==20260107 pdfplumber==0.11.10 pypdfium2==5.15.2 pymupdf==2.0 pikepdf==10.18.0
(cd "$folder" && npm init --yes > /dev/null && npm install --silent --no-audit --no-fund pdfjs-dist@5.6.205)
cat > "$folder/read.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { getDocument } from "pdfjs-dist/legacy/build/pdf.mjs";
const page = await (await getDocument({ data: new Uint8Array(readFileSync("form.pdf")), verbosity: 0 }).promise).getPage(1);
const text = (await page.getTextContent()).items.map(item => item.str).join(" ");
console.log(JSON.stringify([text, (await page.getAnnotations()).map(found => found.fieldValue ?? found.contentsObj.str)]));
JS
cd "$folder"
venv/bin/python - <<'PY'
import json
import subprocess

import pdfplumber
import pymupdf
import pypdf
import pypdfium2
from pdfminer.high_level import extract_text
from pikepdf import Array, Dictionary, Name, Pdf, String

pdf = Pdf.new()
page = pdf.add_blank_page(page_size=(400, 400))
font = pdf.make_indirect(Dictionary(
    Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica, Encoding=Name.WinAnsiEncoding))
page.Resources = Dictionary(Font=Dictionary(F1=font))
page.Contents = pdf.make_stream(
    b"BT /F1 12 Tf 20 350 Td (Amount claimed:) Tj ET BT /F1 12 Tf 20 300 Td (The deposit was) Tj ET "
    b"/Span <</ActualText (final)>> BDC BT /F1 12 Tf 20 250 Td (#inal) Tj ET EMC")


def drawn(y, text, **entries):
    drawing = pdf.make_stream(
        f"/Tx BMC BT /F1 12 Tf 2 4 Td ({text}) Tj ET EMC".encode(), Type=Name.XObject, Subtype=Name.Form,
        BBox=Array([0, 0, 150, 20]), Resources=Dictionary(Font=Dictionary(F1=font)))
    return pdf.make_indirect(Dictionary(
        Type=Name.Annot, Rect=Array([160, y, 310, y + 20]), F=4, AP=Dictionary(N=drawing), DA=String("/F1 12 Tf 0 g"), **entries))


answer = drawn(345, "1500", Subtype=Name.Widget, FT=Name.Tx, T=String("amount"), V=String("1500"))
note = drawn(295, "unpaid", Subtype=Name.FreeText, Contents=String("unpaid"))
page.Annots = Array([answer, note])
pdf.Root.AcroForm = Dictionary(
    Fields=Array([answer]), DR=Dictionary(Font=Dictionary(F1=font)), DA=String("/F1 12 Tf 0 g"))
pdf.save("form.pdf")

node, annotations = json.loads(subprocess.run(["node", "read.mjs"], capture_output=True, text=True, check=True).stdout)
document = pypdfium2.PdfDocument("form.pdf")
document.init_forms()
texts = {
    "pypdf": pypdf.PdfReader("form.pdf").pages[0].extract_text(),
    "pdfminer.six": extract_text("form.pdf"),
    "pdfplumber": pdfplumber.open("form.pdf").pages[0].extract_text(),
    "pypdfium2": document[0].get_textpage().get_text_bounded(),
    "PyMuPDF": pymupdf.open("form.pdf")[0].get_text(),
    "pdfjs-dist": node,
}
found = {}
for name, text in texts.items():
    print(f"{name:13}", text.split())
    assert "Amount claimed:" in text and "The deposit was" in text
    found[name] = {word for word in ("1500", "unpaid", "final", "#inal") if word in text}
assert found == {
    "pypdf": {"#inal"}, "pdfminer.six": {"#inal"}, "pdfplumber": {"#inal"}, "pdfjs-dist": {"#inal"},
    "pypdfium2": {"final"}, "PyMuPDF": {"final", "unpaid", "1500"},
}, "it changed"
picture = document[0].render(may_draw_forms=True).to_pil().convert("L")
for y in (35, 85):
    assert picture.crop((160, y, 310, y + 20)).getextrema()[0] < 128, "answer and note can be seen on the page"
assert texts["PyMuPDF"].split()[-1] in {"1500", "unpaid"}
assert pypdf.PdfReader("form.pdf").get_fields()["amount"].value == "1500" and sorted(annotations) == ["1500", "unpaid"]
PY

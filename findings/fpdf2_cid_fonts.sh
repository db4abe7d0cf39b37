#!/usr/bin/env bash
# fpdf2 2.8.9 with an OpenType font numbered by CID (Noto Sans KR of pylopdf-fonts-ko 0.1.1), pypdf 7.1.1, pypdfium2
# 5.15.2, pdfminer.six 20260107, installed 2026-11.
# Guess: fpdf2 writes `/Encoding /Identity-H` and a ToUnicode map for every Unicode font, so that each reader of PDF
#        text returns the text that was written.
# Seen:  for such a font, and for such a font alone, fpdf2 writes a map of its own as `/Encoding`. pypdf takes its codes
#        for single bytes and returns a NUL before each letter, pdfminer.six returns nothing, pypdfium2 the text.
# Why it matters: reports in Korean, Chinese or Japanese are written with these fonts, and the chains that feed PDFs to
#        models often read with pypdf or pdfminer.six: a search for a word finds nothing, and Postgres refuses a text
#        with NULs. A reader may drop the NULs. A writer that wants every reader to work numbers the glyphs by its codes and
#        says /Identity-H (`pdf_fonts.py` of the legal reports), or takes a TrueType font.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  fpdf2==2.8.9 pylopdf-fonts-ko==0.1.1 pypdf==7.1.1 pypdfium2==5.15.2 pdfminer.six==20260107
cat > "$folder/read.py" <<'PY'
import io
from importlib import resources
from pathlib import Path

import pdfminer.high_level
import pypdf
import pypdfium2
from fpdf import FPDF

TEXT = "Verdict 판결"
font = Path(str(resources.files("pylopdf_fonts_ko"))) / "NotoSansKR-Regular.otf"
document = FPDF()
document.add_page()
document.add_font("noto", fname=font)
document.set_font("noto", size=12)
document.cell(text=TEXT)
data = bytes(document.output())

page = pypdf.PdfReader(io.BytesIO(data)).pages[0]
(written,) = page["/Resources"]["/Font"].values()
read = {
    "pypdf": page.extract_text(),
    "pypdfium2": pypdfium2.PdfDocument(data)[0].get_textpage().get_text_range(),
    "pdfminer.six": pdfminer.high_level.extract_text(io.BytesIO(data)),
}
print("/Encoding is", type(written["/Encoding"]).__name__)
for name, text in read.items():
    print(f"{name:13}{text.strip()!r}")
assert not isinstance(written["/Encoding"], str), "the encoding is a name now"
assert read["pypdf"] == "".join("\0" + letter for letter in TEXT), "pypdf reads it otherwise now"
assert read["pdfminer.six"].strip() == "", "pdfminer.six reads it otherwise now"
assert read["pypdfium2"].strip() == TEXT, "pypdfium2 reads it otherwise now"
PY
"$folder/venv/bin/python" "$folder/read.py"

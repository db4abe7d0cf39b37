#!/usr/bin/env bash
# python-docx 1.2.0, mammoth 1.13.0, docx2txt 0.9, docx2python 3.7.1: the text of a DOCX file, installed 2026-11.
# Guess: for a document whose changes are tracked, each returns the text that Word shows as the final version, as far as
#        it is running text; they differ in tables and headers alone.
# Seen:  no two agree, and none returns it whole.
#        python-docx leaves out tracked insertions, the new place of moved text, content controls, simple fields, smart tags.
#        mammoth leaves out simple fields.
#        docx2txt and docx2python return moved text twice (old place and new), and join what a no-break hyphen separates:
#        the case number "2025-12" becomes "202512".
# Why it matters: an analysis of a filed document may miss the sentence that the other side inserted, or read another
#        case number. Read the XML for these elements, or say what was left out.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check python-docx==1.2.0 mammoth==1.13.0 docx2txt==0.9 docx2python==3.7.1
cd "$folder"
venv/bin/python - <<'PY'
import docx
import docx2txt
import mammoth
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx2python import docx2python

change = 'w:id="{}" w:author="clerk" w:date="2026-01-01T00:00:00Z"'


def run(text):
    return f"<w:r><w:t>{text}</w:t></w:r>"


parts = {
    "inserted": f"<w:ins {change.format(1)}>{run('inserted')}</w:ins>",
    "deleted": f"<w:del {change.format(2)}><w:r><w:delText>deleted</w:delText></w:r></w:del>",
    "moved-away": f"<w:moveFrom {change.format(3)}>{run('moved-away')}</w:moveFrom>",
    "moved-here": f"<w:moveTo {change.format(4)}>{run('moved-here')}</w:moveTo>",
    "control": f"<w:sdt><w:sdtContent>{run('control')}</w:sdtContent></w:sdt>",
    "field": f'<w:fldSimple w:instr="DATE">{run("field")}</w:fldSimple>',
    "smart-tag": f'<w:smartTag w:uri="u" w:element="e">{run("smart-tag")}</w:smartTag>',
    "2025-12": run("2025") + "<w:r><w:noBreakHyphen/></w:r>" + run("12"),
}
document = docx.Document()
body = document.element.body
for xml in parts.values():
    body.insert(len(body) - 1, parse_xml(f"<w:p {nsdecls('w')}>{xml}</w:p>"))
document.save("filed.docx")

texts = {
    "python-docx": "\n".join(paragraph.text for paragraph in docx.Document("filed.docx").paragraphs),
    "mammoth": mammoth.extract_raw_text(open("filed.docx", "rb")).value.replace("\N{NON-BREAKING HYPHEN}", "-"),
    "docx2txt": docx2txt.process("filed.docx"),
    "docx2python": docx2python("filed.docx").text,
}
final = set(parts) - {"deleted", "moved-away"}
faults = {}
for name, text in texts.items():
    shown = {part for part in parts if part in text.split()}
    faults[name] = (final - shown, shown - final)
    print(f"{name:12} leaves out {sorted(final - shown)}, adds {sorted(shown - final)}; the case number: {'202512' in text}")
assert faults == {
    "python-docx": ({"inserted", "moved-here", "control", "field", "smart-tag"}, set()),
    "mammoth": ({"field"}, set()),
    "docx2txt": ({"2025-12"}, {"moved-away"}),
    "docx2python": ({"2025-12"}, {"moved-away"}),
}, faults
assert all("202512" in texts[name] for name in ("docx2txt", "docx2python"))
PY

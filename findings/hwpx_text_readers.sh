#!/usr/bin/env bash
# python-hwpx 6.9.0, hwp-hwpx-parser 1.0.0 (PyPI), kordoc 4.14.1, @ssabrojs/hwpxjs 0.2.0 (npm): the text of an HWPX file,
# the format of Korean courts and offices, installed 2026-11.
# Guess: each returns the running text as Hancom Office shows the final version, without tracked deletions and comments.
# Seen:  one of five does (kordoc).
#        python-hwpx: `text.plain()` returns tracked deletions as text and leaves footnotes out; its `TextExtractor`
#        returns deletions, memos and hidden comments as paragraphs, and loses letters that have an annotation (dutmal).
#        hwp-hwpx-parser ends a text at the first mark inside it: after a tracked change or a non-breaking space the rest
#        of the paragraph is missing. Hidden comments are text. (Notes and memos are marks here, by design.)
#        hwpxjs returns deletions, and nothing of a paragraph that has a control: memo, hidden comment, footnote.
# Why it matters: "five million, struck out, six million" becomes "five millionsix million", or the sum is missing.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check python-hwpx==6.9.0 hwp-hwpx-parser==1.0.0
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts kordoc@4.14.1 @ssabrojs/hwpxjs@0.2.0 >/dev/null
cat >npm.mjs <<'JS'
import { readFileSync } from "node:fs";
import { HwpxReader } from "@ssabrojs/hwpxjs";
import { parse } from "kordoc";

const bytes = new Uint8Array(readFileSync("filed.hwpx")).buffer;
const reader = new HwpxReader();
await reader.loadFromArrayBuffer(bytes);
console.log(JSON.stringify({ kordoc: (await parse(bytes)).markdown, hwpxjs: await reader.extractText() }));
JS
venv/bin/python - <<'PY'
import json
import subprocess
import zipfile

from hwp_hwpx_parser import extract_hwpx
from hwpx import HwpxDocument, TextExtractor


def paragraph(content):
    return (
        '<hp:p id="0" paraPrIDRef="0" styleIDRef="0" pageBreak="0" columnBreak="0" merged="0">'
        f'<hp:run charPrIDRef="0">{content}</hp:run></hp:p>'
    )


def text(content):
    return f"<hp:t>{content}</hp:t>"


def inner(word):
    return f'<hp:subList id="" textDirection="HORIZONTAL" lineWrap="BREAK" vertAlign="TOP">{paragraph(text(word))}</hp:subList>'


changed = (
    'before <hp:deleteBegin Id="1" TcId="1"/>deleted<hp:deleteEnd Id="1" TcId="1" paraend="0"/>'
    '<hp:insertBegin Id="2" TcId="2"/>inserted<hp:insertEnd Id="2" TcId="2" paraend="0"/> price'
)
memo = (
    f'<hp:ctrl><hp:fieldBegin id="1" type="MEMO" name="">{inner("memo")}</hp:fieldBegin></hp:ctrl>{text("commented")}'
    '<hp:ctrl><hp:fieldEnd beginIDRef="1"/></hp:ctrl>'
)
body = "".join(
    paragraph(content)
    for content in (
        text(changed),
        memo,
        f"<hp:ctrl><hp:hiddenComment>{inner('hidden')}</hp:hiddenComment></hp:ctrl>{text('shown')}",
        text("paid") + f'<hp:ctrl><hp:footNote number="1" instId="1">{inner("note")}</hp:footNote></hp:ctrl>',
        text("No.<hp:nbSpace/>twelve"),
        '<hp:dutmal posType="TOP"><hp:mainText>annotated</hp:mainText><hp:subText>gloss</hp:subText></hp:dutmal>',
    )
)
document = HwpxDocument.new()
document.add_paragraph("here")
document.save_to_path("base.hwpx")
with zipfile.ZipFile("base.hwpx") as base, zipfile.ZipFile("filed.hwpx", "w") as filed:
    for part in base.infolist():
        content = base.read(part).decode() if part.filename == "Contents/section0.xml" else base.read(part)
        if isinstance(content, str):
            begin = content.rindex("<hp:p ", 0, content.index("here"))
            end = content.index("</hp:p>", begin) + len("</hp:p>")
            content = content[:begin] + body + content[end:]
        filed.writestr(part, content)

ran = subprocess.run(["node", "npm.mjs"], check=True, capture_output=True, text=True).stdout
texts = {
    "python-hwpx": HwpxDocument.open("filed.hwpx").text.plain(),
    "TextExtractor": TextExtractor("filed.hwpx").extract_text(),
    "hwp-hwpx-parser": extract_hwpx("filed.hwpx")[0],
    **json.loads(ran.splitlines()[-1]),
}
final = {"before", "inserted", "price", "commented", "shown", "paid", "note", "twelve", "annotated"}
faults = {}
for name, read in texts.items():
    missing = {word for word in final if word not in read}
    added = {word for word in ("deleted", "hidden", "memo") if word in read}
    faults[name] = (missing, added)
    print(f"{name:15} leaves out {sorted(missing)}, adds {sorted(added)}")
assert faults == {
    "python-hwpx": ({"note"}, {"deleted"}),
    "TextExtractor": ({"annotated"}, {"deleted", "hidden", "memo"}),
    "hwp-hwpx-parser": ({"inserted", "price", "note", "twelve", "annotated"}, {"hidden"}),
    "kordoc": (set(), set()),
    "hwpxjs": ({"commented", "shown", "paid", "note", "annotated"}, {"deleted"}),
}, faults
PY

#!/usr/bin/env bash
# odfpy 1.4.1, odfdo 3.27.3, pandoc as pypandoc_binary 1.17 holds it, kreuzberg 4.10.4: the text of an ODT file, installed 2026-11.
# Guess: each returns the words that LibreOffice shows: no deleted text, no name of who deleted it, two spaces as a gap, and the
#        paragraphs with numbers of their own; they differ in how they set notes and tables.
# Seen:  no two agree.
#        odfpy's `extractText` begins with the deleted paragraph, the clerk's name and the date, and runs footnotes and comments
#        of the judge into the sentence.
#        odfdo's `get_formatted_text` loses cross-references ("See paragraph 3" is "See"), numbered paragraphs and the words under
#        ruby; several spaces become none ("2025  No" is "2025No"). Its `paragraphs` begin with the deleted one.
#        pandoc and kreuzberg lose numbered paragraphs and ruby, kreuzberg gaps as well.
# Why it matters: an analysis of a filing reads the sentence that a party took back, or does not read the numbered claim at all.
#        Read content.xml without `tracked-changes`, and compare the count of its `text:p` with what came out.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check odfpy==1.4.1 odfdo==3.27.3 pypandoc_binary==1.17 kreuzberg==4.10.4
cd "$folder"
venv/bin/python - <<'PY'
import zipfile

import kreuzberg
import odfdo
import pypandoc
from odf import teletype
from odf.opendocument import load

NAMES = {"office": "office", "text": "text", "manifest": "manifest", "style": "style"}
SPACES = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{of}:1.0"' for name, of in NAMES.items())
SPACES += ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
BY = "<dc:creator>clerk</dc:creator><dc:date>2026-01-01T00:00:00</dc:date>"
BODY = f"""<text:tracked-changes><text:changed-region text:id="c1" xml:id="c1"><text:deletion><office:change-info>{BY}</office:change-info>
<text:p>deleted</text:p></text:deletion></text:changed-region></text:tracked-changes>
<text:p>The sum is <text:change text:change-id="c1"/>owed.</text:p>
<text:p>owed<text:note text:id="n1" text:note-class="footnote"><text:note-citation>1</text:note-citation>
<text:note-body><text:p>footnote</text:p></text:note-body></text:note> today</text:p>
<text:p>before<office:annotation>{BY}<text:p>comment</text:p></office:annotation> after</text:p>
<text:p>Case 2025<text:s text:c="2"/>No</text:p>
<text:p>See <text:bookmark-ref text:ref-name="b" text:reference-format="text">reference</text:bookmark-ref></text:p>
<text:p><text:ruby><text:ruby-base>ruby-base</text:ruby-base><text:ruby-text>reading</text:ruby-text></text:ruby></text:p>
<text:numbered-paragraph text:list-id="L1"><text:number>12.</text:number><text:p>numbered</text:p></text:numbered-paragraph>
<text:p>end</text:p>"""
TYPE = "application/vnd.oasis.opendocument.text"
with zipfile.ZipFile("filed.odt", "w") as file:
    file.writestr("mimetype", TYPE)
    for part in ("styles", "meta"):
        file.writestr(f"{part}.xml", f'<office:document-{part} {SPACES} office:version="1.3"/>')
    file.writestr(
        "content.xml",
        f'<office:document-content {SPACES} office:version="1.3"><office:automatic-styles/><office:body><office:text>{BODY}'
        "</office:text></office:body></office:document-content>",
    )
    entries = {"/": TYPE, "content.xml": "text/xml", "styles.xml": "text/xml", "meta.xml": "text/xml"}
    listed = "".join(
        f'<manifest:file-entry manifest:full-path="{path}" manifest:media-type="{kind}"/>' for path, kind in entries.items()
    )
    file.writestr("META-INF/manifest.xml", f'<manifest:manifest {SPACES} manifest:version="1.3">{listed}</manifest:manifest>')

document = odfdo.Document("filed.odt")
texts = {
    "odfpy": teletype.extractText(load("filed.odt").text),
    "odfdo": document.get_formatted_text(),
    "odfdo paragraphs": "\n".join(paragraph.inner_text for paragraph in document.body.paragraphs),
    "pandoc": pypandoc.convert_file("filed.odt", "plain"),
    "kreuzberg": kreuzberg.extract_file_sync("filed.odt").content,
}
shown = ("owed.", "footnote", "reference", "ruby-base", "numbered", "end")
hidden = ("deleted", "clerk", "comment")
faults = {}
for name, text in texts.items():
    faults[name] = ([word for word in shown if word not in text], [word for word in hidden if word in text], "2025No" in text)
    print(f"{name:16} lacks {faults[name][0]}, adds {faults[name][1]}; gap lost: {faults[name][2]}; begins {text.split()[:3]}")
assert faults == {
    "odfpy": ([], ["deleted", "clerk", "comment"], False),
    "odfdo": (["reference", "ruby-base", "numbered"], ["comment"], True),
    "odfdo paragraphs": ([], ["deleted", "clerk", "comment"], False),
    "pandoc": (["ruby-base", "numbered"], [], False),
    "kreuzberg": (["ruby-base", "numbered"], [], True),
}, f"it changed: {faults}"
PY

#!/usr/bin/env bash
# striprtf 0.0.35, pandoc as pypandoc_binary 1.17 holds it, kreuzberg 4.10.4: the text of an RTF file, installed 2026-11.
# Guess: each returns what Word shows as the final version: no deleted and no hidden words, footnotes, and the number that the
#        file holds for a numbered paragraph.
# Seen:  no two agree.
#        striprtf returns hidden words, and deleted ones without a mark, right before the inserted ones ("owes 500700 euros");
#        footnotes are gone, the reference too.
#        kreuzberg returns deleted words likewise, loses the numbers, and writes the escapes of a hyphen and a space that do not
#        break as "_" and "~": the case number "2025-12" becomes "2025_12".
#        pandoc alone is near: it writes the deleted words as ~~500~~, in plain text too.
# Why it matters: the sum in a filing is one that no party ever wrote, and "paragraph 12" of a brief is not found. Accept all
#        changes before the file is filed, or read the groups of `\deleted`, `\v` and `\listtext` yourself.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check striprtf==0.0.35 pypandoc_binary==1.17 kreuzberg==4.10.4
cd "$folder"
venv/bin/python - <<'PY'
from pathlib import Path

import kreuzberg
import pypandoc
from striprtf.striprtf import rtf_to_text

RTF = r"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Times;}}{\*\revtbl{Unknown;}{clerk;}}
{\*\listtable{\list\listtemplateid1{\listlevel\levelnfc0\levelstartat12\levelfollow0{\leveltext\'02\'00.;}{\levelnumbers\'01;}}\listid1}}
{\*\listoverridetable{\listoverride\listid1\listoverridecount0\ls1}}
\pard She owes {\deleted\revauthdel1 500}{\revised\revauth1 700} euros.\par
Claim{\super\chftn}{\footnote\pard\plain{\super\chftn} footnote} follows.\par
Case 2025\_12 and no\~break.\par
{\v hidden}visible\par
\pard\ls1\ilvl0{\listtext\pard\plain 12.\tab}numbered\par
\pard end\par}"""
Path("filed.rtf").write_text(RTF)
texts = {
    "striprtf": rtf_to_text(RTF),
    "pandoc": pypandoc.convert_file("filed.rtf", "plain"),
    "kreuzberg": kreuzberg.extract_file_sync("filed.rtf").content,
}
found = {}
for name, text in texts.items():
    words = text.replace("\N{NON-BREAKING HYPHEN}", "-").replace("\N{NO-BREAK SPACE}", " ")
    sum_of_money = words.split("owes ")[1].split(" euros")[0]
    number = next(line for line in words.splitlines() if "numbered" in line).removesuffix("numbered").strip()
    found[name] = (sum_of_money, "footnote" in words, "hidden" in words, number, "2025-12 and no break" in words)
    print(f"{name:10} sum {sum_of_money!r}, footnote {found[name][1]}, hidden {found[name][2]}, number {number!r}, case {found[name][4]}")
assert found == {
    "striprtf": ("500700", False, True, "12.", True),
    "pandoc": ("~~500~~700", True, False, "12.", True),
    "kreuzberg": ("500700", True, False, "", False),
}, f"it changed: {found}"
PY

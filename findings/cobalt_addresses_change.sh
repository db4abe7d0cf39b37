#!/usr/bin/env bash
# cobalt 9.0.1 (reads and writes Akoma Ntoso, the XML of laws and judgments), installed 2026-11: addresses of documents.
# Guess: `str(FrbrUri.parse(text))` is the text again, two that are parsed from one text are equal, and a document to which
#        `frbr_uri` is assigned has that address.
# Seen:  the text of ".../84/eng/~sec_2" is ".../84": language and section are lost, unless the address has a date or a component
#        too. The text of ".../84/!schedule1" has a language that it did not have, "eng", in France as well. Two equal
#        ones are unequal. An address assigned to a document keeps neither its language nor its date, but takes those of
#        the document, and the object that was assigned has been rewritten. "/akn/za/act/1998/84.html" has the number "84.html".
# Why it matters: references to a section of the rules, stored as text, point to the whole law, and those to the
#        French text to the English one. Store `expression_uri()`, and compare texts.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check cobalt==9.0.1
"$folder/venv/bin/python" - <<'PY'
from cobalt import Act, FrbrUri

WORK = "/akn/za/act/1998/84"
SEEN = {
    f"{WORK}": f"{WORK}",
    f"{WORK}/eng": f"{WORK}",
    f"{WORK}/fra": f"{WORK}",
    f"{WORK}/eng/~sec_2": f"{WORK}",
    f"{WORK}/fra@2015-01-01/~sec_2": f"{WORK}/fra@2015-01-01/~sec_2",
    f"{WORK}/fra/!main~sec_2": f"{WORK}/fra/!main~sec_2",
    f"{WORK}/!schedule1": f"{WORK}/eng/!schedule1",
    "/akn/fr/act/1998/84/!annexe": "/akn/fr/act/1998/84/eng/!annexe",
}
for text, seen in SEEN.items():
    address = FrbrUri.parse(text)
    print(f"{text} -> {address}")
    assert str(address) == seen, "it changed"
assert FrbrUri.parse(WORK) != FrbrUri.parse(WORK), "it changed"
assert FrbrUri.parse(f"{WORK}.html").number == "84.html" and FrbrUri.parse(f"{WORK}/eng.html").number == "84", "it changed"

document = Act()
document.expression_date = "2001-02-03"
address = FrbrUri.parse(f"{WORK}/fra@2015-01-01")
document.frbr_uri = address
print("assigned /fra@2015-01-01, the document has", document.frbr_uri, "and the object is", address)
assert str(document.frbr_uri) == f"{WORK}/eng@2001-02-03", "it changed"
assert str(address) == f"{WORK}/eng@2001-02-03/!main", "it changed"
PY

#!/usr/bin/env bash
# eyecite 2.7.8 (finds citations of court decisions in texts), installed 2026-11: two decisions cited in two sentences, footnotes.
# Guess: each full citation gets the parties and the year that its own words give; "at 114 n.3" has page 114 as its pin cite.
# Seen:  "Roe v. Wade, 410 U.S. 113 (1973). Griswold v. Connecticut, 381 U.S. 479 (1965)." gives the second decision the
#        defendant Wade, no plaintiff, and the year 1973: it passes for a parallel citation of the first. So it is with other
#        reporters where the parentheses hold the year alone. With pages given, the names are missing and the year is right.
#        With ";" or words between the two, or a court before the year, all is right.
#        A page with a footnote leaves no pin cite: "Id. at 114 n.3" and ", 116 n.3 (1973)" have none.
# Why it matters: a filing that cites in sentences, as most do, is checked against the wrong case and year, and a right citation of
#        an agent looks invented. Compare volume, reporter and page; take names and years from a text of that citation alone.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check eyecite==2.7.8 reporters-db==3.2.67 courts-db==0.10.27
"$folder/venv/bin/python" - <<'PY'
from eyecite import get_citations


def second(text):
    citation = get_citations(text)[1]
    found = citation.metadata
    print(f"{text}\n  -> {citation.matched_text()}: {found.plaintiff} v. {found.defendant} ({found.year})")
    return found.plaintiff, found.defendant, found.year


roe, griswold = "Roe v. Wade, 410 U.S. 113 (1973)", "Griswold v. Connecticut, 381 U.S. 479 (1965)."
right = ("Griswold", "Connecticut", "1965")
assert second(f"{roe}. {griswold}") == ("", "Wade", "1973"), "it changed"
assert second("Lee v. Kim, 10 Cal. 4th 5 (1993). Ortiz v. Diaz, 20 Cal. 4th 7 (1994).") == ("", "Kim", "1993"), "it changed"
paged = second("Roe v. Wade, 410 U.S. 113, 120 (1973). Griswold v. Connecticut, 381 U.S. 479, 485 (1965).")
assert paged == (None, None, "1965"), "it changed"
assert second(f"{roe}; {griswold}") == right
assert second(f"{roe}. See also {griswold}") == right
assert second("Lee v. Kim, 10 F.3d 5 (2d Cir. 1993). Ortiz v. Diaz, 20 F.3d 7 (5th Cir. 1994).") == ("Ortiz", "Diaz", "1994")

for sentence, pin in (("Id. at 114.", "at 114"), ("Id. at 114 n.3.", None), ("See id. at 114 & n.3.", None)):
    found = get_citations(f"{roe}. {sentence}")[1].metadata.pin_cite
    print(f"{sentence} -> pin cite {found}")
    assert found == pin, "it changed"
for pages, pin in (("116", "116"), ("116 n.3", None), ("116-17 & n.3", None)):
    found = get_citations(f"Roe v. Wade, 410 U.S. 113, {pages} (1973).")[0].metadata.pin_cite
    print(f"410 U.S. 113, {pages} -> pin cite {found}")
    assert found == pin, "it changed"
PY

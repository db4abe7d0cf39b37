#!/usr/bin/env bash
# citeurl 12.0.4 (finds legal citations in a text and links them), installed 2026-11: reporters of today and "Id.".
# Guess: decisions of the federal courts of appeals are found in each series, F.2d to F.4th; "Id." is the citation before it, or
#        none when that one is not known; a page is never read as a section.
# Seen:  F.4th, where these decisions have been since 2021, is unknown, and so are S. Ct. and WL. An "Id." after one of them is
#        linked to the citation before that: "5 F.4th 10 ... Id. at 12" after 42 U.S.C. § 1983 becomes "42 U.S.C. § 12", and after
#        410 U.S. 113 its page 12. Of "§§ 1983, 1985 and 1988" the first is found. "In 2026 U.S. 40 people voted" is a case.
# Why it matters: agents' briefs cite recent cases most of all. They count as not cited, and the links of a page that quotes
#        them lead to a statute that was not meant. Check volumes against the series, and link no "Id.".
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check citeurl==12.0.4 markdown==3.10
"$folder/venv/bin/python" -W ignore - <<'PY'
from citeurl import list_cites

STATUTE, CASE, RECENT = "See 42 U.S.C. § 1983.", "See Roe v. Wade, 410 U.S. 113 (1973).", "Smith v. Jones, 5 F.4th 10 (2d Cir. 2021)"
for text, expected in (
    ("Smith v. Jones, 5 F.2d 10 (2d Cir. 1925).", ["5 F.2d 10"]),
    ("Smith v. Jones, 5 F.3d 10 (2d Cir. 1993).", ["5 F.3d 10"]),
    (f"{RECENT}.", []),
    ("Smith v. Jones, 141 S. Ct. 10 (2021).", []),
    ("Smith v. Jones, 2021 WL 1234567.", []),
    (f"{STATUTE} Id. § 1985.", ["42 U.S.C. § 1983", "42 U.S.C. § 1985"]),
    (f"{STATUTE} {RECENT}, agrees. Id. at 12.", ["42 U.S.C. § 1983", "42 U.S.C. § 12"]),
    (f"{CASE} {RECENT}, agrees. Id. at 12.", ["410 U.S. 113", "410 U.S. 113, 12"]),
    ("42 U.S.C. §§ 1983, 1985 and 1988.", ["42 U.S.C. § 1983"]),
    ("In 2026 U.S. 40 people voted.", ["2026 U.S. 40"]),
):
    found = [citation.name for citation in list_cites(text)]
    print(f"{text} -> {found}")
    assert found == expected, "it changed"
PY

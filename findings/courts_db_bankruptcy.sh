#!/usr/bin/env bash
# courts-db 0.10.27 (finds the court that a text names; eyecite uses it), installed 2026-11: names of courts in the United States.
# Guess: the full official name of a court gives that court alone, and the name that everybody uses gives it as well.
# Seen:  "United States District Court for the Southern District of New York" gives two courts, its bankruptcy court as well. So it
#        is with the 22 district courts whose own entry in the database has this form of name and that have one. Which comes first
#        differs from process to process. With `bankruptcy=False` each gives one; "District Court, S.D. New York" too.
#        "U.S. Supreme Court", "Ninth Circuit", "9th Cir." and "Tax Court" give none; the full names of the first two do.
# Why it matters: `find_court(name)[0]` files a case under another court, in one run and not in the next, and counts by court are
#        wrong for the larger ones. Say `bankruptcy` each time, and treat both no court and two courts as unknown.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check courts-db==0.10.27
"$folder/venv/bin/python" -W ignore - <<'PY'
import os
import subprocess
import sys

from courts_db import courts, find_court

OFFICIAL = "United States District Court"
for name, expected in (
    (f"{OFFICIAL} for the Southern District of New York", ["nysb", "nysd"]),
    (f"{OFFICIAL} for the Western District of Virginia", ["vawb", "vawd"]),
    ("District Court, S.D. New York", ["nysd"]),
    ("Supreme Court of the United States", ["scotus"]),
    ("United States Court of Appeals for the Ninth Circuit", ["ca9"]),
    ("U.S. Supreme Court", []),
    ("Ninth Circuit", []),
    ("9th Cir.", []),
    ("Tax Court", []),
):
    found = sorted(find_court(name))
    print(f"{name}: {found}")
    assert found == expected, "it changed"

several = 0
for court in courts:
    if court["name"].startswith(OFFICIAL) and court["system"] == "federal" and court["type"] == "trial":
        found = find_court(court["name"])
        assert court["id"] in found and find_court(court["name"], bankruptcy=False) == [court["id"]], "it changed"
        several += len(found) > 1
print("district courts that give more than one:", several)
assert several == 22, "it changed"

FIRST = f"from courts_db import find_court; print(find_court('{OFFICIAL} for the Southern District of New York')[0])"
firsts = [
    subprocess.check_output([sys.executable, "-W", "ignore", "-c", FIRST], text=True, env={**os.environ, "PYTHONHASHSEED": str(seed)}).strip()
    for seed in range(1, 9)
]
print("the first of two in eight processes:", firsts)
assert set(firsts) == {"nysb", "nysd"}, "it changed"
PY

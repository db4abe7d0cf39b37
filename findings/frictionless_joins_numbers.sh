#!/usr/bin/env bash
# frictionless 5.21.0 (describes, validates and converts tables of published data), installed 2026-11: names in CSV such as 1_23.
# Guess: a column of names like "1_23" (round and seat) or "007" is text when the schema is inferred; only a column of plain
#        numbers becomes one, as other readers of CSV do it; an inferred schema changes no value.
# Seen:  "1_23" and "12_3" are both the integer 123, since Python reads "_" between digits as nothing. The file is valid, and
#        written again it says 123 twice. "007" becomes 7, and the case "2026e1" 20260. With `type: integer` given and `unique`
#        the two are reported as the same.
# Why it matters: names of games, rounds and seats fall together in a data package, and a join by them mixes two games
#        without an error. Give the schema of such columns as `string`, or begin names with a letter.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check frictionless==5.21.0
cd "$folder"
venv/bin/python -W ignore - <<'PY'
from pathlib import Path

from frictionless import Resource, Schema, validate

for names, kind, read in (
    (["1_23", "12_3"], "integer", ["123", "123"]),
    (["007", "010"], "integer", ["7", "10"]),
    (["2026e1", "2026e3"], "number", ["20260", "2026000"]),
    (["r1_23", "r12_3"], "string", ["r1_23", "r12_3"]),
):
    Path("seats.csv").write_text("\n".join(["seat", *names, ""]))
    resource = Resource(path="seats.csv")
    resource.infer()
    found = [row["seat"] for row in resource.read_rows()]
    report = validate("seats.csv")
    print(f"{names} -> {resource.schema.fields[0].type} {[str(value) for value in found]}, valid: {report.valid}")
    assert resource.schema.fields[0].type == kind and report.valid, "it changed"
    assert [value if kind == "string" else f"{value:.0f}" for value in found] == read, "it changed"

Path("seats.csv").write_text("seat\n1_23\n12_3\n")
Resource(path="seats.csv").write("again.csv")
again = Path("again.csv").read_text().split()
print("written again:", again)
assert again == ["seat", "123", "123"], "it changed"
for kind, faults in (("integer", ["unique-error"]), ("string", [])):
    schema = Schema.from_descriptor({"fields": [{"name": "seat", "type": kind, "constraints": {"unique": True}}]})
    found = [fault for (fault,) in validate(Resource(path="seats.csv", schema=schema)).flatten(["type"])]
    print(kind, "and unique:", found)
    assert found == faults, "it changed"
PY

#!/usr/bin/env bash
# mlcroissant 1.1.1 (reads datasets described in Croissant 1.0), installed 2026-11.
# Guess: a field of type sc:Integer is read as the integer that stands in the file, or the reader raises; a field of type
#        sc:Text is read as the text that stands in the file.
# Seen:  one null elsewhere in the column, in JSON Lines as in CSV, and the column passes through floats: 9007199254740993
#        arrives as 9007199254740992, without a warning, though every other value is an `int`. Without the null it is exact.
#        In CSV the texts "NA", "null" and "None" arrive as None; in JSON Lines they stay texts.
# Why it matters: ids, positions and nanoseconds above 2^53 lose their last digits. Publish them as sc:Text, and texts
#        that a person may write in JSON Lines.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mlcroissant==1.1.1 pandas==2.3.3
cd "$folder"
venv/bin/python - <<'PY' 2>/dev/null
import hashlib
import json
from pathlib import Path

import mlcroissant

EXACT = 9007199254740993


def records(name, kind, content):
    Path(name).write_text(content)
    field = {"@type": "cr:Field", "source": {"fileObject": {"@id": "file"}, "extract": {}}}
    fields = [
        field | {"@id": f"rows/{column}", "name": column, "dataType": data_type,
                 "source": {"fileObject": {"@id": "file"}, "extract": {"column": column}}}
        for column, data_type in (("position", "sc:Integer"), ("note", "sc:Text"))
    ]
    description = {
        "@context": {
            "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
            "cr": "http://mlcommons.org/croissant/", "dct": "http://purl.org/dc/terms/", "conformsTo": "dct:conformsTo",
            "recordSet": "cr:recordSet", "field": "cr:field", "source": "cr:source", "fileObject": "cr:fileObject",
            "extract": "cr:extract", "column": "cr:column", "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        },
        "@type": "sc:Dataset", "name": "games", "description": "Games.", "url": "https://example.org/games",
        "license": "https://creativecommons.org/licenses/by/4.0/", "version": "1.0.0", "datePublished": "2026-01-01",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "distribution": [{"@type": "cr:FileObject", "@id": "file", "name": "file", "contentUrl": name, "encodingFormat": kind,
                          "sha256": hashlib.sha256(content.encode()).hexdigest()}],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}],
    }
    Path("description.json").write_text(json.dumps(description))
    found = [tuple(row.values()) for row in mlcroissant.Dataset(jsonld=Path("description.json")).records("rows")]
    print(f"{name:11}", found)
    return found


def lines(*rows):
    return "".join(json.dumps({"position": position, "note": note}) + "\n" for position, note in rows)


whole = records("whole.jsonl", "application/jsonlines", lines((EXACT, "NA"), (2, "b")))
assert whole[0] == (EXACT, b"NA")
gap = records("gap.jsonl", "application/jsonlines", lines((EXACT, "NA"), (None, "b"), (3, "c")))
assert type(gap[2][0]) is int
assert gap[0][0] == EXACT - 1, "JSON Lines: integers beside a null are exact now"
gap = records("gap.csv", "text/csv", f"position,note\n{EXACT},NA\n,null\n3,None\n")
assert gap[0][0] == EXACT - 1, "CSV: integers beside an empty cell are exact now"
assert [note for _, note in gap] == [None] * 3, "CSV: these texts stay texts now"
PY

#!/usr/bin/env bash
# mlcroissant 1.1.1 (reads datasets described in Croissant 1.0), installed 2026-11: values of CSV and JSON Lines.
# Guess: a value is read in the type that its field declares, or the reader raises: sc:Text is the text in the file,
#        sc:Boolean of "false" or "no" is false.
# Seen:  the file is parsed first, without the declared types. The text "007" is read as "7", in quotation marks in JSON
#        Lines as well; "no" and, in JSON Lines, "false" are True, as every text that is not empty; an sc:Integer of 1.5 is 1.
#        JSON Lines with a text field called `date` or `created_at` cannot be read: GenerationError.
#        True and false as such, and an empty cell beside them, are read right.
# Why it matters: ids of seats, codes and amounts change, and every answer "no" becomes a yes, while the checksums are
#        right. Publish Parquet, which has types; else real booleans, and ids that begin with a letter.
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

KINDS = {"csv": "text/csv", "jsonl": "application/jsonlines"}


def read(ending, content, **columns):
    Path(f"rows.{ending}").write_text(content)
    fields = [
        {"@type": "cr:Field", "@id": f"rows/{name}", "name": name, "dataType": kind,
         "source": {"fileObject": {"@id": "file"}, "extract": {"column": name}}}
        for name, kind in columns.items()
    ]
    Path("description.json").write_text(json.dumps({
        "@context": {
            "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
            "cr": "http://mlcommons.org/croissant/", "dct": "http://purl.org/dc/terms/", "conformsTo": "dct:conformsTo",
            "recordSet": "cr:recordSet", "field": "cr:field", "source": "cr:source", "fileObject": "cr:fileObject",
            "extract": "cr:extract", "column": "cr:column", "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        },
        "@type": "sc:Dataset", "name": "games", "description": "Games.", "url": "https://example.org/games",
        "license": "https://creativecommons.org/licenses/by/4.0/", "version": "1.0.0", "datePublished": "2026-01-01",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "distribution": [{"@type": "cr:FileObject", "@id": "file", "name": "file", "contentUrl": f"rows.{ending}",
                          "encodingFormat": KINDS[ending], "sha256": hashlib.sha256(content.encode()).hexdigest()}],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}],
    }))
    try:
        found = [tuple(row.values()) for row in mlcroissant.Dataset(jsonld=Path("description.json")).records("rows")]
    except mlcroissant._src.operation_graph.execute.GenerationError as error:
        found = type(error).__name__
    print(repr(content), found)
    return found


yes = {"won": "sc:Boolean"}
assert read("csv", "won\ntrue\nfalse\n\n", **yes)[:2] == [(True,), (False,)]
assert read("jsonl", '{"won": true}\n{"won": false}\n{"won": null}\n', **yes) == [(True,), (False,), (None,)]
assert read("csv", "won\nyes\nno\n", **yes) == [(True,), (True,)], "it changed"
assert read("jsonl", '{"won": "true"}\n{"won": "false"}\n', **yes) == [(True,), (True,)], "it changed"
assert read("csv", "seat\n007\n", seat="sc:Text") == read("jsonl", '{"seat": "007"}\n', seat="sc:Text") == [(b"7",)], "it changed"
assert read("jsonl", '{"turn": 1.5}\n', turn="sc:Integer") == [(1,)], "it changed"
for name in ("date", "created_at"):
    assert read("jsonl", json.dumps({name: "2026-01-05"}) + "\n", **{name: "sc:Text"}) == "GenerationError", "it changed"
PY

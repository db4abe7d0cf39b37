#!/usr/bin/env bash
# rocrate 0.16.0 and rocraters 0.6.0 (PyPI; both read and write RO-Crate metadata), installed 2026-11.
# Guess: a crate that is read and written again without a change has the same metadata, apart from the order of keys.
# Seen:  rocrate keeps every entity, and drops what the crate added to the context: further vocabularies and its own terms.
#        `extra_terms` is empty after reading. The properties still stand there, but no longer mean anything in JSON-LD.
#        rocraters keeps the context, and makes a float of a whole number above 2^63: 12345678901234567890 becomes
#        1.2345678901234567e+19.
# Why it matters: an archive or a workflow that opens a crate to add a file publishes it without the meaning of its own
#        fields, and validators call them undefined. Put the terms into `metadata.extra_terms` again; write large numbers
#        as texts.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rocrate==0.16.0 rocraters==0.6.0
FOLDER=$folder "$folder/venv/bin/python" - <<'PY'
import json
import os
from pathlib import Path

import rocraters
from rocrate.rocrate import ROCrate

NAME = "ro-crate-metadata.json"
CONTEXT = [
    "https://w3id.org/ro/crate/1.2/context",
    "https://w3id.org/ro/terms/workflow-run/context",
    {"turns": "https://example.org/terms#turns"},
]
GRAPH = [
    {"@id": NAME, "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": "https://w3id.org/ro/crate/1.2"}},
    {"@id": "./", "@type": "Dataset", "name": "Games", "description": "Games of a season", "datePublished": "2026-01-05",
     "license": {"@id": "https://spdx.org/licenses/CC-BY-4.0"}, "hasPart": [{"@id": "games.jsonl"}], "turns": 12345678901234567890},
    {"@id": "games.jsonl", "@type": "File", "encodingFormat": "application/jsonl"},
    {"@id": "https://spdx.org/licenses/CC-BY-4.0", "@type": "CreativeWork", "name": "CC BY 4.0"},
]

folder = Path(os.environ["FOLDER"])
read, once, twice = (folder / name for name in ("read", "once", "twice"))
read.mkdir()
(read / "games.jsonl").write_text("{}\n")
(read / NAME).write_text(json.dumps({"@context": CONTEXT, "@graph": GRAPH}))


def written(path):
    document = json.loads(path.read_text())
    return document["@context"], {entity["@id"]: entity for entity in document["@graph"]}


entities = {entity["@id"]: entity for entity in GRAPH}
crate = ROCrate(str(read))
assert crate.metadata.extra_terms == {} and crate.metadata.extra_contexts == []
crate.write(str(once))
context, kept = written(once / NAME)
print("rocrate: context", context, "| entities as they were:", kept == entities)
assert context == CONTEXT[0] and kept == entities, "it changed"

crate.metadata.extra_contexts, crate.metadata.extra_terms = [CONTEXT[1]], CONTEXT[2]
crate.write(str(twice))
assert written(twice / NAME) == (CONTEXT, entities)

rocraters.read(str(read / NAME), 0).write(str(folder / "third.json"))
context, kept = written(folder / "third.json")
turns = kept["./"]["turns"]
print("rocraters: context as it was:", context == CONTEXT, "| turns", repr(turns))
assert context == CONTEXT and isinstance(turns, float) and int(turns) != 12345678901234567890, "it changed"
PY

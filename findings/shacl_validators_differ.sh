#!/usr/bin/env bash
# Validators of SHACL (rules for linked data, as for RO-Crates), installed 2026-12: pyshacl 0.40.1 (PyPI), rdf-validate-shacl 0.6.5 and
# shacl-engine 1.1.2 with n3 2.13.12 (npm).
# Guess: all pass the test suite of the standard, so that a graph conforms for all of them or for none; numbers and times are compared by their
#        value, as `sh:minInclusive` does, and a warning alone leaves a graph conforming.
# Seen:  for `sh:in`, `sh:hasValue` and `sh:equals` the two of npm compare the letters: "02" is not 2 and "1"^^xsd:boolean not true, while for pyshacl
#        they are; for no one is 1.00 the same as 1.0. With pyshacl alone "kim" with a line break matches "^[a-z]+$", a start without a zone
#        is before an end in UTC, and a day with a zone is after another day. Two labels in "en" and "EN" are one language for pyshacl alone. A
#        warning makes all three say that the graph does not conform.
# Why it matters: a data set of games that its maker checked with one of them is refused by an archive with the next, most of all for turns and
#        flags written by another program. Write numbers, booleans and times in one way, and look at the severity of each result.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyshacl==0.40.1
npm install --silent --no-audit --no-fund rdf-validate-shacl@0.6.5 shacl-engine@1.1.2 @zazuko/env@3.0.1 n3@2.13.12
cat > shape.ttl <<'TTL'
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix ex: <http://example.org/> .
ex:Shape a sh:NodeShape ; sh:targetClass ex:Vote ;
  sh:property [ sh:path ex:turn ; sh:in ( 1 2 3 ) ] , [ sh:path ex:guilty ; sh:in ( true false ) ] , [ sh:path ex:share ; sh:in ( 1.0 ) ] ,
    [ sh:path ex:given ; sh:equals ex:counted ] , [ sh:path ex:start ; sh:lessThan ex:end ] , [ sh:path ex:name ; sh:pattern "^[a-z]+$" ] ,
    [ sh:path ex:day ; sh:minInclusive "2026-01-01"^^xsd:date ] , [ sh:path ex:score ; sh:minInclusive 0 ; sh:maxInclusive 10 ] ,
    [ sh:path ex:label ; sh:uniqueLang true ] , [ sh:path ex:note ; sh:maxCount 0 ; sh:severity sh:Warning ] .
TTL
cat > votes.json <<'JSON'
[
  ["same", "ex:turn 2 ; ex:guilty true ; ex:share 1.0 ; ex:given 1 ; ex:counted 1 ; ex:name \"kim\" ; ex:score 9.5", [true, true, true]],
  ["turn", "ex:turn \"02\"^^xsd:integer", [true, false, false]],
  ["guilty", "ex:guilty \"1\"^^xsd:boolean", [true, false, false]],
  ["share", "ex:share 1.00", [false, false, false]],
  ["counted", "ex:given 1 ; ex:counted \"01\"^^xsd:integer", [true, false, false]],
  ["times", "ex:start \"2026-01-01T10:00:00+09:00\"^^xsd:dateTime ; ex:end \"2026-01-01T02:00:00Z\"^^xsd:dateTime", [true, true, true]],
  ["no zone", "ex:start \"2026-01-01T10:00:00\"^^xsd:dateTime ; ex:end \"2026-01-01T11:00:00Z\"^^xsd:dateTime", [true, false, false]],
  ["name", "ex:name \"kim\\n\"", [true, false, false]],
  ["day", "ex:day \"2026-05-01+09:00\"^^xsd:date", [true, false, false]],
  ["labels", "ex:label \"votes\"@en , \"ballots\"@EN", [false, true, true]],
  ["warning", "ex:note \"late\"", [false, false, false]]
]
JSON
cat > validate.mjs <<'JS'
import fs from "node:fs";
import rdf from "@zazuko/env";
import { Parser } from "n3";
import First from "rdf-validate-shacl";
import { Validator } from "shacl-engine";

const parse = (text) => rdf.dataset(new Parser({ factory: rdf }).parse(text));
const shape = parse(fs.readFileSync("shape.ttl", "utf8"));
const found = {};
for (const [name, fields] of JSON.parse(fs.readFileSync("votes.json", "utf8"))) {
  const prefixes = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix ex: <http://example.org/> . ";
  const data = () => parse(`${prefixes} ex:vote a ex:Vote ; ${fields} .`);
  const reports = [await new First(shape, { factory: rdf }).validate(data()), await new Validator(shape, { factory: rdf }).validate({ dataset: data() })];
  found[name] = reports.map(({ conforms }) => conforms);
}
fs.writeFileSync("found.json", JSON.stringify(found));
JS
node validate.mjs
venv/bin/python - <<'PY'
import json
from pathlib import Path

from pyshacl import validate

PREFIXES = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix ex: <http://example.org/> . "
found = json.loads(Path("found.json").read_text())
for name, fields, expected in json.loads(Path("votes.json").read_text()):
    data = f"{PREFIXES} ex:vote a ex:Vote ; {fields} ."
    conforms, _, _ = validate(data, shacl_graph=Path("shape.ttl").read_text(), data_graph_format="turtle", shacl_graph_format="turtle")
    print(f"{name}: pyshacl {conforms}, rdf-validate-shacl {found[name][0]}, shacl-engine {found[name][1]}")
    assert [conforms, *found[name]] == expected, f"it changed: {name}"
PY

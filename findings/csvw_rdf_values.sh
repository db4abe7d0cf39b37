#!/usr/bin/env bash
# CSV on the Web (tables with a description of their columns), installed 2026-12: csvw 4.1.1 (PyPI), rdf-parser-csvw 1.1.0 and
# @zazuko/rdf-parser-csvw 0.17.0 with n3 2.13.12 (npm; make linked data of such tables).
# Guess: a column whose description says how it is written becomes values of its type, in the library that returns rows and in those that make linked
#        data, which is what the format is for; a cell with a `separator` becomes several values.
# Seen:  csvw does so. Both packages of npm know formats of days alone: "Y" with the format "Y|N" is the boolean "Y", "1.234,50" with its two
#        marks the decimal "1.234,50", which those types do not have, and "kim;lee" stays one text. Bounds do not count.
#        Where columns have a name and no title, as is allowed, all types are dropped, and a column with a `default` has the
#        default beside the value in each row. Nothing is reported.
# Why it matters: votes, amounts and lists of seats in a published table are texts with a wrong mark; a query for "true" or for amounts above 1000
#        finds nothing, and a validator blames the table. Write plain values, one for each cell, and give columns titles.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check csvw==4.1.1
npm install --silent --no-audit --no-fund rdf-parser-csvw@1.1.0 @zazuko/rdf-parser-csvw@0.17.0 @zazuko/env@3.0.1 n3@2.13.12
cat > votes.csv <<'CSV'
seat,amount,day,guilty,jurors,note,turn
007,"1.234,50",05.12.2026,Y,kim;lee,NA,5
008,"2,00",06.12.2026,N,park,late,12
CSV
cat > metadata.json <<'JSON'
{
  "@context": "http://www.w3.org/ns/csvw",
  "url": "votes.csv",
  "tableSchema": {
    "columns": [
      {"name": "seat", "titles": "seat"},
      {"name": "amount", "titles": "amount", "datatype": {"base": "decimal", "format": {"decimalChar": ",", "groupChar": "."}}},
      {"name": "day", "titles": "day", "datatype": {"base": "date", "format": "dd.MM.yyyy"}},
      {"name": "guilty", "titles": "guilty", "datatype": {"base": "boolean", "format": "Y|N"}},
      {"name": "jurors", "titles": "jurors", "separator": ";"},
      {"name": "note", "titles": "note", "null": "NA", "default": "none"},
      {"name": "turn", "titles": "turn", "datatype": {"base": "integer", "maximum": "10"}}
    ]
  }
}
JSON
venv/bin/python -W ignore - <<'PY'
import json
from decimal import Decimal
from pathlib import Path

from csvw import Table

metadata = json.loads(Path("metadata.json").read_text())
try:
    list(Table.from_file("metadata.json"))
except ValueError as refused:
    print("csvw refuses turn 12 of 10:", refused)
else:
    raise AssertionError("it changed")
del metadata["tableSchema"]["columns"][6]["datatype"]["maximum"]
for column in metadata["tableSchema"]["columns"]:
    del column["titles"]
Path("names.json").write_text(json.dumps(metadata))
first, second = Table.from_file("names.json")
print("csvw:", dict(first), dict(second))
assert (first["amount"], first["guilty"], first["jurors"], first["note"], first["turn"]) == (Decimal("1234.50"), True, ["kim", "lee"], None, 5)
assert (second["guilty"], second["jurors"], second["note"]) == (False, ["park"], "late")
PY
cat > linked.mjs <<'JS'
import assert from "node:assert";
import fs from "node:fs";
import rdf from "@zazuko/env";
import Zazuko from "@zazuko/rdf-parser-csvw";
import { Parser } from "n3";
import First from "rdf-parser-csvw";

// The metadata as its JSON-LD is in RDF; the context of the standard is not fetched.
const { tableSchema } = JSON.parse(fs.readFileSync("metadata.json", "utf8"));
const node = (object, title) =>
  `[ ${Object.entries(object)
    .filter(([key]) => title || key !== "titles")
    .map(([key, value]) => `csvw:${key === "titles" ? "title" : key} ${typeof value === "object" ? node(value, title) : JSON.stringify(value)}`)
    .join(" ; ")} ]`;
const described = (title) => `@prefix csvw: <http://www.w3.org/ns/csvw#> .
  [] a csvw:Table ; csvw:url "votes.csv" ; csvw:tableSchema [
    csvw:aboutUrl "http://example.org/{seat}" ; csvw:column ( ${tableSchema.columns.map((column) => node(column, title)).join(" ")} ) ] .`;

async function values(Kind, title) {
  const metadata = rdf.dataset(new Parser({ factory: rdf }).parse(described(title)));
  const parser = new (Kind.default ?? Kind)({ metadata, factory: rdf, baseIRI: "http://example.org/", timezone: "UTC" });
  const found = [];
  for await (const { subject, predicate, object } of parser.import(fs.createReadStream("votes.csv"))) {
    const [seat, column] = [subject.value.slice(-3), predicate.value.split("/#")[1]];
    if (column) found.push(`${seat} ${column} ${object.value} ${String(object.datatype.value.value ?? object.datatype.value).split("#")[1]}`);
  }
  return found;
}
for (const [name, Kind] of Object.entries({ "rdf-parser-csvw": First, "@zazuko/rdf-parser-csvw": Zazuko })) {
  const [titles, names] = [await values(Kind, true), await values(Kind, false)];
  console.log(name, "with titles:", titles, "with names alone:", names);
  assert(titles.includes("007 day 2026-12-05 date"));
  for (const value of ["007 amount 1.234,50 decimal", "007 guilty Y boolean", "008 guilty N boolean", "007 jurors kim;lee string", "008 turn 12 integer"]) {
    assert(titles.includes(value), `it changed: ${value}`);
  }
  assert(titles.every((value) => !value.startsWith("007 note")));
  assert(names.every((value) => value.endsWith(" string")), "it changed");
  const notes = names.filter((value) => value.includes(" note "));
  assert.deepStrictEqual(notes.sort(), ["007 note NA string", "007 note none string", "008 note late string", "008 note none string"], "it changed");
}
JS
node linked.mjs
